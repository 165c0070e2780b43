"""Long payloads by RDMA: what a rank has to send, part by part, and what it is receiving.

A sender has two *channels*, each with a pinned buffer: one for its requests and one for its replies, so
that no reply waits for a request.  A channel takes one message after the other, and a message in parts
of at most the buffer's size.  For each part it asks for the receiver, fills the buffer piece by piece
while the engine, once granted, empties it, and has nothing more to do until the part has left.

A receiver has one pinned buffer.  Its next poll after the first piece of a part has come copies piece
by piece to the segment, and is busy with that until the part is whole.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import NamedTuple, Protocol

from conduit.contract import CATEGORY, LONG, Message
from conduit.simnet.chain import Done, Steps
from conduit.simnet.transport import TransportPort
from conduits.startx import constants as c
from conduits.startx import wire
from conduits.startx.driver import HIGH, LOW, POST_PS, Buffer
from conduits.startx.protocol.rendezvous import TransferRequest
from conduits.startx.protocol.sending import PacketSend, SendingTransport
from conduits.startx.protocol.smp import StartXConfig

BOOK_PS = c.ps(c.BOOK)
"""Where the word of a message has its category."""


class OutgoingRdma:
    """A long message that goes by RDMA.

    Attributes:
        message: the message; its payload may be lent until it has been copied.
        dest: rank that it goes to.
        slot: the requester's slot.
        position: bytes copied to the pinned buffer so far.
        part: parts asked for so far.
    """

    __slots__ = ("dest", "message", "part", "position", "slot")

    def __init__(self, message: Message, dest: int, slot: int) -> None:
        self.message = message
        self.dest = dest
        self.slot = slot
        self.position = self.part = 0

    @property
    def copied(self) -> bool:
        """Whether all of the payload has been copied out of the program's memory."""
        return self.position == self.message.nbytes


class TransferTransport(SendingTransport, Protocol):
    """A rank's end of the network, as its transfers know it; `StartXTransport` says what each is."""

    port: TransportPort
    config: StartXConfig
    local: int
    uncopied: dict[Message, OutgoingRdma]
    parts_sent: int
    parts_received: int

    def tag(self, dest: int, slot: int, is_reply: int, kind: int) -> int:
        """Return the software's header word of a packet to rank `dest`."""

    def deliver(self, stream: bytes, source: int, slot: int, is_reply: int) -> None:
        """Take a message whose payload is in the segment."""


