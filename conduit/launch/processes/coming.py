"""Who has come to `conduit.run`, where a launcher has started several processes: told where some wait for the others.

Until all have come, no network connects them.  So each process leaves a mark that others of its host can see: the name
of an open file in memory, which is gone with the process.  Nobody looks before the wait has been long.
"""

from __future__ import annotations

import atexit
import os
import re
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import attrs

from conduit.core import written
from conduit.launch.launchers import StartedTogether
from conduit.launch.printing import terminal
from conduit.launch.printing.phrases import named
from conduit.launch.processes.marks import END, OWN, mark_end, watched
from conduit.launch.program.folders import is_of_project, program_frame

PATIENCE_S = 10.0
"""What others have to come, until it is said who has not."""

_MARK = re.compile(r"/memfd:conduit\.run (\d+) ([^\n]*?)(?: \(deleted\))?")

_TO_DO = (
    "every process has to run the job, as often as the others do; what one rank alone is to do belongs into main, "
    "under an `if` that asks for its rank"
)


def come() -> None:
    """Come to the next job."""
    OWN.jobs += 1
    if watched() is not None:
        with suppress(OSError):  # too many files are open
            OWN.leave(OWN.jobs, _place())


@contextmanager
def awaited(*, apart: bool = False) -> Iterator[None]:
    """Wait inside for the other processes; where they do not come to this one's job, it is said once.

    Args:
        apart: whether no thread of this process may run meanwhile, so that another process has to look.
    """
    together = watched()
    if together is None or OWN.mark is None:
        yield
        return
    number, process = OWN.jobs, os.getpid()

    def tell() -> None:
        if text := _missing(together, number, process):
            os.write(2, f"{terminal.shown(text)}\n".encode())

    end = (_beside if apart else _WATCH.begin)(tell)
    try:
        yield
    finally:
        end()
    if apart:
        atexit.register(mark_end)  # again: what was registered inside may wait for others at the end


def _place() -> str:
    """Return the line that has called `conduit.run`, "" where that is a command."""
    frame, _ = program_frame()
    if frame is None or is_of_project(frame.f_code.co_filename):
        return ""
    return written.at(frame.f_code.co_filename, frame.f_lineno)


# -- who looks ------------------------------------------------------------------------------------------------------


@attrs.define
class _Watch:
    """A thread that looks after waits of this process: one for all, as waits are many and few last.

    A wait costs it no wake.  It stops while the program forks, for whom a thread would be a danger, and Python warns.

    Attributes:
        waits: those that last, the first begun first: when each has lasted long, and what tells of it.
        stopping: set to end the thread.
        thread: None where none has been needed.
    """

    waits: dict[object, tuple[float, Callable[[], None]]] = attrs.field(factory=dict)
    stopping: threading.Event = attrs.field(factory=threading.Event)
    thread: threading.Thread | None = None

    def begin(self, tell: Callable[[], None]) -> Callable[[], object]:
        """Have the thread tell after a while; return what keeps it from that."""
        wait = object()
        self.waits[wait] = time.monotonic() + PATIENCE_S, tell
        if self.thread is None:
            self.start()
        return partial(self.waits.pop, wait, None)

    def start(self) -> None:
        """Start the thread."""
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.look, args=(self.stopping,), name="conduit.run", daemon=True)
        self.thread.start()

    def look(self, stopping: threading.Event) -> None:
        """Sleep until the first wait may have lasted long; tell of it where it does."""
        rest = PATIENCE_S
        while not stopping.wait(rest):
            rest = PATIENCE_S
            for wait, (due, tell) in list(self.waits.items()):
                if (left := due - time.monotonic()) > 0:
                    rest = left
                    break
                if self.waits.pop(wait, None):
                    tell()

    def stop(self) -> None:
        """End the thread, before the process forks."""
        if self.thread is not None:
            self.stopping.set()
            self.thread.join(1.0)  # no longer, should what it says be read by nobody
            self.thread = None

    def resume(self) -> None:
        """Start the thread again where something waits, as another thread has forked."""
        if self.waits:
            self.start()


_WATCH = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_WATCH.stop, after_in_parent=_WATCH.resume, after_in_child=_WATCH.waits.clear)


