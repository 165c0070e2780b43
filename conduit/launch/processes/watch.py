"""The watch of a process that is a rank: the end of a job in all processes, and the report of one that stands still.

It is a thread, because a rank may compute for long and poll nothing.  What it says to the watches of other ranks goes
over `Processes.tell`, apart from the job's own messages.
"""

from __future__ import annotations

import atexit
import math
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, NoReturn, Protocol

import attrs

from conduit.contract import Processes
from conduit.errors import TimeLimit
from conduit.launch.errors.raised import Told, alike, told_of
from conduit.launch.errors.watches import EarlyEnd
from conduit.launch.printing import terminal
from conduit.launch.printing.output import FinalError, Speech
from conduit.launch.processes import stall
from conduit.launch.processes.answering import Answers
from conduit.launch.reports import brief

TURN_S = 0.2
"""Between two looks."""
STALL_S = 5.0
"""Without a message in any rank, all of which wait, until that is reported."""
COMPUTING_S = 30.0
"""The same where some rank does not wait, but computes, be it with polls between: that is no news so soon."""
ANSWER_S = 1.0
"""What a rank's loop has to say what it waits for; one that does not answer computes."""
FRESH_S = 3.0
"""For how long it counts that a rank has said that it stands still."""
HEARD_S = 1.5
"""What other ranks have to say that they have an error too, or have left: many looks, on a busy machine too."""
LEAVE_S = 1.0
"""What other ranks have to leave a job that one of them ends."""
ABORT_S = 3.0
"""After the end of a job, until all processes are ended by force."""
DELIVERY_S = 0.2
"""What a launcher has to pass on the last words of a rank, which it may drop once the processes are aborted."""
READ_S = 5.0
"""What it has, that included, where it is late and has not read them yet: it may hear of the abort first, and end."""
_INTERRUPTED = 128 + signal.SIGINT


class WatchedJob(Protocol):
    """What a watch asks of a job."""

    def now(self) -> int:
        """Return picoseconds since its start."""

    def progress(self) -> int:
        """Return a number that grows with every message."""

    def ask_state(self, answer: Callable[[stall.RankState], object]) -> None:
        """Have `answer` called with what this rank waits for, in the job's own thread, once that is free."""

    def stop(self) -> None:
        """End the job in this process."""

    def fail(self, take: Callable[[], BaseException | None]) -> None:
        """End it because of an error that is no rank's, in the job's own thread, once that is free.

        Args:
            take: gives the error then, or None where the job has been ended without it.
        """


