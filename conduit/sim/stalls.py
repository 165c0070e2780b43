"""What there is to do where nothing in virtual time can happen any more (rules D1 and D6)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import trio

from conduit.sim import inspect_tasks
from conduit.sim.ending import SimulationEnd
from conduit.sim.livelock import STILL, LivelockCounter
from conduit.sim.waiter import Waiter


class Stalled(Protocol):
    """What is seen here of a kernel, which is a `conduit.sim.kernel.Kernel`."""

    untimed: bool
    end: SimulationEnd
    livelock: LivelockCounter
    on_stall: Callable[[str, str | trio.lowlevel.Task], BaseException]

    @property
    def ending(self) -> bool:
        """Whether the job is ending."""

    @property
    def over(self) -> Waiter:
        """What the job's main task waits for."""

    def fail(self, error: BaseException, rank: int = -1) -> None:
        """End the job because of `error`."""


def wait_or_end(kernel: Stalled) -> float:
    """Return how long Trio is to wait, in seconds: inf for something outside virtual time, else 0, the job ending."""
    stuck = inspect_tasks.waiting_leaves() if kernel.over.done else []
    if kernel.over.done and not stuck:
        return math.inf  # all tasks are out and Trio closes its loop
    if inspect_tasks.waits_outside():
        kernel.untimed = True
        if kernel.ending:
            for task in kernel.end.lingering():
                kernel.livelock.weigh(task, STILL)  # it goes out at its next step, back from its thread
        return math.inf
    if kernel.ending:
        kernel.end.expel(stuck)
    else:
        kernel.fail(kernel.on_stall("deadlock", ""))
    return 0


def plain_stall(kind: str, cause: str | trio.lowlevel.Task) -> BaseException:
    """Return the error for a run that gets no further and belongs to no job."""
    detail = cause if isinstance(cause, str) else inspect_tasks.describe(cause)
    return RuntimeError(f"{kind}: nothing can happen any more" + (f" ({detail})" if detail else ""))
