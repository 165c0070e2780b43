"""What a rank's CPU still has to do on the hardware for the calls that its library was asked for.

A plain call of MPI posts and returns, but the stores that it makes take time, and each is an act at its own time.  So a
call leaves them to the worker, as steps, and whoever has made the call keeps the CPU's turn until the worker is idle.
"""

from __future__ import annotations

from collections import deque

from conduit.sim import Cpu, Kernel
from conduit.simnet.chain import Act, Chain, Done, Steps
from conduit.simnet.path import Then


class Worker:
    """Runs steps one after the other, in the order in which they were given.

    Args:
        kernel: the job's time.
        cpu: the rank's.

    Attributes:
        idle: whether nothing is left to do.
        rank: whose it is, for errors.
    """

    __slots__ = ("_act", "_cpu", "_kernel", "_line", "_next", "_over", "_then", "idle", "rank")

    def __init__(self, kernel: Kernel, cpu: Cpu) -> None:
        self._kernel = kernel
        self._cpu = cpu
        self._line: deque[Steps] = deque()
        self._then: Then | None = None
        self._next = self._go_on
        self._act: Act = _no_act
        self._over: Then | None = None
        self.idle = True
        self.rank = cpu.rank

    def do(self, steps: Steps) -> None:
        """Run `steps` once what was given before is over; called with the CPU's turn taken."""
        self._line.append(steps)
        if self.idle:
            self.idle = False
            self._go_on()

    def begin(self, event: Then) -> None:
        """Call `event()`, which ends in `act`, when the CPU is free: as `do` where what is to be done has no loops.

        Only while the worker is idle.
        """
        self.idle = False
        free, now = self._cpu.free, self._kernel.now
        self._kernel.call(free if free > now else now, event)

    def act(self, act: Act, over: Then | None = None) -> None:
        """Make one act when the CPU is free, as the last of what was begun; then call `over()`."""
        self.idle = False
        self._act, self._over = act, over
        free, now = self._cpu.free, self._kernel.now
        self._kernel.call(free if free > now else now, self._begin_act)

    def follow(self, steps: Steps) -> None:
        """Run `steps` as the last of what was begun."""
        Chain(self._kernel, self._cpu, steps, self._next)

    def _begin_act(self) -> None:
        self._act(self._acted)

    def _acted(self, when: int, outcome: object = None) -> None:
        if when > self._cpu.free:
            self._cpu.free = when
        over = self._over
        if over is not None:
            over()
        self._go_on()

    def when_idle(self, then: Then) -> None:
        """Call `then()` once, when nothing is left to do; at once where that is so already."""
        if self.idle:
            then()
        else:
            assert self._then is None  # one turn, one owner
            self._then = then

    def _go_on(self) -> None:
        if self._line:
            Chain(self._kernel, self._cpu, self._line.popleft(), self._next)
            return
        self.idle = True
        then, self._then = self._then, None
        if then is not None:
            then()


def _no_act(done: Done) -> None:
    """Stand in for an act before the first."""
