"""The processes that a launcher has started: which of them have come, and which have ended before their time.

They are known by descriptors, which stand for one process each, also when it is gone; not all systems have them.
"""

from __future__ import annotations

import math
import os
import select
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from conduit.launch.processes.exit_ways import status

GRACE_S = 3.0
"""What processes have to end by themselves, after Ctrl-C and after their launcher's end, or because one is gone."""

START_S = 30.0
"""What all processes have to begin, once one has; what ends before is not seen to end."""

_BY_FORCE = (signal.SIGKILL, signal.SIGTERM)
"""By which a launcher ends the other processes."""


class StartedProcesses:
    """The processes of a job, as readers hear of them, each in its thread.

    Args:
        count: how many there are to be.

    Attributes:
        came: how many have begun.
        found: whether one knows its rank, and so has found the others.
        lost: what is said where the job is ended because one of them has not come, or is gone; "" before.
        fallen: ranks whose processes did not end as Python's do, which the launcher has not seen.
        ways: by rank: how its process has ended, where that is known.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self.came = 0
        self.found = False
        self.lost = ""
        self.fallen: list[int] = []
        self.ways: dict[int, int] = {}
        self._lock = threading.Lock()
        self._begun: dict[int, int] = {}  # descriptors of processes that have not found the others yet, by their ids
        self._ranks: dict[int, int] = {}  # by descriptor of the process
        self._leaving: set[int] = set()  # ranks whose processes have come to their end as Python's do
        self._files: set[str] = set()  # in shared memory, of processes that have not found the others yet
        self._give_up = math.inf  # when the job is ended because one of them has not come, or is gone
        self._fell_at = math.inf  # when the first of the fallen was seen

    # -- what they tell ------------------------------------------------------------------------------

    def come(self, process: int | None) -> None:
        """Keep a process that has begun, where the system has descriptors of processes, and it is of this machine."""
        with self._lock, suppress(OSError, AttributeError):
            self.came += 1
            if process is not None:
                self._begun[process] = os.pidfd_open(process)

    def know(self, rank: int, process: int | None) -> None:
        """Take note that a process is a rank, and so has found the others."""
        with self._lock, suppress(OSError, AttributeError):
            self.found = True
            if process is not None:
                kept = self._begun.pop(process, None)
                self._ranks[os.pidfd_open(process) if kept is None else kept] = rank

    def leave(self, rank: int) -> None:
        """Take note that a rank's process comes to its end as Python's do."""
        with self._lock:
            self._leaving.add(rank)

    # -- how they end --------------------------------------------------------------------------------

    def any_ended(self) -> bool:
        """Return whether the process of a rank has ended."""
        with self._lock:
            watched = list(self._ranks)
        return bool(_ended(watched))

    def miss(self) -> None:
        """See whether a process has ended before it has found the others, who wait for it and cannot know.

        Where all end so, the launcher ends too.
        """
        with self._lock:
            begun, came = dict(self._begun), self.came
        for process in begun:
            self._files |= in_shared_memory(process)
        gone = _ended(begun.values())
        now = time.monotonic()
        if not gone and (came in (0, self._count) or self._ranks):
            self._give_up = math.inf
        else:
            self._give_up = min(self._give_up, now + (GRACE_S if gone else START_S))
        if now < self._give_up:
            return
        who = ", ".join(str(number) for number, descriptor in begun.items() if descriptor in gone)
        what = f"the process {who} has ended" if gone else f"only {came} of {self._count} processes have begun"
        self.lost = f"{what}, before the processes had found one another, and the job with it"

    def see_fallen(self, *, explained: bool) -> None:
        """See whether a rank's process has ended and the launcher lets the others wait for it.

        It hears of such an end by a connection, which a copy of the process holds open.

        Args:
            explained: whether a rank has said why the job ends, so that none has fallen.
        """
        with self._lock:
            ranks = {each: rank for each, rank in self._ranks.items() if rank not in self._leaving}
        gone = [] if explained else [ranks[each] for each in _ended(ranks)]
        self._fell_at = min(self._fell_at, time.monotonic()) if gone else math.inf
        if time.monotonic() > self._fell_at + GRACE_S:
            self.fallen = sorted(gone)

    def who_fell(self, *, results: bool) -> list[int]:
        """Return which rank's process has ended the job, or which ones may have.

        A launcher ends the others by force, and who is killed so may be gone before the one that has ended by itself:
        neither the order says anything, nor whose end the launcher tells of.  A crash does, and so does a good end
        before that of the job, which nothing that becomes of other processes brings about.

        Args:
            results: whether a rank has handed over what it had, so that good ends may be in time.
        """
        if self.fallen:
            return self.fallen
        ways = sorted(self.ways.items())
        crashed = [rank for rank, way in ways if os.WIFSIGNALED(way) and os.WTERMSIG(way) not in _BY_FORCE]
        left = [] if results else [rank for rank, way in ways if way == 0]
        return crashed or left or list(range(self._count))

    # -- nothing is left of them ---------------------------------------------------------------------

    def kill(self) -> None:
        """End those that are left; how the others have ended is known no more afterwards, but for `ways`."""
        with self._lock:  # what reads the output may still find a rank
            ranks = dict(self._ranks)
        for descriptor, rank in ranks.items():
            if (way := status(descriptor)) is not None:
                self.ways[rank] = way
        for descriptor in (*self._ranks, *self._begun.values()):
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            os.close(descriptor)

    def remove_files(self) -> None:
        """Remove what they have left in shared memory; those who have found one another do it themselves."""
        for file in self._files if self._begun else ():
            with suppress(OSError):
                os.unlink(file)


def _ended(processes: Iterable[int]) -> set[int]:
    """Return which of the descriptors of processes are those of processes that have ended."""
    poll = select.poll()
    for descriptor in processes:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(0)}


def in_shared_memory(process: int) -> set[str]:
    """Return the files in shared memory of a process that looks for the others, in which no program has run yet."""
    try:
        with open(f"/proc/{process}/maps") as maps:
            return {line.split(maxsplit=5)[-1].strip() for line in maps if " /dev/shm/" in line}
    except OSError:
        return set()  # no Linux, or it is gone
