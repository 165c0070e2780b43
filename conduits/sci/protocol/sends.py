"""Sends with a payload through paired slots, as chains of acts (`conduit.simnet.chain`).

    ThroughSlot     header; payload; barrier; flags
    by_dma          header; head and tail, if any; DMA of the body; completion and barrier; flags
    by_map          header; map; payload or head and tail, DMA of the body; completion; unmap; flags

The last two are generators, run by `conduit.simnet.chain.Chain`.  Nearly all messages are small and go by PIO into
their slot: their chains are written as callbacks instead, which takes a tenth less time.  `SlotWriter.post`, in the
driver, is that of a message that is all in its first store, `ThroughSlot` that of a header and a payload.
"""

from __future__ import annotations

from conduit.contract import Buffer, Message
from conduit.simnet.chain import Act, Done, Steps
from conduit.simnet.transport import Then
from conduits.sci import wire
from conduits.sci.driver import ALIGN, MAP_PS, UNMAP_PS, RemoteSlot, SegmentMapping, Sisci, SlotWriter
from conduits.sci.protocol.peer import SciPeer
from conduits.sci.protocol.transport import SciTransport


class ThroughSlot:
    """Stores a header and a payload into a slot, waits for the barrier, stores the flags.

    One serves all messages of a rank, which is in one send at a time.

    Args:
        transport: the sender's.
        writer: its stores into slots.

    Attributes:
        rank: its rank, for errors of the hardware.
    """

    __slots__ = (
        "_begun", "_command", "_driver", "_end", "_finished", "_flag", "_header", "_kernel", "_landed", "_payload",
        "_place", "_second", "_slot", "_stored", "_then", "_writer", "rank",
    )  # fmt: skip

    _command: SegmentMapping
    _slot: RemoteSlot

    _then: Then

    def __init__(self, transport: SciTransport, writer: SlotWriter) -> None:
        self.rank = transport.rank
        self._driver = transport.driver
        self._writer = writer
        self._kernel = transport.kernel
        self._place = self._end = 0
        self._header: Buffer = b""
        self._payload: Buffer = b""
        # Made once, since every message needs them.
        self._begun, self._stored, self._second = self._store_header, self._header_stored, self._store_payload
        self._finished, self._landed, self._flag = self._payload_stored, self._all_landed, self._store_flags

    def begin(
        self,
        when: int,
        slot: RemoteSlot,
        command: SegmentMapping,
        place: int,
        header: bytes,
        payload: Buffer,
        then: Then,
    ) -> None:
        """Begin the chain when the CPU is free, at `when` picoseconds.

        Args:
            when: see above.
            slot: where the message goes.
            command: the segment in which the slot is.
            place: its offset there.
            header: what is stored first.
            payload: what is stored behind the largest header.
            then: called as `then()` when the CPU has made the last store, and only CPU time is left.
        """
        self._slot = slot
        self._command = command
        self._place = place
        self._header = header
        self._payload = payload
        self._then = then
        self._kernel.call(when, self._begun)

    def _store_header(self) -> None:
        end = self._driver.store(self._command, self._place, self._header, self._stored, True)
        if end:
            self._kernel.call(end, self._second)

    def _header_stored(self, end: int) -> None:
        self._kernel.call(end, self._second)

    def _store_payload(self) -> None:
        place = self._place + wire.HEADER_MAX
        end = self._driver.store(self._command, place, self._payload, self._finished, True)
        if end:
            self._payload_stored(end)

    def _payload_stored(self, end: int) -> None:
        self._end = end
        when = self._driver.barrier(self._landed)
        if when:
            self._all_landed(when)

    def _all_landed(self, when: int) -> None:
        end = self._end
        self._kernel.call(when if when > end else end, self._flag)

    def _store_flags(self) -> None:
        self._writer.announce(self._slot, self._then)


def store(driver: Sisci, mapping: SegmentMapping, offset: int, data: Buffer, announced: bool = True) -> Act:
    """Return the act of storing `data`; `announced`: the receiver looks for it only at flags that are set later."""

    def act(done: Done) -> None:
        end = driver.store(mapping, offset, data, done, announced)
        if end:
            done(end)

    return act


def landed(driver: Sisci, act: Act) -> Act:
    """Return an act with the barrier behind it, begun as soon as it is known when the CPU is done with the act."""

    def both(done: Done) -> None:
        def wait(end: int) -> None:
            when = driver.barrier(lambda when: done(max(when, end)))
            if when:
                done(max(when, end))

        act(wait)

    return both


def by_dma(transport: SciTransport, peer: SciPeer, announce: Act, place: int, header: bytes, message: Message) -> Steps:
    """Send the body of a long payload by DMA, its unaligned ends through the slot."""
    driver, command, payload = transport.driver, peer.mapping, message.payload
    cut = head, body, tail = wire.cut(message.offset, message.nbytes)
    yield store(driver, command, place, header)
    stores = []
    if head or tail:
        ends = bytes(payload[:head]) + bytes(payload[head + body :])
        stores.append(store(driver, command, place + wire.HEADER_MAX, ends))
    yield from _straight(transport, peer, message, stores, cut)
    yield announce


def by_map(transport: SciTransport, peer: SciPeer, announce: Act, place: int, header: bytes, message: Message) -> Steps:
    """Send what of a long payload is unaligned straight to its place, mapped for this message alone."""
    driver, cpu, nbytes = transport.driver, transport.cpu, message.nbytes
    cut = head, body, _ = wire.cut(message.offset, nbytes)
    parts = [(start, end) for start, end in ((0, head), (head + body, nbytes)) if start < end]
    if nbytes < transport.config.dma_threshold or (message.address + head) % ALIGN:
        cut, parts = wire.DmaCut(nbytes, 0, 0), [(0, nbytes)]
    yield store(driver, peer.mapping, place, header)
    if not parts:
        yield from _straight(transport, peer, message, [], cut)
    else:
        cpu.free += MAP_PS
        mapping = driver.map(transport.payload_of(peer))
        view, at = memoryview(message.payload), message.offset
        stores = [store(driver, mapping, at + start, view[start:end]) for start, end in parts]
        yield from _straight(transport, peer, message, stores, cut)
        driver.unmap(mapping)
        cpu.free += UNMAP_PS
    yield announce


def _straight(transport: SciTransport, peer: SciPeer, message: Message, stores: list[Act], cut: wire.DmaCut) -> Steps:
    """Make the stores, then the DMA of the body, if there is one; wait until all has landed."""
    head, body, _ = cut
    last = _dma(transport, peer, message, cut) if body else stores.pop()
    yield from stores
    if body and (message.address + head) % ALIGN:
        transport.cpu.free += transport.host.copy_ticks(body)  # to an aligned buffer
    yield landed(transport.driver, last)


def _dma(transport: SciTransport, peer: SciPeer, message: Message, cut: wire.DmaCut) -> Act:
    """Return the act of the DMA of the body, which lies aligned by then."""
    head, body, _ = cut

    def act(done: Done) -> None:
        data = memoryview(message.payload)[head : head + body]
        transport.driver.dma(data, 0, transport.payload_of(peer), message.offset + head, done, announced=True)

    return act