class Watch:
    """The watch of one process, for all its jobs.

    Args:
        processes: those of all ranks.
        speech: how this one speaks.
    """

    def __init__(self, processes: Processes, speech: Speech) -> None:
        self._processes = processes
        self._speech = speech
        self._lock = threading.RLock()
        self._number = 0  # of the jobs of this process, the same in all
        self._job: WatchedJob | None = None
        self._limit: float | None = None
        self._early: dict[int, EarlyEnd] = {}  # of jobs that have not begun here
        self.end: EarlyEnd | None = None
        self._own_end = False
        self._error: Told | None = None  # of this rank, that ended a job
        self._errors: dict[int, Told] = {}  # of others
        self._of_all: Told | None = None
        self._shown: set[int] = set()  # who of them shows it
        self._left: set[int] = set()
        self._abort_at = float("inf")
        self._count = 0
        self._since = 0.0
        self._asked = 0.0
        self._state: stall.RankState | None = None
        self._states: dict[int, tuple[float, float, stall.RankState]] = {}  # by rank: when heard, how long silent, what
        self._answers = Answers(processes.rank)
        self._silent = 0.0  # for how long all ranks were, when that was weighed last
        self._told = ""  # the report of a standstill that was told, on rank 0
        self._interrupted: dict[int, stall.RankState] = {}  # on rank 0: what ranks did when Ctrl-C reached them
        self._all_said = threading.Event()
        self._told_rank_0 = False  # the same, of this rank
        self._where_at = math.inf  # when this thread tells where all were, if nobody has told by then
        self._stalled: TimeLimit | None = None  # what this rank's job is to raise, but has not yet
        self._raised_by = math.inf  # when this thread ends the job without it
        self._over = threading.Event()
        self._worker = 0  # the job's thread
        self._thread = threading.Thread(target=self._run, name="conduit watch", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    @property
    def rank(self) -> int:
        """Which rank this process is."""
        return self._processes.rank

    # -- for the job, in its thread --------------------------------------------------------------

    def begin(self, job: WatchedJob, limit: float | None) -> None:
        """Watch over a job.

        Args:
            job: the next one of this process.
            limit: seconds without a message after which it is ended, None for no limit.
        """
        with self._lock:
            self._number += 1
            self._job, self._limit = job, limit
            self._count, self._since = -1, time.monotonic()
            self._states.clear()
            self._answers.forget()
            self._silent, self._told = 0.0, ""
            self._stalled, self._raised_by = None, math.inf  # of a job that has come to its end all the same
            self._worker = threading.get_ident()
            end = self._early.pop(self._number, None)
        if end is not None:
            self._ended_by(end)

    def finish(self) -> None:
        """Watch over the job no longer."""
        with self._lock:
            self._job = None

    def failed(self, status: int, told: Told | None = None, *, interrupted: bool = False) -> None:
        """End the job in all processes, because of this one; they end when this program does, or soon in any case.

        Args:
            status: the exit status.
            told: what is said of this rank's error, for others that may have the same; None where it is not shown here.
            interrupted: whether that is Ctrl-C: others say where they are then.
        """
        if told is not None:
            self._error = told
            self._tell_all(("error", self._number, told))
        with self._lock:
            ended = self.end is not None
            if not ended:
                self.end, self._own_end = EarlyEnd(self._processes.rank, status), True
                if self._told_rank_0:  # which ends them all when it has shown where they were
                    self.end, self._own_end = EarlyEnd(0, status), False
                self._abort_at = time.monotonic() + self._abort_s()
            if ended and not self._fails_after_all(status):
                return
        self._tell_all(("end", self._number, status, interrupted))

    def _fails_after_all(self, status: int) -> bool:
        """Take over the status of a failure where the job has been ended with status 0; say whether that is so."""
        if self.end is None or self.end.status or not status:
            return False
        self.end = attrs.evolve(self.end, status=status)
        return True

    def of_all(self, told: Told) -> None:
        """Take note of an error that all ranks raise, for they all see its reason."""
        self._of_all = told

    def with_the_same(self, told: Told) -> dict[int, Told]:
        """Return which other ranks have raised the error that this one has told, but for numbers.

        Waits until each has said that it has an error, or has left, but not for long.
        """
        if self._of_all == told:
            self._over.wait(HEARD_S if self._processes.rank else 0.0)  # rank 0 has still to say it
            return {rank: told for rank in range(self._processes.size) if rank != self._processes.rank}
        if self._error != told:
            return {}
        limit = time.monotonic() + HEARD_S
        others = {*range(self._processes.size)} - {self._processes.rank}
        while time.monotonic() < limit and not others <= self._left.union(self._errors):
            self._over.wait(TURN_S / 10)
        return {rank: each for rank, each in sorted(self._errors.items()) if alike(each, told)}

    def shows(self, told: Told, same: Collection[int]) -> bool:
        """Say whether this rank is to show an error, which others hear of then: the lowest who has it, once.

        Args:
            told: what is said of it.
            same: which others have the same.
        """
        if any(rank < self._processes.rank or rank in self._shown for rank in same):
            return False
        if told == self._error:
            self._tell_all(("shown", self._number))
        return True

    def left(self) -> None:
        """Say that this process has left the job that another has ended."""
        if self.end is not None and not self._own_end:
            self._tell_all(("left", self._number))

    def told(self) -> str:
        """Return the report of a standstill that this rank has told, "" where it has told none since messages moved."""
        return self._told

    def interrupted(self, state: stall.RankState) -> None:
        """Tell rank 0 what this rank did when Ctrl-C reached it."""
        if self._processes.rank:
            self._told_rank_0 = True
            self._tell(0, ("interrupted", self._number, state))
        else:
            self._on_interrupted(0, self._number, state)

    def where(self) -> str:
        """Return, on rank 0, where all ranks were when Ctrl-C reached any; waits for those that have not said it yet.

        Elsewhere, where no rank has said so, and once it has been told, it is "".
        """
        if self._where_at == math.inf:
            return ""
        self._all_said.wait(ANSWER_S)
        return self._where()

    def _where(self) -> str:
        with self._lock:
            self._where_at = math.inf
            return stall.interrupted(self._interrupted, self._processes.size)

    # -- the end of the process ------------------------------------------------------------------

    def _leave(self) -> None:
        """End the process's part; after a job that was ended, all of them."""
        # It ends as it is, and soon: Ctrl-C would only break off its last words.  This is Python's main thread.
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._speech.finish()
        sys.stdout.flush()
        if self.end is None:
            self._over.set()
            self._thread.join(2 * TURN_S + 1)
            signal.signal(signal.SIGINT, before or signal.SIG_DFL)  # what else is to do at the end is not this one's
            return
        limit = time.monotonic() + (self._leave_s(self.end) if self._own_end else self._abort_s())
        while time.monotonic() < limit and not (self._own_end and len(self._left) == self._processes.size - 1):
            self._over.wait(TURN_S / 10)
        self._abort(self.end.status)

    def _leave_s(self, end: EarlyEnd) -> float:
        """Return how long the others may take to leave: longer where they have to find out that they compute."""
        return 2 * LEAVE_S if end.status == _INTERRUPTED else LEAVE_S

    def _abort_s(self) -> float:
        """Return how long the others may take to end by themselves: longer where rank 0 has to tell of Ctrl-C."""
        told_by_another = self._processes.rank and self.end is not None and self.end.status == _INTERRUPTED
        return 2 * ABORT_S if told_by_another else ABORT_S

    def _abort(self, status: int) -> NoReturn:
        self._speech.finish()
        self._speech.ends()
        limit = time.monotonic() + READ_S
        time.sleep(DELIVERY_S)
        while self._speech.is_unread() and time.monotonic() < limit:
            time.sleep(TURN_S / 10)
        with suppress(SystemExit):
            self._processes.abort(status)
        time.sleep(ABORT_S)  # until it is this one's turn
        os._exit(status or 1)

    # -- the thread ------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._over.wait(TURN_S):
            for source, data in self._processes.heard():
                try:
                    kind, number, *rest = pickle.loads(data)
                except Exception:  # of a class that this process has not; who said so is told not to have said
                    continue
                getattr(self, f"_on_{kind}")(source, number, *rest)
            if time.monotonic() > self._abort_at and self.end is not None:
                self._abort(self.end.status)
            if time.monotonic() > self._where_at:  # the job has not come to its end here: it computes
                terminal.tell(self._where())
            if time.monotonic() > self._raised_by:
                self._end_stalled()
            with self._lock:
                job = self._job if self.end is None else None
            if job is not None:
                self._look(job)

    def _tell(self, rank: int, what: tuple[Any, ...]) -> None:
        self._processes.tell(rank, pickle.dumps(what))

    def _tell_all(self, what: tuple[Any, ...]) -> None:
        for rank in range(self._processes.size):
            if rank != self._processes.rank:
                self._tell(rank, what)

    def _on_end(self, source: int, number: int, status: int, interrupted: bool) -> None:
        """Another rank has ended a job."""
        end = EarlyEnd(source, status)
        with self._lock:
            self._left.add(source)
            if self.end is not None:
                self._fails_after_all(status)
                return
            if number > self._number:
                self._early[number] = end
                return
            job = self._job if interrupted else None
        if job is None:
            self._ended_by(end)
            return
        said = threading.Event()

        def say(state: stall.RankState) -> None:
            said.set()
            self._say_where(state)

        job.ask_state(say)
        self._ended_by(end)  # after which it waits no more
        if not said.wait(LEAVE_S / 2):
            self._say_where(stall.computing(self._processes.rank, self._worker))

    def _say_where(self, state: stall.RankState) -> None:
        """Say where this rank was when Ctrl-C reached another one."""
        state = attrs.evolve(state, told=self._told)
        if self._speech.state(pickle.dumps(state)):
            return
        if self._processes.rank:
            self._tell(0, ("interrupted", self._number, state))
        else:
            self._on_interrupted(0, self._number, state)

    def _on_error(self, source: int, number: int, told: Told) -> None:
        """Another rank has raised an error."""
        self._errors[source] = told

    def _on_shown(self, source: int, number: int) -> None:
        """Another rank shows its error."""
        self._shown.add(source)

    def _ended_by(self, end: EarlyEnd) -> None:
        with self._lock:
            self.end, job = end, self._job
            self._abort_at = time.monotonic() + self._abort_s()
        if job is not None:
            job.stop()

    def _on_left(self, source: int, number: int) -> None:
        """Another rank has left a job that was ended."""
        self._left.add(source)

    def _on_interrupted(self, source: int, number: int, state: stall.RankState) -> None:
        """Another rank was interrupted."""
        with self._lock:
            if not self._interrupted:
                self._where_at = time.monotonic() + 2 * ANSWER_S
            self._interrupted[source] = state
            if len(self._interrupted) == self._processes.size:
                self._all_said.set()

    # -- standstill ------------------------------------------------------------------------------

    def _look(self, job: WatchedJob) -> None:
        """See whether messages move; where they do not, tell the lowest rank that answers what this one waits for."""
        now, count = time.monotonic(), job.progress()
        if count != self._count:
            self._count, self._since, self._asked, self._state = count, now, 0.0, None
        silent = now - self._since
        if silent < self._patience() - ANSWER_S:
            return
        if not self._asked:
            self._asked, self._state = now, None
            job.ask_state(self._answered)
            return
        state = self._state
        if state is None:
            if now - self._asked < ANSWER_S:
                return
            state = stall.computing(self._processes.rank, self._worker)
        else:
            self._asked = 0.0
        if silent < self._patience():
            return
        first = self._answers.first(now)
        if first == self._processes.rank:
            self._on_silent(first, self._number, silent, state)
        else:
            self._ask(first)
            self._tell(first, ("silent", self._number, silent, state))

    def _ask(self, rank: int) -> None:
        """Ask a rank whether it is there."""
        if self._answers.ask(rank, time.monotonic()):
            self._tell(rank, ("asked", self._number))

    def _on_asked(self, source: int, number: int) -> None:
        """Another rank wants to know whether this process is there."""
        self._tell(source, ("answered", number))

    def _on_answered(self, source: int, number: int) -> None:
        """Another process is there: what is known of its rank is what it says itself."""
        if source in self._answers.missing(time.monotonic()):
            self._states.pop(source, None)
        self._answers.answered(source)

    def _patience(self) -> float:
        return STALL_S if self._limit is None else min(STALL_S, self._limit)

    def _answered(self, state: stall.RankState) -> None:
        self._state = state

    def _on_silent(self, source: int, number: int, silent: float, state: stall.RankState) -> None:
        """Take note, on the lowest rank that answers, of a rank without messages; when all are, report it."""
        job = self._job
        if number != self._number or job is None:
            return
        now = time.monotonic()
        self._states[source] = now, silent, state
        if source != self._processes.rank:
            self._answers.answered(source)
        elif not self._all_heard(now):
            for rank in set(range(self._processes.size)).difference(self._fresh(now)):
                self._ask(rank)
        for rank, seconds in self._answers.missing(now).items():  # before it was asked messages may have moved there
            self._states[rank] = now, seconds, stall.unanswered(rank)
        if not self._all_heard(now):
            return
        least = min(each for _, each, _ in self._states.values())
        self._weigh(job, least, [self._states[rank][2] for rank in range(self._processes.size)])

    def _fresh(self, now: float) -> list[int]:
        """Return the ranks that have said lately that they stand still."""
        return [rank for rank, (heard, _, _) in self._states.items() if now - heard <= FRESH_S]

    def _all_heard(self, now: float) -> bool:
        return len(self._fresh(now)) == self._processes.size

    def _weigh(self, job: WatchedJob, silent: float, states: list[stall.RankState]) -> None:
        """Report a standstill, once; end the job where it may not go on any longer."""
        if silent < self._silent:
            self._told = ""  # messages have moved since
        self._silent = silent
        waiting = [state.waits for state in states]
        if self._limit is not None and silent >= self._limit:
            limit, self._limit = self._limit, None
            report = stall.stall(job.now(), silent, states)
            text = f"{brief(report)}\nended, because nothing may stand still for {limit:g} s (stall_limit)"
            self._stalled, self._raised_by = TimeLimit(text, report), time.monotonic() + ANSWER_S
            job.fail(self._take_stalled)
            return
        patience = STALL_S if all(waiting) and not any(state.goes_on for state in states) else COMPUTING_S
        if self._told or silent < patience or not any(waiting):
            return
        self._told = brief(stall.stall(job.now(), silent, states))
        terminal.tell(f"{self._told}\nthe job goes on waiting")

    def _take_stalled(self) -> TimeLimit | None:
        """Return the error of a job that stood still, to the first who asks: its own thread, or else this one."""
        with self._lock:
            found, self._stalled, self._raised_by = self._stalled, None, math.inf
        return found

    def _end_stalled(self) -> None:
        """End a job that stood still in all processes, and tell it: this rank awaits nothing, and so cannot."""
        error, job = self._take_stalled(), self._job
        if error is None or job is None or self.end is not None:
            return
        self._speech.finish()
        if self._speech.framed:
            self._speech.error(FinalError(terminal.shown(f"conduit run: {error}\n"), *told_of(error)))
        else:
            terminal.tell(f"run: {error}")
        self.failed(1)
        job.stop()
