"""Real time: Trio's clock is the processor's, and the time in which no task can run is spent on polls.

A network has no descriptor that Trio could wait for.  So while a call of some rank waits, the clock polls for it when
Trio asks how long to sleep, at most 5 ms a time, that sockets, threads and signals get their turn; and where tasks
keep Trio busy, between two rounds of them.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from time import perf_counter_ns
from typing import Protocol

import attrs
import trio

from conduit.contract.world import Told
from conduit.wall import expulsion
from conduit.words import OF_ENDING

IDLE_NS = 5_000_000  # of polling in one idle stretch of Trio's loop
BUSY_NS = 100_000  # between two polls while tasks keep Trio busy
NAP_S = 1e-6  # asked for; the system makes some 65 us of it


class WallEnding(BaseException):
    """Raised out of every wait of a job that is ending; the job swallows it.

    Not an Exception, so that a program's `except Exception` does not keep it alive.
    """

    def __str__(self) -> str:
        """Return what is told to a program that catches it all the same."""
        return OF_ENDING


class Poller(Protocol):
    """A port that polls for tasks which wait."""

    def step(self) -> None:
        """Poll once; let tasks that are ready go on."""

    def let_out(self) -> None:
        """Let every task out of its wait."""


@attrs.define
class WallEnd:
    """What has ended a job, and what happened on the way out; see `conduit.contract.End`."""

    errors: list[Told] = attrs.Factory(list)
    late_errors: list[Told] = attrs.Factory(list)
    abandoned: list[str] = attrs.Factory(list)
    closing: bool = False

    def note(self, now: int, rank: int, error: BaseException) -> None:
        """Keep an error of `rank` at `now`, once; Ctrl-C is never late."""
        late = self.closing and not isinstance(error, KeyboardInterrupt)
        if not any(rank == other and error is known for _, other, known in self.errors + self.late_errors):
            (self.late_errors if late else self.errors).append((now, rank, error))

    def forget(self) -> None:
        """Hold the errors no longer: they have been told."""
        self.errors.clear()
        self.late_errors.clear()


class WallClock(trio.abc.Clock, trio.abc.Instrument):
    """Real time of one job, from its start.

    Args:
        crowded: whether the ranks that poll on this host are more than its processors: a poll that finds nothing is
            then followed by a nap, else only by a yield.
    """

    def __init__(self, *, crowded: bool = True) -> None:
        self.ending = False
        self.end = WallEnd()
        self.task: trio.lowlevel.Task | None = None
        """The task that runs now, None while Trio's loop runs."""
        self.polling: dict[Poller, None] = {}
        """The ports with tasks that wait."""
        self.on_interrupt: Callable[[BaseException], object] | None = None
        """Told of the Ctrl-C that ends the job, while its tasks are still where they were."""
        self.expulsion = expulsion.Expulsion(WallEnding, self.end.abandoned)
        """Lets out who does not leave a job that is ending."""
        self.crowded = crowded
        self._zero = perf_counter_ns()
        self._polled = self._zero
        self._woken = False
        self._guard = trio.Event()

    # -- conduit.contract.World ----------------------------------------------------------------

    @property
    def now(self) -> int:
        """Picoseconds since the start of the job."""
        return (perf_counter_ns() - self._zero) * 1000

    def fail(self, error: BaseException, rank: int = -1) -> None:
        """End the job because of `error`, which belongs to `rank` (-1: to none)."""
        if isinstance(error, KeyboardInterrupt) and not self.ending and self.on_interrupt is not None:
            self.on_interrupt(error)
        self.end.note(self.now, rank, error)
        self.stop()

    def stop(self) -> None:
        """Let every task of the job out of its wait (D6)."""
        self.ending = True
        self._guard.set()

    def give_way(self) -> None:
        """Nothing is to be done: Trio's loop has its turn every few milliseconds."""

    @property
    def zero(self) -> int:
        """What `time.perf_counter_ns` of this process showed at the start of the job."""
        return self._zero

    # -- for run_tasks -------------------------------------------------------------------------

    async def guard(self) -> None:
        """Wait, as the job's main task, until the job ends; then let everybody out."""
        try:
            await self._guard.wait()
        except KeyboardInterrupt as error:
            self.fail(error)
        if self.ending:
            self.end.closing = True
            self.expulsion.begin(trio.lowlevel.current_task())
            for port in list(self.polling):
                port.let_out()

    def finish(self) -> None:
        """End the guard's wait because every task has returned."""
        self._guard.set()

    # -- trio.abc.Clock ------------------------------------------------------------------------

    def start_clock(self) -> None:
        """Begin: time is counted from here."""
        self._zero = perf_counter_ns()

    def current_time(self) -> float:
        """Return seconds since the start of the job."""
        return (perf_counter_ns() - self._zero) / 1e9

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Poll until a task can run, `deadline` has come, or 5 ms have passed; sleep only where no call waits."""
        if self.end.closing and self.expulsion.is_due():
            self.expulsion.expel()
            return 0
        if not self.polling or self.ending:
            left = deadline - self.current_time()
            return min(left, expulsion.GRACE_NS / 1e9) if self.end.closing else left
        begun = perf_counter_ns()
        left_ns = deadline * 1e9 - (begun - self._zero)  # infinite of a deadline that is, in either direction
        limit = begun + (IDLE_NS if left_ns >= IDLE_NS else math.ceil(max(left_ns, 0.0)))
        self._woken = False
        while True:
            self._poll()
            if self._woken or self.ending or perf_counter_ns() >= limit:
                return 0
            if self.crowded:
                time.sleep(NAP_S)
            else:
                os.sched_yield()

    # -- trio.abc.Instrument: hooks must not raise (I7) ------------------------------------------

    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """Note that a task can run."""
        self._woken = True

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note which rank runs."""
        self.task = task
        if self.end.closing:
            self.expulsion.step(task)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio's own loop runs now."""
        self.task = None

    def before_io_wait(self, timeout: float) -> None:
        """Poll also where tasks keep Trio so busy that it never asks how long to sleep."""
        if self.polling and not self.ending and perf_counter_ns() - self._polled > BUSY_NS:
            self._poll()

    def _poll(self) -> None:
        """Let each port with waiting tasks poll once.  Handlers run in there and may never end, hence Ctrl-C passes."""
        try:
            _poll_all(list(self.polling))
        except BaseException as error:
            self.fail(error)
        self._polled = perf_counter_ns()


@trio.lowlevel.disable_ki_protection
def _poll_all(ports: list[Poller]) -> None:
    for port in ports:
        port.step()
