"""What a rank's CPU still has to do on the hardware for the library's calls.

A plain call of MPI posts and returns, but the stores that it makes take time, and each is an event at its own time.  So
a call leaves them to the worker, as a chain (`conduit.simnet.chain`), and its caller keeps the CPU's turn until the
worker is idle.  Chains run one after the other, since there is one CPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from conduit.errors import NetworkError
from conduit.sim import Cpu, Kernel
from conduit.sim.memory import Buffer
from conduit.simnet.chain import Act, Steps
from conduit.simnet.transport import Then

LineStore: TypeAlias = Callable[[int, Buffer, Callable[[int], object]], int]

_NOTHING = -1


class Worker:
    """Does one act after the other, each when the CPU is free, in the order in which they were given.

    The acts do not begin when they are given, but when the owner of the CPU's turn asks for their end: by `at_once`,
    and by `when_idle` if something is left.  If the
    worker is idle, the CPU time before the first act is charged at once; no other is.

    Args:
        kernel: the job's time.
        cpu: the rank's.

    Attributes:
        idle: whether nothing is left to do; while it is not, the CPU's turn is taken.
        rank: of which rank, for errors.
    """

    __slots__ = (
        "_act", "_begin", "_begin_act", "_begin_store", "_cpu", "_due", "_kernel", "_line", "_single", "_steps",
        "_stored_it", "_then", "idle", "rank",
    )  # fmt: skip

    _act: Act
    _begin: Then
    _single: tuple[LineStore, int, Buffer, Then | None]
    _steps: Steps

    def __init__(self, kernel: Kernel, cpu: Cpu) -> None:
        self._kernel = kernel
        self._cpu = cpu
        self._line: deque[Steps] = deque()
        self._then: Then | None = None
        self._due = _NOTHING  # when the next act is to begin, as long as no event is to begin it
        self._begin_act, self._begin_store, self._stored_it = self._do_act, self._do_store, self._stored
        self.idle = True
        self.rank = cpu.rank

    def do(self, steps: Steps) -> None:
        """Take acts, as `conduit.simnet.chain` has them, behind what was given before; with the CPU's turn taken.

        Raises:
            NetworkError: of the time before the first act, where the worker is idle; what comes later ends the job.
        """
        self._line.append(steps)
        if self.idle:
            self.idle = False
            self._take_next()

    def store(self, store: LineStore, offset: int, data: Buffer, over: Then | None = None) -> None:
        """Take one store, then call `over()`: as `do` of a single act; while the worker is idle.

        Args:
            store: `store(offset, data, done)` returns when the CPU may go on, or 0 and calls `done(when)` later.
            offset: given to it.
            data: given to it.
            over: called when it is made.
        """
        self.idle = False
        self._single = store, offset, data, over
        self._begin = self._begin_store
        free, now = self._cpu.free, self._kernel.now
        self._due = free if free > now else now

    def at_once(self) -> bool:
        """Do what was given, as long as nothing else can happen meanwhile; return whether nothing is left.

        It lets the time until each act pass without an event, as a call does whose CPU is busy (rule I).
        So it must not be called from a callback of the hardware: time would pass in the midst of an event.
        """
        advance = self._kernel.advance
        try:
            while self._due != _NOTHING and advance(self._due):
                self._due = _NOTHING
                self._begin()
        except Exception as error:  # as out of an event: it ends the job, and is none of the program's
            self._kernel.fail(error, self.rank)
        return self.idle

    def when_idle(self, then: Then) -> None:
        """Call `then()` once, when nothing is left to do; at once where that is so already."""
        if self.idle:
            then()
        else:
            assert self._then is None  # the CPU's turn has one owner, and only that one waits
            self._then = then
            if self._due != _NOTHING:
                self._schedule()

    def _schedule(self) -> None:
        due, self._due = self._due, _NOTHING
        self._kernel.call(due, self._begin)

    # -- acts ----------------------------------------------------------------------------------------

    def _do_act(self) -> None:
        self._act(self._done)

    def _done(self, when: int, outcome: Any = None) -> None:
        if when > self._cpu.free:
            self._cpu.free = when
        try:
            if not self._go_on(outcome):
                self._take_next()
        except NetworkError as error:
            self._kernel.fail(error, self.rank)  # in an event of the hardware, which is no rank's

    def _go_on(self, outcome: Any) -> bool:
        """Go on to the next act of the steps; return whether there is one."""
        try:
            self._act = self._steps.send(outcome)
        except StopIteration:
            return False
        self._begin = self._begin_act
        free, now = self._cpu.free, self._kernel.now
        self._due = free if free > now else now
        if self._then is not None:
            self._schedule()
        return True

    def _take_next(self) -> None:
        """Begin with the next that was given, or be idle."""
        while self._line:
            self._steps = self._line.popleft()
            if self._go_on(None):
                return
        self.idle = True
        then = self._then
        if then is not None:
            self._then = None
            then()

    # -- a single store ------------------------------------------------------------------------------

    def _do_store(self) -> None:
        store, offset, data, _ = self._single
        end = store(offset, data, self._stored_it)
        if end:
            self._stored(end)

    def _stored(self, when: int) -> None:
        cpu = self._cpu
        if when > cpu.free:
            cpu.free = when
        _, _, _, over = self._single
        if over is not None:
            over()
        if self._line or self._then is not None:
            self._take_next()
        else:
            self.idle = True