def _beside(tell: Callable[[], None]) -> Callable[[], object]:
    """Have a process of its own tell after a while; return what ends that, which the end of this one does too.

    It is no child of this process, so that a program that waits for any child of its own does not get it.
    """
    read, write = os.pipe()
    with _deaf_to_children(), warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, none of which the child needs
        between = os.fork()
        if not between:
            try:
                if not os.fork():
                    _look_beside(read, write, tell)
            finally:
                os._exit(0)
        with suppress(ChildProcessError):  # where the program wants to hear of none
            os.waitpid(between, 0)
    os.close(read)
    return partial(os.close, write)


def _look_beside(read: int, write: int, tell: Callable[[], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.close(write)
    if not select.select([read], [], [], PATIENCE_S)[0]:
        tell()


@contextmanager
def _deaf_to_children() -> Iterator[None]:
    """Let the program hear of no child that ends inside; of its own it hears afterwards."""
    handler = signal.getsignal(signal.SIGCHLD)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGCHLD, handler)
        with suppress(ChildProcessError):  # it has none
            if os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                signal.raise_signal(signal.SIGCHLD)


# -- what is seen ---------------------------------------------------------------------------------------------------


def _missing(together: StartedTogether, number: int, process: int) -> str:
    """Return what is to be said of those of this host who have not come to a job; "" where others say it, or none is.

    Args:
        together: how this process was started.
        number: of the job.
        process: this one, though another looks for it.
    """
    seen = _seen(together.variable, process)
    come = {rank: place for rank, (job, place) in seen.items() if number <= job < END}
    if not come or min(come) != together.number:
        return ""
    ended = [rank for rank, (job, _) in seen.items() if job == END]
    absent = sorted(set(seen) - set(come) - set(ended))
    count, where = together.count, ""
    if together.here == count:
        ended += [rank for rank in range(count) if rank not in seen]
    else:
        count, where = together.here or len(seen), f" of the host {os.uname().nodename}"
    if absent or ended:
        return _words(come, absent, sorted(ended), f"{count} processes{where}", again=number > 1)
    if together.number or count == together.count:
        return ""
    return _words(come, [], [], f"{together.count} processes", again=number > 1)


def _words(come: Mapping[int, str], absent: list[int], ended: list[int], of: str, *, again: bool) -> str:
    one = len(come) == 1
    places: dict[str, list[int]] = {}
    for rank, place in sorted(come.items()):
        places.setdefault(place, []).append(rank)
    known = [f"{named(ranks)} at {place}" for place, ranks in places.items() if place]
    who = ", ".join(known) or named(sorted(come))
    missed = [f"{named(absent)} {'has' if len(absent) == 1 else 'have'} not yet"] if absent else []
    if ended:
        missed.append(f"{named(ended)} {'has' if len(ended) == 1 else 'have'} ended without it")
    others = " and ".join(missed) or "those of other hosts have not yet"
    late = "" if ended else "if it never does: " if len(absent) == 1 else "if they never do: "
    return (
        f"{len(come)} of {of} {'has' if one else 'have'} come to the {'next ' * again}job and wait{'s' * one} there "
        f"for the others ({who}); {others}{'; ' if late else ': '}{late}{_TO_DO}"
    )


def _seen(variable: str, own: int) -> dict[int, tuple[int, str]]:
    """Return of each rank of this host whose process is there how many jobs it has come to, and its line.

    Args:
        variable: of the environment, in which the launcher has told each process its rank.
        own: this process.
    """
    parents = _parents()
    top = own
    while top in parents and _rank(top, variable) is not None:
        top = parents[top]
    found: dict[int, tuple[int, str]] = {}
    for process in parents:
        if process != top and _descends(process, top, parents):
            rank = _rank(process, variable)
            if rank is not None:
                found[rank] = max(_mark_of(process), found.get(rank, (0, "")))
    return found


def _parents() -> dict[int, int]:
    """Return the parent of every process of this host."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):  # it has ended
                found[int(folder.name)] = int(
                    (folder / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]
                )
    return found


def _descends(process: int, top: int, parents: Mapping[int, int]) -> bool:
    while process in parents and process != top:
        process = parents[process]
    return process == top


def _rank(process: int, variable: str) -> int | None:
    """Return the rank that a process was told, None where it was told none, has ended, or is another user's."""
    with suppress(OSError):
        for each in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
            name, _, value = each.partition(b"=")
            if name == variable.encode() and value.isdigit():
                return int(value)
    return None


def _mark_of(process: int) -> tuple[int, str]:
    """Return the mark that a process has left, (0, "") for none."""
    best = 0, ""
    with suppress(OSError):
        for each in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if found := _MARK.fullmatch(os.readlink(each)):
                    best = max(best, (int(found[1]), found[2]))
    return best
