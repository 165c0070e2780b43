"""The chains of events of which sends with a payload through paired slots consist.

    WithPayload     header; payload; barrier; flags
    ByDma           header; head and tail, if any; DMA of the body; completion and barrier; flags
    Mapped          header; map; payload or head and tail, DMA of the body; completion; unmap; flags

Each step is an act on the host's bus and so an event of its own, at its time (rule T2).  A message
that is all in its first store needs none of them: `RemoteSlot.post` is its chain.
"""

from __future__ import annotations

from conduit.contract import Message
from conduits.sci import wire
from conduits.sci.driver import ALIGN, MAP_PS, UNMAP_PS, Mapping, RemoteSlot, Then
from conduits.sci.protocol.path import SciPath
from conduits.sci.protocol.peer import Peer


class WithPayload:
    """A message whose payload is stored into the slot behind its header.

    Args:
        path: the sender's.
        peer: the receiver.
        slot: where the message goes there.
        place: the slot's offset in the command segment.
        header: what is stored first.
        message: the message.
        issued: called as `issued(end)`: the CPU has made the last store at `end`, and only CPU time is left.
    """

    __slots__ = ("driver", "end", "header", "issued", "kernel", "message", "path", "peer", "place", "slot")

    def __init__(
        self,
        path: SciPath,
        peer: Peer,
        slot: RemoteSlot,
        place: int,
        header: bytes,
        message: Message,
        issued: Then,
    ) -> None:
        self.path = path
        self.peer = peer
        self.driver = path.driver
        self.kernel = path.kernel
        self.slot = slot
        self.place = place
        self.header = header
        self.message = message
        self.issued = issued
        self.end = 0

    @property
    def rank(self) -> int:
        """Whose it is, for errors of the hardware."""
        return self.path.rank

    def begin(self, when: int) -> None:
        """Begin the chain when the CPU is free, at `when` picoseconds."""
        self.kernel.call(when, self.start)

    def start(self) -> None:
        """Store the header."""
        end = self.driver.store(self.peer.command, self.place, self.header, self.stored, True)
        if end:
            self.stored(end)

    def stored(self, end: int) -> None:
        """Store the payload when the CPU is done with the header."""
        self.kernel.call(end, self.store_payload)

    def store_payload(self) -> None:
        """Store the payload."""
        place = self.place + wire.HEADER_MAX
        end = self.driver.store(self.peer.command, place, self.message.payload, self.finish, True)
        if end:
            self.finish(end)

    def finish(self, end: int) -> None:
        """The CPU is done with all stores at `end`: wait until they have landed."""
        self.end = end
        when = self.driver.barrier(self.landed)
        if when:
            self.landed(when)

    def landed(self, when: int) -> None:
        """All has landed, which is known here at `when`: the flags follow."""
        self.kernel.call(when if when > self.end else self.end, self.flag)

    def flag(self) -> None:
        """Store message-ready, then message-exist."""
        self.slot.announce(self.issued)


class ByDma(WithPayload):
    """A long message whose body goes by DMA, its unaligned ends through the slot."""

    __slots__ = ("cut", "done")

    def start(self) -> None:
        """Store the header."""
        self.cut = wire.cut(self.message.offset, self.message.nbytes)
        super().start()

    def stored(self, end: int) -> None:
        """Store head and tail when the CPU is done with the header."""
        if self.cut.head or self.cut.tail:
            self.kernel.call(end, self.store_ends)
        else:
            self.stage(end)

    def store_ends(self) -> None:
        """Store head and tail, one behind the other, into the slot."""
        head, body, _ = self.cut
        payload = self.message.payload
        ends = bytes(payload[:head]) + bytes(payload[head + body :])
        end = self.driver.store(self.peer.command, self.place + wire.HEADER_MAX, ends, self.stage, True)
        if end:
            self.stage(end)

    def stage(self, end: int) -> None:
        """Copy the body to an aligned buffer if it lies wrong, then post the DMA."""
        head, body, _ = self.cut
        if not body:
            self.finish(end)
            return
        if (self.message.address + head) % ALIGN:
            end += self.path.host.copy_ticks(body)
        self.kernel.call(end, self.post)

    def post(self) -> None:
        """Post the DMA of the body."""
        head, body, _ = self.cut
        payload = self.path.payload_of(self.peer)
        data = memoryview(self.message.payload)[head : head + body]
        # The address is aligned by now: it was, or the body has been copied.
        self.driver.dma(data, 0, payload, self.message.offset + head, self.moved, announced=True)

    def moved(self, when: int) -> None:
        """The DMA is complete, which is known here at `when`."""
        self.finish(when)


class Mapped(ByDma):
    """A long message whose unaligned data go straight to their place, mapped for this message alone."""

    __slots__ = ("mapping", "rest")

    mapping: Mapping
    rest: list[tuple[int, int]]

    def stored(self, end: int) -> None:
        """Decide what needs a mapping: all below the threshold or ill aligned, else the ends."""
        head, body, _ = self.cut
        nbytes = self.message.nbytes
        aligned = (self.message.address + head) % ALIGN == 0
        if nbytes < self.path.setting.dma_threshold or not aligned:
            self.cut = wire.Cut(nbytes, 0, 0)
            self.rest = [(0, nbytes)]
        else:
            self.rest = [(start, end) for start, end in ((0, head), (head + body, nbytes)) if start < end]
        if self.rest:
            self.kernel.call(end + MAP_PS, self.map)
        else:
            self.stage(end)

    def map(self) -> None:
        """The target is mapped: store to it."""
        self.mapping = self.driver.map(self.path.payload_of(self.peer))
        self.store_part()

    def store_part(self) -> None:
        """Store the next part."""
        start, end = self.rest.pop(0)
        data = memoryview(self.message.payload)[start:end]
        done = self.driver.store(self.mapping, self.message.offset + start, data, self.part_stored, True)
        if done:
            self.part_stored(done)

    def part_stored(self, end: int) -> None:
        """Go on with the next part, or with the body."""
        if self.rest:
            self.kernel.call(end, self.store_part)
        else:
            self.stage(end)

    def landed(self, when: int) -> None:
        """Unmap before the flags."""
        mapping = getattr(self, "mapping", None)
        if mapping is not None:
            self.driver.unmap(mapping)
            when = max(when, self.end) + UNMAP_PS
        super().landed(when)
