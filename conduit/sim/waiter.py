"""The one way in which a task waits in virtual time, and what ends all waits when a job ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Protocol

import trio

from conduit.words import OF_ENDING


class Ending(BaseException):
    """Raised out of every wait of a job that is ending; the job swallows it.

    Not an Exception, so that a program's `except Exception` does not keep it alive.  Who catches all and prints it
    reads what to do.
    """

    def __str__(self) -> str:
        """Return what is told to a program that catches it all the same."""
        return OF_ENDING


class Owner(Protocol):
    """What a task belongs to: a rank.  Its other tasks may wait for what this one changes."""

    rank: int

    def recheck(self, task: trio.lowlevel.Task) -> None:
        """Look again at what the owner's other tasks wait for, because `task` has run."""


OWNER: ContextVar[Owner | None] = ContextVar("conduit.sim.owner", default=None)


class Waiter:
    """One wait of one task: woken at most once, by an event or by another task.

    Invariants: `task` is set only while that task is suspended in `Kernel.park`, and is taken off before the task is
    let go on.  So no task goes on twice, which Trio would not survive.  A wake before the wait has begun is kept in
    `done`, and the wait does not begin.

    Attributes:
        done: whether it was woken.
        shielded: whether a cancellation is put off until the wait is over; may become true.
        parked: where the task is suspended.
    """

    __slots__ = ("done", "parked", "shielded", "task")

    parked: Parked

    def __init__(self) -> None:
        self.done = False
        self.shielded = False
        self.task: trio.lowlevel.Task | None = None

    @trio.lowlevel.enable_ki_protection  # a Ctrl-C in here would leave a task that nothing wakes any more
    def wake(self) -> None:
        """End the wait.  Again, or after the wait was abandoned: no effect, but of `again`."""
        task = self.task
        if task is not None:
            self.done = True
            self.task = None
            parked = self.parked
            if parked.direct:
                parked.woken.append(task)
            else:
                trio.lowlevel.reschedule(task)
        elif self.done:
            self.again()
        else:
            self.done = True

    def again(self) -> None:
        """It is woken although the wait is over."""

    def abort(self, _: object) -> trio.lowlevel.Abort:
        """The wait is cancelled: let it end, unless it is shielded or over."""
        if self.done or (self.shielded and not self.parked.ending):
            return trio.lowlevel.Abort.FAILED
        self.abandon()
        return trio.lowlevel.Abort.SUCCEEDED

    def abandon(self) -> None:
        """The wait was cancelled: forget the task.

        It runs soon, but not at once; a wake until then must do nothing.
        """
        self.task = None


class Parked(dict[Waiter, None]):
    """The waits of a job.

    Attributes:
        ending: whether the job is ending: then no shield holds.
        direct: whether tasks that are woken are kept in `woken`, for the kernel to step; else Trio's loop steps them.
        woken: the tasks whose waits are over and that have not gone on.
    """

    __slots__ = ("direct", "ending", "woken")

    def __init__(self) -> None:
        super().__init__()
        self.ending = False
        self.direct = False
        self.woken: list[trio.lowlevel.Task] = []

    @trio.lowlevel.enable_ki_protection
    def leave_to_trio(self) -> None:
        """From now on let Trio's own loop step the tasks that are woken."""
        self.direct = False
        while self.woken:
            trio.lowlevel.reschedule(self.woken.pop(0))

    def wake(self) -> None:
        """End all the waits there are."""
        for waiter in list(self):
            waiter.wake()


async def shielded(action: Callable[[], Awaitable[object]]) -> None:
    """Await `action()` under a shield from the caller's cancellation."""
    with trio.CancelScope(shield=True):
        await action()


async def give_way() -> None:
    """Go on with the tasks that are ready, in Trio's order; no cancellation point."""
    await trio.lowlevel.cancel_shielded_checkpoint()
