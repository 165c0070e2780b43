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

LineStore: TypeAlias = Callable[[int, Buffer, Callable[[int], object]], int | None]

_NOTHING = -1


def _spending(cpu: Cpu, ticks: int) -> Steps:
    """Take CPU time alone, when its turn comes."""
    cpu.charge(ticks)
    yield from ()


class Worker:
    """Does one act after the other, each when the CPU is free, in the order in which they were given.

    The acts do not begin when they are given, but when the owner of the CPU's turn asks for their end: by `at_once`,
    and by `when_idle` if something is left.  `store_now` is for who knows that it is the end.  If the worker is
    idle, CPU time before the first act is charged at once; all other has its place among the acts (`spend`).

    Args:
        kernel: the job's time.
        cpu: the rank's.

    Attributes:
        idle: whether nothing is left to do; while it is not, the CPU's turn is taken.
        passing: whether time may pass while a poll makes progress: not inside an act of the hardware.
        rank: of which rank, for errors.
    """

    __slots__ = (
        "_act", "_act_over", "_args", "_begin", "_begin_act", "_begin_it", "_cpu", "_due", "_kernel", "_line", "_of",
        "_over", "_steps", "_store_over", "_then", "idle", "passing", "rank",
    )  # fmt: skip

    _act: Act
    _begin: Callable[..., int | None]  # with `_args` returns when the CPU may go on, where that is known at once
    _args: tuple[Any, ...]
    _over: Callable[..., object] | None  # called with `_of`
    _of: tuple[Any, ...]
    _steps: Steps

    def __init__(self, kernel: Kernel, cpu: Cpu) -> None:
        self._kernel = kernel
        self._cpu = cpu
        self._line: deque[Steps] = deque()
        self._then: Then | None = None
        self._due = _NOTHING  # when the next act is to begin, as long as no event is to begin it
        # Made once, since every act needs them.
        self._begin_it, self._begin_act = self._next_act, self._do_act
        self._act_over, self._store_over = self._done, self._stored
        self.idle = True
        self.passing = False
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

    def spend(self, ticks: int) -> None:
        """Take the CPU for `ticks` picoseconds, behind what was given before; with the CPU's turn taken.

        Inside of steps it comes behind what is left of them: there `cpu.charge` takes the CPU now.
        """
        if self.idle:
            self._cpu.charge(ticks)
        else:
            self._line.append(_spending(self._cpu, ticks))

    def store(
        self, store: LineStore, offset: int, data: Buffer, over: Callable[..., object] | None = None, *of: Any
    ) -> None:
        """Take one store, then call `over(*of)`: as `do` of a single act; while the worker is idle and the CPU is not.

        Args:
            store: `store(offset, data, done)` returns when the CPU may go on, or nothing and calls `done(when)`.
            offset: given to it.
            data: given to it.
            over: called when it is made.
            *of: given to `over`.
        """
        self.idle = False
        self._begin = store
        self._args = offset, data, self._store_over
        self._over = over
        self._of = of
        self._due = self._cpu.free

    def store_now(self, store: LineStore, offset: int, data: Buffer) -> None:
        """Make one store, at the kernel's time, when the CPU is free; the worker is idle, and is again unless it waits.

        As `at_once` it lets nothing out that is no error of who asks for it.
        """
        self.idle = False
        self._over = None
        try:
            end = store(offset, data, self._store_over)
        except Exception as error:  # as in `at_once`
            self._kernel.fail(error, self.rank)
            return
        if end:
            if end > self._cpu.free:
                self._cpu.free = end
            self.idle = True

    def when_stored(self, over: Callable[..., object], *of: Any) -> None:
        """Call `over(*of)` when the store of `store_now`, which waits, is made."""
        self._over, self._of = over, of

    def act(self, act: Callable[[Callable[[int], object]], None], over: Callable[..., object], *of: Any) -> None:
        """As `store`, for an act of `conduit.simnet.chain` that has no outcome."""
        self.idle = False
        self._begin = act
        self._args = (self._store_over,)
        self._over = over
        self._of = of
        self._due = self._cpu.free

    def at_once(self) -> bool:
        """Do what was given, as long as nothing else can happen meanwhile; return whether nothing is left.

        It lets the time until each act pass without an event, as a call does whose CPU is busy (rule I).
        So it must not be called from a callback of the hardware: time would pass in the midst of an event.
        """
        try:
            while self._due >= 0 and self._kernel.advance(max(self._due, self._cpu.free)):
                self._due = _NOTHING
                end = self._begin(*self._args)
                if end:
                    self._stored(end)
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
            if self._due >= 0:
                self._schedule()

    def _schedule(self) -> None:
        due, self._due = self._due, _NOTHING
        self._kernel.call(due, self._begin_it)

    def _next_act(self) -> None:
        """Begin what is due, in an event."""
        end = self._begin(*self._args)
        if end:
            self._stored(end)

    # -- acts ----------------------------------------------------------------------------------------

    def _do_act(self) -> None:
        self._act(self._act_over)

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
        self._args = ()
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

    # -- a single store, or act ----------------------------------------------------------------------

    def _stored(self, when: int) -> None:
        if when > self._cpu.free:
            self._cpu.free = when
        if self._over is not None:
            self._over(*self._of)
        if self._line or self._then is not None:
            try:
                self._take_next()
            except NetworkError as error:
                self._kernel.fail(error, self.rank)  # as in `_done`
        else:
            self.idle = True
