"""A rank's processor: one thing at a time, each to its end, in the order asked (rule T1).

Its clock is `free`, the end of all that it was given.  That may be ahead of the kernel's time: CPU time is a sum, and
takes no event, as long as nothing shared is touched (rule T2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from conduit.sim.kernel import Kernel
from conduit.sim.waiter import Waiter


class Cpu:
    """The one CPU of a rank.

    `free` is when the next thing may start.  Tasks take turns with `acquire` and `release`; what
    the simulation does on a rank's behalf holds `busy` in the same way.  `pending` is CPU time that a plain
    call (`ep.charge`) asked for during another task's turn; it is charged when that turn ends.
    `interrupted` is when the last interrupt ends.

    Invariants: `busy` is true exactly while one task or event has the turn, and turns are given in the order of
    asking.  Only an interrupt charges without a turn.

    Args:
        kernel: its clock and events.
        rank: its rank, for reports.
        on_idle: called when the CPU is not wanted any more.
    """

    __slots__ = ("busy", "free", "interrupted", "kernel", "on_idle", "pending", "rank", "turns")

    def __init__(self, kernel: Kernel, rank: int = 0, on_idle: Callable[[], None] | None = None) -> None:
        self.kernel = kernel
        self.rank = rank
        self.free = 0
        self.interrupted = 0
        self.busy = False
        self.pending = 0
        self.on_idle = on_idle
        self.turns: deque[Waiter] = deque()

    def now(self) -> int:
        """Return this CPU's own time in picoseconds: the end of what it was given (T4)."""
        return self.free if self.free > self.kernel.now else self.kernel.now

    def charge(self, ticks: int) -> None:
        """Take the CPU for another `ticks` picoseconds."""
        now = self.kernel.now
        self.free = (self.free if self.free > now else now) + ticks

    def interrupt(self, ticks: int) -> int:
        """Take the CPU away for an interrupt, in the event that asks for it; return when it is over, picoseconds.

        It is served at once, after interrupts before it, whatever the CPU does: that goes on afterwards and ends later
        by as much.  Accesses to the hardware that have been scheduled keep their time; what follows them is late.
        """
        now = self.kernel.now
        self.interrupted = (self.interrupted if self.interrupted > now else now) + ticks
        self.charge(ticks)
        return self.interrupted

    async def finish(self) -> None:
        """Wait, with the turn taken, until what it was given is done, interrupts meanwhile included."""
        while self.free > self.kernel.now:
            await self.kernel.until(self.free, shielded=True)

    def pay(self) -> None:
        """Charge what was asked for during this turn, at its end."""
        pending, self.pending = self.pending, 0
        self.charge(pending)

    async def acquire(self, *, shielded: bool = False) -> None:
        """Wait for this task's turn; it begins at `free` and lasts until `release`."""
        if self.busy:
            await self._queue(shielded)
        else:
            self.busy = True
        while self.free > self.kernel.now:  # again after an interrupt
            try:
                await self.kernel.until(self.free, shielded=shielded)
            except BaseException:
                self.release()
                raise

    async def _queue(self, shielded: bool) -> None:
        waiter = Waiter()
        self.turns.append(waiter)
        try:
            await self.kernel.wait(waiter, shielded=shielded)
        except BaseException:
            if waiter in self.turns:
                self.turns.remove(waiter)
            else:
                self.release()
            raise

    def release(self) -> None:
        """End a turn; the next in the queue starts at `free`."""
        if self.pending:
            self.pay()
        if self.turns:
            waiter = self.turns.popleft()
            if self.free > self.kernel.now:
                self.kernel.at(self.free, waiter.wake)
            else:
                waiter.wake()
        else:
            self.busy = False
            if self.on_idle is not None:
                self.on_idle()