class RdmaChannel:
    """A rank's way to send long payloads of one kind.

    Args:
        transport: the rank's end of the network.
        is_reply: whether it is for replies.
    """

    __slots__ = ("_buffer", "_transport", "busy", "is_reply", "number", "queue")

    def __init__(self, transport: TransferTransport, is_reply: int) -> None:
        self._transport = transport
        self._buffer = transport.driver.pin(transport.config.buffer)
        self.is_reply = is_reply
        self.number = channel_number(transport.local, is_reply)
        self.queue: deque[OutgoingRdma] = deque()
        self.busy = False

    @property
    def due(self) -> bool:
        """Whether it has something to send and could."""
        return bool(self.queue) and not self.busy

    def send(self, outgoing: OutgoingRdma) -> Steps:
        """Send a message: at once where no other is before it, else when later polls find its turn."""
        if (yield partial(self._join, outgoing)):
            self._fill()

    def send_part(self) -> Steps:
        """Send the next part of the first message; for a request, transmit room for its RTS is reserved already."""
        yield self._ask
        self._fill()

    def _join(self, outgoing: OutgoingRdma, done: Done) -> None:
        """Put a message behind the others, and if there are none ask for its receiver."""
        transport, first = self._transport, not self.queue
        message = outgoing.message
        if not self.is_reply:
            transport.smp.give_back(transport.config.packets - first)
            if message.word & CATEGORY == LONG:
                transport.uncopied[message] = outgoing
        self.queue.append(outgoing)
        if first:
            self._ask(done)
        else:
            done(transport.kernel.now, False)

    def _ask(self, done: Done) -> None:
        """Ask for the receiver of the next part."""
        transport, outgoing = self._transport, self.queue[0]
        self.busy = True
        if outgoing.part:
            kind, payload = wire.ASK, wire.ask(outgoing.part, self._size(outgoing))
        else:
            kind, payload = wire.HEAD, wire.cut(wire.head(outgoing.message, by_rdma=True))[0]
        tag = transport.tag(outgoing.dest, outgoing.slot, self.is_reply, kind)
        target = transport.port.hosts[outgoing.dest]
        priority = HIGH if self.is_reply else LOW
        PacketSend(transport).begin(priority, target, [(tag, payload)], lambda: done(transport.cpu.free, True))

    def _size(self, outgoing: OutgoingRdma) -> int:
        return min(outgoing.message.nbytes - outgoing.position, self._buffer.nbytes)

    def _fill(self) -> None:
        """The receiver has been asked: copy, and arm the engine, which may overtake the copy by no piece."""
        transport, outgoing = self._transport, self.queue[0]
        transport.smp.rendezvous.asked(self.number, transport.rank, outgoing.dest)
        start, size = outgoing.position, self._size(outgoing)
        self._buffer.write(memoryview(outgoing.message.payload)[start : start + size])
        cluster = transport.config.cluster
        cpu, ready, piece, copy = transport.cpu, [], cluster.fabric.piece, cluster.host.copy_ticks
        cpu.free += BOOK_PS
        for at in range(0, size, piece):
            cpu.free += copy(min(piece, size - at)) + POST_PS
            ready.append(cpu.free)
        target = transport.port.hosts[outgoing.dest]
        transport.driver.arm(self.number, target, self._buffer, wire.whole_words(size), self._left, ready)
        outgoing.position += size
        outgoing.part += 1
        transport.parts_sent += 1
        if outgoing.copied:
            transport.uncopied.pop(outgoing.message, None)

    def _left(self) -> None:
        """The last byte of the part has left the buffer."""
        transport = self._transport
        self.busy = False
        if self.queue[0].copied:
            self.queue.popleft()
        transport.smp.rendezvous.sent(self.number)
        if transport.smp.rendezvous.grantable:
            transport.smp.tell()
        elif self.queue:
            transport.port.notify()


def channel_number(local: int, is_reply: int) -> int:
    """Return the number on its NIU of a rank's channel for requests or for replies."""
    return 2 * local + is_reply


class IncomingRdma:
    """A long message that comes by RDMA.

    Attributes:
        stream: its head.
        source: the sender.
        slot: the requester's slot.
        is_reply: whether it is a reply.
        nbytes: of the payload.
        offset: where it goes in the segment.
        asked: bytes of the parts that the sender has asked for.
        part: how many these are.
        copied: bytes that are in the segment.
    """

    __slots__ = ("asked", "copied", "is_reply", "nbytes", "offset", "part", "slot", "source", "stream")

    def __init__(self, stream: bytes, source: int, slot: int, is_reply: int) -> None:
        head = wire.message(stream, source, slot, is_reply)
        self.stream = stream
        self.source = source
        self.slot = slot
        self.is_reply = is_reply
        self.nbytes = head.nbytes
        self.offset = head.offset
        self.asked = self.part = self.copied = 0


class RdmaPart(NamedTuple):
    """A part of a message that comes: where in its payload it begins, and its size."""

    message: IncomingRdma
    start: int
    size: int


