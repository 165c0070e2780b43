"""What a rank's CPU still has to do on the hardware for the library's calls.

A plain call of MPI posts and returns, but the stores that it makes take time, and each is an event at its own time.  So
a call leaves them to the worker, as a chain (`conduit.simnet.chain`), and its caller keeps the CPU's turn until the
worker is idle.  Chains run one after the other, since there is one CPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from conduit.sim import Cpu, Kernel
from conduit.sim.memory import Buffer
from conduit.simnet.chain import Chain, Steps
from conduit.simnet.transport import Then

LineStore: TypeAlias = Callable[[int, Buffer, Callable[[int], object]], int]


class Worker:
    """Runs steps one after the other, in the order in which they were given.

    Args:
        kernel: the job's time.
        cpu: the rank's.

    Attributes:
        idle: whether nothing is left to do; while it is not, the CPU's turn is taken.
        rank: of which rank, for errors.
    """

    __slots__ = (
        "_begun", "_cpu", "_data", "_kernel", "_line", "_next", "_offset", "_over", "_store", "_then", "idle", "rank",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, cpu: Cpu) -> None:
        self._kernel = kernel
        self._cpu = cpu
        self._line: deque[Steps] = deque()
        self._then: Then | None = None
        self._next = self._go_on
        self._begun = self._begin_store
        self._store: LineStore = _no_store
        self._offset = 0
        self._data: Buffer = b""
        self._over: Then | None = None
        self.idle = True
        self.rank = cpu.rank

    def do(self, steps: Steps) -> None:
        """Run `steps` once what was given before is over; called with the CPU's turn taken."""
        self._line.append(steps)
        if self.idle:
            self.idle = False
            self._go_on()

    def store(self, store: LineStore, offset: int, data: Buffer, over: Then | None = None) -> None:
        """Make one store when the CPU is free, then call `over()`: as `do` of a single act; while the worker is idle.

        Args:
            store: `store(offset, data, done)` returns when the CPU may go on, or 0 and calls `done(when)` later.
            offset: given to it.
            data: given to it.
            over: called when it is made.
        """
        self.idle = False
        self._store, self._offset, self._data, self._over = store, offset, data, over
        free, now = self._cpu.free, self._kernel.now
        self._kernel.call(free if free > now else now, self._begun)

    def _begin_store(self) -> None:
        end = self._store(self._offset, self._data, self._stored)
        if end:
            self._stored(end)

    def _stored(self, when: int) -> None:
        cpu, over = self._cpu, self._over
        if when > cpu.free:
            cpu.free = when
        if over is not None:
            over()
        if self._line:
            self._go_on()
            return
        self.idle = True
        then = self._then
        if then is not None:
            self._then = None
            then()

    def when_idle(self, then: Then) -> None:
        """Call `then()` once, when nothing is left to do; at once where that is so already."""
        if self.idle:
            then()
        else:
            assert self._then is None  # the CPU's turn has one owner, and only that one waits
            self._then = then

    def _go_on(self) -> None:
        if self._line:
            Chain(self._kernel, self._cpu, self._line.popleft(), self._next)
            return
        self.idle = True
        then, self._then = self._then, None
        if then is not None:
            then()


def _no_store(offset: int, data: Buffer, done: Callable[[int], object]) -> int:
    """Stand in for a store before the first."""
    return 0
