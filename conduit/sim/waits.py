"""The waits of a kernel that are made of its events and of `Kernel.wait`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

import trio

from conduit.sim.livelock import LivelockCounter
from conduit.sim.waiter import Waiter


class KernelWaits(ABC):
    """The part of a kernel for tasks that wait for a time, for a chain of events, or for their next turn."""

    __slots__ = ()

    # The kernel has these, and says what they are.
    now: int
    livelock: LivelockCounter

    @abstractmethod
    def call(self, when: int, action: Callable[[], object]) -> None:
        """Run `action()` at `when` picoseconds."""

    @abstractmethod
    def advance(self, when: int) -> bool:
        """Let time pass to `when` at once, if nothing else happens before; else return False."""

    @abstractmethod
    async def wait(self, waiter: Waiter, *, shielded: bool = False) -> None:
        """Wait until `waiter` is woken."""

    @abstractmethod
    def park(self, waiter: Waiter) -> Awaitable[Any]:
        """Wait until `waiter`, which is not done yet, is."""

    async def until(self, when: int, *, shielded: bool = False) -> None:
        """Wait until `when` picoseconds."""
        if when <= self.now or self.advance(when):
            return
        waiter = Waiter()
        waiter.shielded = shielded
        self.call(when, waiter.wake)
        await self.park(waiter)

    async def chain(self, start: Callable[[Callable[[], None]], object]) -> None:
        """Call `start(then)`, which begins a chain of events, and wait until it calls `then()`."""
        waiter = Waiter()
        start(waiter.wake)
        await self.wait(waiter, shielded=True)

    async def checkpoint_if_cancelled(self) -> None:
        """Raise what a cancelled scope raises; otherwise no schedule point."""
        await trio.lowlevel.checkpoint_if_cancelled()

    async def checkpoint(self, steps: int = 1) -> None:
        """Let other tasks, signals and threads have their turn; counts as that many steps of the rank (T6)."""
        self.livelock.weigh(trio.lowlevel.current_task(), steps)
        await trio.lowlevel.checkpoint()
