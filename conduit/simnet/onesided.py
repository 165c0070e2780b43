"""Native one-sided operations of a simulated network: its part is a `Unit`, the rest is here.

A call takes its turn on the rank's CPU and polls once, as a request does.  Then the unit's chain of events has the CPU
until it calls `free()`.  Events do all of this, so that the task goes on once, as long as nothing is in the way
(`conduit.simnet.operating`).  When an operation is complete, the rank notices that in its next pass, or at the end of
the call if that is later: a processor finds out by looking.  Bytes that land count as an arrival at their target, so
that a task that waits there for a flag in its segment looks again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from conduit.contract import AtomicOp, Buffer, Complete, Core, OneSided, StridedSection
from conduit.errors import ConduitError
from conduit.frames import awaited_frames
from conduit.simnet.barrier import BarrierName, Meetings
from conduit.simnet.operating import BeginChain, OperatingCall
from conduit.simnet.port import SimulatedNetwork, SimulatedPort
from conduit.simnet.transport import Then, refuse_not_plain
from conduit.trio_private import cancelled

Spans: TypeAlias = Sequence[tuple[int, int]]
"""Where some bytes are in a segment: the offset and size of each contiguous run."""

WORD = 8
_MODULO = (1 << 64) - 1
_NO_BUFFER = memoryview(b"")


def _nothing() -> None:
    """Stand in for what has been called."""


def pieces(places: StridedSection, most: int) -> Sequence[Spans]:
    """Return what lies at some places in parts of at most `most` bytes, of any number of runs or of a part of one."""
    if places.counts:
        return list(_pieces_of_runs(places, most))
    start, size = places.offset, places.run
    return [[(start + at, min(most, size - at))] for at in range(0, size, most)]


def _pieces_of_runs(places: StridedSection, most: int) -> Iterator[Spans]:
    found: list[tuple[int, int]] = []
    room = most
    for start in places.starts():
        at = 0
        while at < places.run:
            size = min(places.run - at, room)
            found.append((start + at, size))
            at += size
            room -= size
            if not room:
                yield found
                found, room = [], most
    if found:
        yield found


class Unit(ABC):
    """A network's own part: one rank's one-sided operations, each a chain of events from ``port.cpu.now()`` on.

    Every method calls `free()` once, in the last event in which the call needs the CPU; and `done`, where it has one,
    once, in the event in which the operation is complete, before or after that.  A chain waits for hardware alone,
    never for a poll of any rank: so it cannot deadlock, and the end of the job may wait for it.

    Args:
        port: the rank's; its CPU is taken while a chain has not called `free()`.
    """

    def __init_subclass__(cls) -> None:
        """Refuse async methods and generators, which nothing would run."""
        refuse_not_plain(cls, Unit, "unit")
        super().__init_subclass__()

    def __init__(self, port: OneSidedPort) -> None:
        self.port = port

    @abstractmethod
    def put(self, dest: int, places: StridedSection, data: bytes, free: Then, done: Then) -> None:
        """Store `data`, of at least one byte, by `land` of the port of `dest`, in one or more events."""

    @abstractmethod
    def get(self, dest: int, places: StridedSection, free: Then, done: Callable[[bytes], object]) -> None:
        """Read at least one byte; `done(data)` when they are here."""

    @abstractmethod
    def atomic(
        self,
        op: AtomicOp,
        dest: int,
        offset: int,
        operands: tuple[int, ...],
        free: Then,
        done: Callable[[int], object],
    ) -> None:
        """Do an operation by `apply` of the port of `dest`, in one event; `done(old)` when that is here."""

    @abstractmethod
    def fence(self, dest: int, free: Then) -> None:
        """Let what is put to `dest` from now on be seen after all that was put there before."""

    @abstractmethod
    def quiet(self, free: Then) -> None:
        """Wait until all operations of the rank are complete."""


class OneSidedPort(SimulatedPort):
    """The port of a rank whose network has native one-sided operations.

    Attributes:
        native: these, set by the network that has made the port.
        operating: the call of one that has the turn.
    """

    __slots__ = ("_completed", "native", "operating")

    native: Native

    def __init__(self, conduit: SimulatedNetwork, rank: int, core: Core) -> None:
        self._completed: list[Complete] = []
        super().__init__(conduit, rank, core)
        self.operating = OperatingCall(self)

    @property
    def rma(self) -> OneSided:
        """The native operations of the rank."""
        return self.native

    # -- what units do to the segment, in events ------------------------------------------------

    def land(self, spans: Spans, data: bytes, source: int) -> None:
        """Store bytes of an operation of the rank `source`."""
        at = 0
        for start, size in spans:
            some = data[at : at + size]
            self.memory.view[start : start + size] = some  # not by `write`: observers would hear of a message's payload
            self.core.landed(self.kernel.now, source, start, some)
            at += size
        self.notify()

    def read(self, spans: Spans) -> bytes:
        """Return the bytes at these places."""
        view = self.memory.view
        return b"".join(view[start : start + size] for start, size in spans)

    def apply(self, op: AtomicOp, offset: int, operands: tuple[int, ...], source: int) -> int:
        """Do an atomic operation of the rank `source`; return the integer before."""
        place = slice(offset, offset + WORD)
        old = int.from_bytes(self.memory.view[place], "little")
        if op is AtomicOp.FETCH_ADD:
            new = old + operands[0] & _MODULO
        elif op is AtomicOp.SWAP:
            new = operands[0]
        else:
            new = operands[1] if old == operands[0] else old
        if new != old:
            self.land([(offset, WORD)], new.to_bytes(WORD, "little"), source)
        return old

    # -- what the rank itself has begun ----------------------------------------------------------

    def finished(self, then: Complete) -> None:
        """An operation of this rank is complete: call `then()` in its next pass."""
        self._completed.append(then)
        self.notify()

    def settle_completed(self) -> None:
        """Call `then` of each operation that is complete."""
        kernel, native = self.kernel, self.native
        while self._completed and not kernel.ending:
            completed, self._completed = self._completed, []
            for then in completed:
                self.conduit.under_way -= 1
                native.outstanding -= 1
                kernel.program_ran = True
                try:
                    self.core.complete(then)
                except Exception as error:
                    self.fail(error)
                    return

    def _go_on(self) -> None:
        if self._completed:
            self.settle_completed()
        super()._go_on()

    def unit_name(self) -> str:
        """Return the name of the class of the network's own part of operations."""
        return type(self.native.unit).__name__

    def unended(self) -> tuple[str, str]:
        """Return also what the network's own part of an operation has not done."""
        name = self.unit_name()
        if self.operating.task is not None and self._chain_begun():
            return name, "has begun an operation and never called free()"
        found = super().unended()
        if not any(found) and self.native.outstanding > len(self._completed):
            return name, "has begun an operation and never called done()"
        return found

    def _chain_begun(self) -> bool:
        """Say of a call that waits with the turn whether it is for its chain of events, and no more for its poll."""
        operating, task = self.operating, self.operating.task
        assert task is not None
        frames = {frame.f_code.co_name: frame for frame, _ in awaited_frames(task)}
        own = frames.get("operate")
        by_events = own is not None and own.f_locals["chain"] is getattr(operating, "_chain", None)
        return "_operate_later" in frames or operating.begun or not by_events

    # -- the call of one that has the turn -------------------------------------------------------

    def run_chain(self, chain: BeginChain) -> None:
        """Begin the chain of events of a call, which has polled."""
        chain(self.operating.over)

    async def operate(self, chain: BeginChain) -> None:
        """Make a call: take the CPU, poll, run the chain of events, and look what is complete."""
        kernel, cpu = self.kernel, self.cpu
        if self.blocked or self._calls <= 0 or kernel.ending or cancelled(kernel.task):
            await self._enter()
        else:
            self._calls -= 1  # as `_enter` does where there is nothing else to do
        if cpu.busy:
            await cpu.acquire()
        else:
            cpu.busy = True  # before time advances, as `cpu.acquire` does
        operating = self.operating
        try:
            if (cpu.free <= kernel.now or kernel.advance(cpu.free)) and not self._attention:
                self._polls += 1
                cpu.free = kernel.now + self._miss_ps
                operating.done, operating.shielded = False, True
                self.run_chain(chain)
                if not operating.done:
                    await kernel.park(operating)
            else:
                operating.begin(chain)
                if not operating.done:
                    await kernel.park(operating)
                if not operating.begun:
                    await self._operate_later(operating, chain)
            if self._completed:
                self.settle_completed()
        except BaseException:
            self.operating = OperatingCall(self)  # an event may still be due for the one that was abandoned
            raise
        finally:
            if cpu.turns or self.blocked or self._look_later:
                cpu.release()
            else:
                cpu.busy = False

    async def _operate_later(self, operating: OperatingCall, chain: BeginChain) -> None:
        """Run, after its poll, the chain of a call that events could not go on with."""
        if operating.error is not None:
            raise operating.error
        await self._after_poll()
        operating = self.operating  # where it gave the turn away, another call may have been abandoned with the last
        operating.done = False
        self.run_chain(chain)
        if not operating.done:
            await self.kernel.park(operating)


