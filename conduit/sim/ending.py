"""The end of a job: what ended it, and how its tasks are let out of their waits (rule D6)."""

from __future__ import annotations

from collections.abc import Sequence

import outcome
import trio

from conduit.sim import inspect_tasks
from conduit.sim.waiter import Ending

SLEEPS = 10_000  # timeouts that a job which is ending waits for


class End:
    """What has ended a job, and what happened on the way out.

    Attributes:
        errors: (time, rank, error) of what ended it.
        late_errors: what tasks raised on their way out.
        closing: whether the tasks are on their way out.
        abandoned: where tasks stood that only force let out of their waits.
    """

    __slots__ = ("_sleeps", "abandoned", "closing", "errors", "late_errors")

    def __init__(self) -> None:
        self.errors: list[tuple[int, int, BaseException]] = []
        self.late_errors: list[tuple[int, int, BaseException]] = []
        self.closing = False
        self.abandoned: list[str] = []
        self._sleeps = 0

    def note(self, now: int, rank: int, error: BaseException) -> None:
        """Keep an error of `rank` at `now`, once, although it is told of where it is made and where it arrives."""
        if not any(rank == other and error is known for _, other, known in self.errors + self.late_errors):
            (self.late_errors if self.closing else self.errors).append((now, rank, error))

    def outstayed(self) -> bool:
        """Count a timeout that tasks wait for, shielded; return whether these are more than any clean-up needs."""
        self._sleeps += 1
        return self._sleeps > SLEEPS

    def expel(self, stuck: Sequence[trio.lowlevel.Task]) -> None:
        """Let tasks out of bare Trio waits that a shield keeps from cancellation."""
        if len(self.abandoned) > 10 * len(stuck):
            raise RuntimeError("tasks of an ending job wait again whenever they are let out")
        for task in stuck:
            self.abandoned.append(inspect_tasks.describe(task))
            trio.lowlevel.reschedule(task, outcome.Error(Ending()))
