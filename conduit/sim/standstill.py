"""Finds out that time does not pass any more although something goes on (rule T6)."""

from __future__ import annotations

import trio

STILL = 100_000  # steps at one instant that mean that time will never pass again


class Standstill:
    """Counts what happens at one instant: steps of each task, and events."""

    __slots__ = ("_count", "_now", "_steps", "_weights")

    def __init__(self) -> None:
        self._now = -1
        self._count = 0
        self._steps: dict[trio.lowlevel.Task, int] = {}
        self._weights: dict[trio.lowlevel.Task, int] = {}  # what the next step of a task counts for, if not 1

    def weigh(self, task: trio.lowlevel.Task, steps: int) -> None:
        """Let the next step of `task` count for so many."""
        self._weights[task] = steps

    def step(self, now: int, task: trio.lowlevel.Task) -> bool:
        """Count a step of `task`; return whether it has just made `STILL` of them at `now`."""
        if now != self._now:
            self._now, self._count = now, 0
            if self._steps:
                self._steps = {}
        weight = self._weights.pop(task, 1) if self._weights else 1
        self._count += weight
        if self._count <= STILL:
            return False
        before = self._steps.get(task, 0)
        after = self._steps[task] = before + weight
        return before < STILL <= after

    def events(self, now: int, count: int, ranks: int) -> bool:
        """Count `count` events at `now`; return whether there were more than `STILL` for each rank."""
        if now != self._now:
            self._now, self._count = now, 0
        self._count += count
        return self._count > STILL * max(1, ranks)
