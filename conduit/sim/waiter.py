"""What tasks wait with, whom they work for, and what ends their waits when their job ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Protocol

import trio


class Ending(BaseException):
    """Raised out of every wait of a job that is ending; the job swallows it.

    Not an Exception, so that a program's `except Exception` does not keep it alive.
    """


class Owner(Protocol):
    """What a task works for: a rank, whose other tasks may wait for what this one changes."""

    rank: int

    def recheck(self, task: trio.lowlevel.Task) -> None:
        """Look again at what the owner's other tasks wait for, because `task` has run."""


OWNER: ContextVar[Owner | None] = ContextVar("conduit.sim.owner", default=None)


class Waiter:
    """One wait of one task: woken at most once, by an event or by another task.

    Invariants: `task` is set only while that task is suspended in `Parked.wait`, and is taken off before the task is
    rescheduled.  So no task is rescheduled twice, which Trio would not survive.  A wake before the wait has begun is
    kept in `done`, and the wait does not begin.

    Attributes:
        done: whether it was woken.
        shielded: whether a cancellation is put off until the wait is over; may become true.
    """

    __slots__ = ("done", "shielded", "task")

    def __init__(self) -> None:
        self.done = False
        self.shielded = False
        self.task: trio.lowlevel.Task | None = None

    @trio.lowlevel.enable_ki_protection  # or a task that nothing will wake any more
    def wake(self) -> None:
        """End the wait.  Again, or after the wait was abandoned: no effect."""
        self.done = True
        task = self.task
        if task is not None:
            self.task = None
            trio.lowlevel.reschedule(task)

    def abandon(self) -> None:
        """The wait was cancelled: its task runs soon, but not at once, and nothing may be done for it any more."""
        self.task = None


class Parked:
    """The waits of a job that go through Trio's own loop.

    Attributes:
        ending: whether the job is ending: then no shield holds.
    """

    __slots__ = ("_waiters", "ending")

    def __init__(self) -> None:
        self._waiters: dict[Waiter, None] = {}
        self.ending = False

    def __len__(self) -> int:
        return len(self._waiters)

    @trio.lowlevel.enable_ki_protection  # or an event would wake a task that has gone
    async def wait(self, waiter: Waiter) -> None:
        """Let the running task wait until `waiter` is woken, or until it is cancelled and not shielded."""
        waiter.task = trio.lowlevel.current_task()
        self._waiters[waiter] = None

        def abort(_: object) -> trio.lowlevel.Abort:
            if waiter.shielded and not self.ending:
                return trio.lowlevel.Abort.FAILED
            waiter.abandon()
            return trio.lowlevel.Abort.SUCCEEDED

        try:
            await trio.lowlevel.wait_task_rescheduled(abort)
        finally:
            self._waiters.pop(waiter, None)

    def wake(self) -> None:
        """End all the waits there are."""
        for waiter in list(self._waiters):
            waiter.wake()


async def shielded(action: Callable[[], Awaitable[object]]) -> None:
    """Await `action()` under a shield from the caller's cancellation."""
    with trio.CancelScope(shield=True):
        await action()
