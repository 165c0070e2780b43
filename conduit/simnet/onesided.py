"""Native one-sided operations of a simulated network: its part is a `Unit`, the rest is here.

A call takes its turn on the rank's CPU and polls once, as a request does.  Then the unit's chain of events has the CPU
until it calls `free()`.  When an operation is complete, the rank notices that in its next pass, or at the end of the
call if that is later: a processor finds out by looking.  Bytes that land count as an arrival at their target, so that a
task that waits there for a flag in its segment looks again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeAlias

from conduit.contract import AtomicOp, Buffer, Complete, Core, OneSided, StridedSection
from conduit.simnet.port import SimulatedNetwork, SimulatedPort
from conduit.simnet.transport import Then

Spans: TypeAlias = Sequence[tuple[int, int]]
"""Where some bytes are in a segment: the offset and size of each contiguous run."""

WORD = 8
_MODULO = (1 << 64) - 1


def pieces(places: StridedSection, most: int) -> Iterator[Spans]:
    """Yield what lies at some places in parts of at most `most` bytes, of any number of runs or of a part of one."""
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
    """

    __slots__ = ("_completed", "native")

    native: Native

    def __init__(self, conduit: SimulatedNetwork, rank: int, core: Core) -> None:
        self._completed: list[Complete] = []
        super().__init__(conduit, rank, core)

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
        kernel = self.kernel
        while self._completed and not kernel.ending:
            completed, self._completed = self._completed, []
            for then in completed:
                self.conduit.under_way -= 1
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

    async def poll_in_turn(self) -> None:
        """Poll once, with the turn taken."""
        self._polls += 1
        if self._attention:
            await self._poll_pass()
        else:
            self.cpu.charge(self._miss_ps)

    async def run_chain(self, begin: Callable[[Then], object]) -> None:
        """Run a chain of events that has the CPU until it calls what `begin` is given, with the turn taken."""
        sent = self._sent
        sent.done = False
        begin(sent.wake)
        await self.kernel.wait(sent, shielded=True)


class Native(OneSided):
    """The native operations of one rank of a simulated network.

    Args:
        port: the rank's.
        unit: what does them.
    """

    def __init__(self, port: OneSidedPort, unit: Unit) -> None:
        self.port = port
        self.unit = unit
        self.outstanding = 0

    async def put(self, dest: int, places: StridedSection, data: Buffer, then: Complete) -> None:
        """Begin to store `data`; see `conduit.contract.OneSided`, as for the rest."""
        begin = partial(self.unit.put, dest, places, bytes(data))  # the first step of the call (S4)
        await self._operate(begin, partial(self.port.finished, partial(self._complete, then)))

    async def get(self, dest: int, places: StridedSection, out: memoryview, then: Complete) -> None:
        """Begin to read into `out`."""

        def done(data: bytes) -> None:
            out[:] = data
            self.port.finished(partial(self._complete, then))

        await self._operate(partial(self.unit.get, dest, places), done)

    async def atomic(
        self, op: AtomicOp, dest: int, offset: int, operands: tuple[int, ...], then: Callable[[int], object]
    ) -> None:
        """Begin an operation on an integer."""

        def done(old: int) -> None:
            self.port.finished(partial(self._complete, partial(then, old)))

        await self._operate(partial(self.unit.atomic, op, dest, offset, operands), done)

    async def fence(self, dest: int) -> None:
        """Put what follows after what is under way."""
        await self._turn(partial(self.unit.fence, dest))

    async def quiet(self) -> None:
        """Wait until nothing is under way."""
        await self._turn(self.unit.quiet)

    def _complete(self, then: Complete) -> None:
        self.outstanding -= 1
        then()

    async def _operate(self, begin: Callable[..., object], done: Callable[..., object]) -> None:
        def chain(free: Then) -> None:
            self.outstanding += 1
            self.port.conduit.under_way += 1  # the job is not over before it is complete (E1)
            begin(free, done)

        await self._turn(chain)

    async def _turn(self, chain: Callable[[Then], Any]) -> None:
        """Take the CPU for a call: poll, run the chain, look what is complete."""
        port = self.port
        await port._enter()
        await port.cpu.acquire()
        try:
            await port.poll_in_turn()
            await port.run_chain(chain)
            port.settle_completed()
        finally:
            port.cpu.release()
