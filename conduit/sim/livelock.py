"""Finds out that time does not pass any more although something goes on (rule T6)."""

from __future__ import annotations

import trio

from conduit.sim.waiter import Owner

STILL = 100_000  # steps of a rank at one instant that mean that time will never pass again
STILL_ENDING = 10_000  # those that a rank may take on its way out of a job that is ending: more than any clean-up needs


class LivelockCounter:
    """Counts what happens at one instant: steps of the tasks of each rank, and events."""

    __slots__ = ("_count", "_now", "_steps", "_still", "_weights")

    def __init__(self) -> None:
        self._still = STILL
        self._now = -1
        self._count = 0
        self._steps: dict[object, int] = {}
        self._weights: dict[trio.lowlevel.Task, int] = {}  # what the next step of a task counts for, if not 1

    def hurry(self) -> None:
        """Begin again, with less patience: the job is ending."""
        self._now, self._still = -1, min(STILL, STILL_ENDING)

    def weigh(self, task: trio.lowlevel.Task, steps: int) -> None:
        """Let the next step of `task` count for that many."""
        self._weights[task] = steps

    def step(self, now: int, owner: Owner | None, task: trio.lowlevel.Task) -> bool:
        """Count a step of `task`, which works for `owner`; return whether its tasks have made too many at `now`.

        They are counted together, for each of them may start the next.  A task without an owner is on its own: at
        start-up all ranks are.
        """
        if now != self._now:
            self._now, self._count = now, 0
            if self._steps:
                self._steps = {}
        weight = self._weights.pop(task, 1) if self._weights else 1
        self._count += weight
        if self._count <= self._still:  # of all ranks together
            return False
        who = task if owner is None else owner
        steps = self._steps[who] = self._steps.get(who, 0) + weight
        return steps >= self._still

    def events(self, now: int, count: int, ranks: int) -> bool:
        """Count `count` events at `now`; return whether there were too many for that many ranks."""
        if now != self._now:
            self._now, self._count = now, 0
            if self._steps:
                self._steps = {}
        self._count += count
        return self._count > self._still * max(1, ranks)