class Native(OneSided):
    """The native operations of one rank of a simulated network.

    Args:
        port: the rank's.
        unit: what does them.
        meetings: the network's own barriers, None where it has none.
    """

    def __init__(self, port: OneSidedPort, unit: Unit, meetings: Meetings | None = None) -> None:
        self.port = port
        self.unit = unit
        self.barriers = meetings is not None
        self._meetings = meetings
        self.outstanding = 0

    def put(self, dest: int, places: StridedSection, data: Buffer, then: Complete) -> Coroutine[Any, Any, None]:
        """Begin to store `data`; see `conduit.contract.OneSided`, as for the rest."""
        begin = partial(self.unit.put, dest, places, bytes(data))  # the first step of the call (S4)
        return self._begin(begin, partial(self.port.finished, then))

    def get(self, dest: int, places: StridedSection, out: memoryview, then: Complete) -> Coroutine[Any, Any, None]:
        """Begin to read into `out`."""

        def done(data: bytes) -> None:
            nonlocal out, then
            try:
                out[:] = data
            except ValueError:
                raise ConduitError(
                    f"rank {self.port.rank}, {type(self.unit).__name__}.get called done({len(data)} bytes); "
                    f"give the {len(out)} bytes that it is to read"
                ) from None
            # The call and the event that is running keep this function for longer than the operation its buffer (X14).
            complete, out, then = then, _NO_BUFFER, _nothing
            self.port.finished(complete)

        return self._begin(partial(self.unit.get, dest, places), done)

    def atomic(
        self, op: AtomicOp, dest: int, offset: int, operands: tuple[int, ...], then: Callable[[int], object]
    ) -> Coroutine[Any, Any, None]:
        """Begin an operation on an integer."""

        def done(old: int) -> None:
            self.port.finished(partial(then, old))

        return self._begin(partial(self.unit.atomic, op, dest, offset, operands), done)

    def fence(self, dest: int) -> Coroutine[Any, Any, None]:
        """Put what follows after what is under way."""
        return self.port.operate(partial(self.unit.fence, dest))

    def quiet(self) -> Coroutine[Any, Any, None]:
        """Wait until nothing is under way."""
        return self.port.operate(self.unit.quiet)

    def arrive(self, barrier: BarrierName, marked: bool, then: Callable[[bool], object]) -> Coroutine[Any, Any, None]:
        """Arrive at a barrier of the network's own."""
        meetings, port = self._meetings, self.port
        assert meetings is not None

        def told(found: bool) -> None:
            self.outstanding += 1  # until the next pass; the network has counted it as under way
            port.finished(partial(then, found))

        def arrived(free: Then) -> None:
            meetings.arrive(barrier, port.rank, marked, told)
            free()

        def chain(free: Then) -> None:
            port.cpu.charge(meetings.access_ps)
            port.kernel.call(port.cpu.free, partial(arrived, free))

        return port.operate(chain)

    def missing(self, barrier: BarrierName) -> Sequence[int]:
        """Return who has not arrived."""
        return () if self._meetings is None else self._meetings.missing(barrier)

    def _begin(self, begin: Callable[..., object], done: Callable[..., object]) -> Coroutine[Any, Any, None]:
        def chain(free: Then) -> None:
            self.outstanding += 1
            self.port.conduit.under_way += 1  # the job is not over before it is complete (E1)
            begin(free, done)

        return self.port.operate(chain)
