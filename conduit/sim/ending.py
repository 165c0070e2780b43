"""The end of a job: what ended it, and how its tasks are let out of their waits (rule D6)."""

from __future__ import annotations

from collections.abc import Sequence

import outcome
import trio

from conduit.sim import inspect_tasks, trio_private
from conduit.sim.waiter import Ending

ROUNDS = 100  # of letting tasks out by force: waits within waits, or after one another in one task
SLEEPS = 10_000  # timeouts that a job which is ending waits for


class End:
    """What has ended a job, and what happened on the way out.

    Attributes:
        errors: (time, rank, error) of what ended it.
        late_errors: what tasks raised on their way out.
        closing: whether the tasks are on their way out.
        abandoned: what only force has ended, and where.
    """

    __slots__ = ("_rounds", "_sleeps", "abandoned", "closing", "errors", "late_errors")

    def __init__(self) -> None:
        self.errors: list[tuple[int, int, BaseException]] = []
        self.late_errors: list[tuple[int, int, BaseException]] = []
        self.closing = False
        self.abandoned: list[str] = []
        self._sleeps = 0
        self._rounds = 0

    def note(self, now: int, rank: int, error: BaseException) -> None:
        """Keep an error of `rank` at `now`, once, although it is told of where it is made and where it arrives.

        Ctrl-C is never late.
        """
        late = self.closing and not isinstance(error, KeyboardInterrupt)
        if not any(rank == other and error is known for _, other, known in self.errors + self.late_errors):
            (self.late_errors if late else self.errors).append((now, rank, error))

    def outstayed(self) -> bool:
        """Count a timeout that tasks wait for, shielded; return whether these are more than any clean-up needs."""
        self._sleeps += 1
        return self._sleeps > SLEEPS

    def expel(self, stuck: Sequence[trio.lowlevel.Task]) -> None:
        """Let tasks out of bare Trio waits that a shield keeps from cancellation."""
        self._rounds += 1
        if self._rounds > ROUNDS:
            raise RuntimeError("tasks of an ending job wait again whenever they are let out")
        for task in stuck:
            self.abandoned.append(f"a shielded wait was ended by force: {inspect_tasks.describe(task)}")
            trio.lowlevel.reschedule(task, outcome.Error(Ending()))

    def throw_out(self, task: trio.lowlevel.Task) -> None:
        """Let a task out that lets no time pass, instead of its next step, which is about to begin."""
        if inspect_tasks.leaves_nursery(task):
            return  # its children have ended, and so will it
        line = f"what let no time pass was ended by force: {inspect_tasks.describe(task)}"
        if line not in self.abandoned:
            self.abandoned.append(line)
        trio_private.throw(task, Ending())


def plain_stall(kind: str, cause: str | trio.lowlevel.Task) -> BaseException:
    """Return the error for a run that gets no further and belongs to no job."""
    detail = cause if isinstance(cause, str) else inspect_tasks.describe(cause)
    return RuntimeError(f"{kind}: nothing can happen any more" + (f" ({detail})" if detail else ""))