class Reception:
    """A rank's receiving buffer, and what goes through it.

    Args:
        transport: the rank's end of the network.
    """

    __slots__ = ("_coming", "_done", "_messages", "_pieces", "_transport", "_whole", "buffer")

    def __init__(self, transport: TransferTransport) -> None:
        self._transport = transport
        self.buffer: Buffer = transport.driver.pin(transport.config.buffer)
        self._messages: dict[tuple[int, int, int], IncomingRdma] = {}
        self._coming: RdmaPart | None = None
        self._pieces: list[int] = []  # sizes of those that have landed and are not copied yet
        self._whole = False
        self._done: Done | None = None  # while the processor is committed to copying

    @property
    def due(self) -> bool:
        """Whether pieces wait to be copied."""
        return bool(self._pieces)

    def head(self, stream: bytes, source: int, slot: int, is_reply: int) -> None:
        """Take the head of a message, which asks for its first part."""
        coming = self._messages[source, slot, is_reply] = IncomingRdma(stream, source, slot, is_reply)
        self._request(coming, min(coming.nbytes, self.buffer.nbytes))

    def ask(self, payload: bytes, source: int, slot: int, is_reply: int) -> None:
        """Take the request for a further part.

        Raises:
            BadPacket: it is not the next one.
        """
        coming, (part, size) = self._messages[source, slot, is_reply], wire.asked(payload)
        if part != coming.part or not 0 < size <= min(coming.nbytes - coming.asked, self.buffer.nbytes):
            raise wire.BadPacket(
                f"rank {source} asks rank {self._transport.rank} for part {part} of {size} bytes; part {coming.part} "
                f"is next, and {coming.nbytes - coming.asked} bytes are missing"
            )
        self._request(coming, size)

    def _request(self, coming: IncomingRdma, size: int) -> None:
        transport, part = self._transport, RdmaPart(coming, coming.asked, size)
        coming.asked += size
        coming.part += 1
        local = coming.source - transport.config.cluster.first[transport.port.hosts[coming.source]]
        channel = channel_number(local, coming.is_reply)
        transport.smp.rendezvous.request(
            TransferRequest(coming.source, transport.rank, channel, wire.whole_words(size), part)
        )

    def granted(self, request: TransferRequest) -> None:
        """The request has been granted: its bytes are what comes next."""
        assert isinstance(request.place, RdmaPart)
        self._coming = request.place

    # -- events of the engine ------------------------------------------------------------------------

    def landed(self, start: int, size: int) -> None:
        """A piece is in the buffer."""
        if self._done is not None:
            self._copy(size)
        else:
            self._pieces.append(size)
            if len(self._pieces) == 1:
                self._transport.port.notify()

    def whole(self) -> None:
        """The part is whole; the engine is free for another."""
        smp = self._transport.smp
        smp.rendezvous.arrived()
        self._whole = True
        if smp.rendezvous.grantable:
            smp.tell()
        if self._done is not None:
            self._over()

    # -- the receiver's processor ----------------------------------------------------------------------

    def empty(self) -> Steps:
        """Copy what has landed, from now on, and what lands until the part is whole; then the buffer is free."""
        yield self._commit
        yield self._emptied

    def _commit(self, done: Done) -> None:
        self._done = done
        pieces, self._pieces = self._pieces, []
        for size in pieces:
            self._copy(size)
        if self._whole:
            self._over()

    def _copy(self, size: int) -> None:
        """Charge the copy of a piece to the segment; `_emptied` moves the bytes, since no handler reads them before."""
        transport = self._transport
        cpu, now = transport.cpu, transport.kernel.now
        cpu.free = (cpu.free if cpu.free > now else now) + transport.config.cluster.host.copy_ticks(size)

    def _over(self) -> None:
        """The part has been copied by the time that the processor is free."""
        done, self._done = self._done, None
        assert done is not None
        done(self._transport.cpu.free)

    def _emptied(self, done: Done) -> None:
        """The buffer is free; a message of which this was the last part has arrived."""
        transport, coming = self._transport, self._coming
        assert coming is not None
        self._whole = False
        self._coming = None
        message = coming.message
        payload = self.buffer.read(0, coming.size)
        transport.port.memory.write(message.offset + coming.start, payload, message.source)
        message.copied += coming.size
        transport.parts_received += 1
        if message.copied == message.nbytes:
            del self._messages[message.source, message.slot, message.is_reply]
            transport.deliver(message.stream, message.source, message.slot, message.is_reply)
        rendezvous = transport.smp.rendezvous
        rendezvous.emptied(transport.rank)
        if rendezvous.grantable:
            transport.smp.tell()
        done(transport.kernel.now)
