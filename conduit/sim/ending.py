"""The end of a job: what ended it, and how its tasks are let out of their waits (rule D6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import outcome
import trio

from conduit import trio_private
from conduit.sim import inspect_tasks
from conduit.sim.waiter import Ending

ROUNDS = 100  # of letting one task out by force: waits within waits, or after one another
MOST = 10_000  # of all tasks of a job
SLEEPS = 10_000  # timeouts that a job which is ending waits for
LEFT = "what caught all that was to end it was left where it stood (`except Exception:` lets it through)"
THREADS_S = 5.0  # of real time, for calls of threads of a task that makes one after the other
THREAD_CALLS = 10  # which are no more than a clean-up makes, however long they take


class SimulationEnd:
    """What has ended a job, and what happened on the way out.

    Attributes:
        errors: (time, rank, error) of what ended it.
        late_errors: what tasks raised on their way out.
        closing: whether the tasks are on their way out.
        abandoned: what only force has ended, and where.
        describe: returns a task's name and line.
    """

    __slots__ = (
        "_count", "_forced", "_in_threads", "_sleeps", "_told", "abandoned", "closing", "describe", "errors",
        "late_errors",
    )  # fmt: skip

    def __init__(self) -> None:
        self.errors: list[tuple[int, int, BaseException]] = []
        self.late_errors: list[tuple[int, int, BaseException]] = []
        self.closing = False
        self.abandoned: list[str] = []
        self.describe: Callable[[trio.lowlevel.Task], str] = inspect_tasks.describe
        self._sleeps = 0
        self._count = 0  # how often any task was let out by force
        self._forced: dict[trio.lowlevel.Task, int] = {}  # how often each was
        self._in_threads: dict[trio.lowlevel.Task, tuple[int, float]] = {}  # looks at calls of threads, and the first
        self._told: set[tuple[trio.lowlevel.Task, str]] = set()

    def note(self, now: int, rank: int, error: BaseException) -> None:
        """Keep an error of `rank` at `now`, once, although it is told of where it is made and where it arrives.

        Ctrl-C is never late.
        """
        late = self.closing and not isinstance(error, KeyboardInterrupt)
        if not any(rank == other and error is known for _, other, known in self.errors + self.late_errors):
            (self.late_errors if late else self.errors).append((now, rank, error))

    def forget(self) -> None:
        """Hold the errors no longer: they have been told."""
        self.errors.clear()
        self.late_errors.clear()

    def outstayed(self) -> bool:
        """Count a timeout that tasks wait for, shielded; return whether these are more than any clean-up needs."""
        self._sleeps += 1
        return self._sleeps > SLEEPS

    def lingering(self) -> list[trio.lowlevel.Task]:
        """Return the tasks that wait for a thread and have done so too often and too long; called at each such wait.

        Virtual time does not pass meanwhile, so only real time can tell.
        """
        now, found = time.monotonic(), []
        for task in inspect_tasks.in_thread_calls():
            looks, since = self._in_threads.get(task, (0, now))
            self._in_threads[task] = looks + 1, since
            if looks >= THREAD_CALLS and now - since > THREADS_S:
                found.append(task)
        return found

    def expel(self, stuck: Sequence[trio.lowlevel.Task]) -> None:
        """Let tasks out of bare Trio waits that a shield keeps from cancellation."""
        for task in stuck:
            self._tell(task, "a shielded wait was ended by force")
            trio.lowlevel.reschedule(task, outcome.Error(Ending()))
            self._leave_behind_if_hopeless(task)

    def throw_out(self, task: trio.lowlevel.Task) -> None:
        """Let a task out that lets no time pass, instead of its next step, which is about to begin."""
        if inspect_tasks.leaves_nursery(task):
            return  # its children have ended, and so will it
        self._tell(task, "what let no time pass was ended by force")
        trio_private.throw(task, Ending())
        self._leave_behind_if_hopeless(task)

    def _leave_behind_if_hopeless(self, task: trio.lowlevel.Task) -> None:
        """Count the force that is used on a task; one that has swallowed too much of it takes no further step."""
        self._count += 1
        forced = self._forced[task] = self._forced.get(task, 0) + 1
        if forced > ROUNDS or self._count > MOST:
            self._tell(task, LEFT)
            trio_private.leave_behind(task)

    def _tell(self, task: trio.lowlevel.Task, what: str) -> None:
        line = f"{what}: {self.describe(task)}"
        if (task, line) not in self._told:
            self._told.add((task, line))
            self.abandoned.append(line)
