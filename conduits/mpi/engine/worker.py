"""What a rank's CPU still has to do on the hardware for the calls that its library was asked for.

A plain call of MPI posts and returns, but the stores that it makes take time, and each is an act at its own time.  So a
call leaves them to the worker, as steps, and whoever has made the call keeps the CPU's turn until the worker is idle.
"""

from __future__ import annotations

from collections import deque

from conduit.sim import Cpu, Kernel
from conduit.simnet.chain import Chain, Steps
from conduit.simnet.path import Then


class Worker:
    """Runs steps one after the other, in the order in which they were given.

    Args:
        kernel: the job's time.
        cpu: the rank's.

    Attributes:
        idle: whether nothing is left to do.
    """

    __slots__ = ("_cpu", "_kernel", "_line", "_next", "_then", "idle")

    def __init__(self, kernel: Kernel, cpu: Cpu) -> None:
        self._kernel = kernel
        self._cpu = cpu
        self._line: deque[Steps] = deque()
        self._then: Then | None = None
        self._next = self._go_on
        self.idle = True

    def do(self, steps: Steps) -> None:
        """Run `steps` once what was given before is over; called with the CPU's turn taken."""
        self._line.append(steps)
        if self.idle:
            self.idle = False
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
