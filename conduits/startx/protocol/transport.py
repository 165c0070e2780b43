"""One rank's end of the network: requests in low priority, replies in high, long payloads by RDMA.

Why it cannot deadlock: before a request is sent its requester holds two things.  One is a request slot, which
reserves room for the largest reply in the high-priority receive queue of its NIU (`StartXOptions` checks
that the slots of a host fit there).  The other is room in the low-priority transmit queue, so that a send
never waits for another rank's poll while it holds the processor.  So high-priority messages always find
room, and a rank that waits for a slot or for transmit room polls.

A poll looks at the NIU.  It loads packets for whomever they are, puts those of other ranks of the host
into their inboxes, gives grants, and then handles this rank's messages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from conduit.contract import LONG, REQUEST, Message, Unhandled
from conduit.sim import Memory
from conduit.simnet import SimulatedPort, Transport
from conduit.simnet.chain import Chain, Done, Steps
from conduit.simnet.transport import LATER, Then
from conduits.startx import constants as c
from conduits.startx import wire
from conduits.startx.driver import HIGH, LOCK_PS, LOW, POLL_PS, SpinLock, StartXProcess, tag_of
from conduits.startx.protocol.rendezvous import TransferRequest
from conduits.startx.protocol.sending import PacketSend
from conduits.startx.protocol.smp import Smp, StartXConfig
from conduits.startx.protocol.transfers import BOOK_PS, OutgoingRdma, RdmaChannel, Reception

BUILD_PS, DISPATCH_PS, FILE_PS = c.ps(c.BUILD), c.ps(c.DISPATCH), c.ps(c.FILE)
LOADS = 64  # packets that one pass loads; assumed: a pass must end even where packets for other ranks keep coming


class StartXTransport(Transport):
    """One rank's end.

    Args:
        port: the rank's port.
        smp: the host's shared memory.
        config: job and options.
    """

    miss_ps = POLL_PS

    __slots__ = (
        "_area_bytes", "_areas", "_built", "_crossover", "_cut_short", "_finds", "_first", "_free", "_hosts", "_inbox",
        "_loads", "_missing", "_outstanding", "_post", "_ranks", "_reception", "_replies", "_requests", "_send",
        "config", "cpu", "driver", "kernel", "local", "niu", "packets_filed", "packets_loaded", "packets_sent",
        "parts_received", "parts_sent", "rank", "smp", "uncopied",
    )  # fmt: skip

    def __init__(self, port: SimulatedPort, smp: Smp, config: StartXConfig) -> None:
        super().__init__(port)
        self.config = config
        self.rank = port.rank
        self.cpu = port.cpu
        self.kernel = port.kernel
        self.smp = smp
        self.niu = smp.niu
        self.local = len(smp.transports)
        self._first = config.cluster.first
        self._hosts = config.cluster.hosts
        self._ranks = len(config.cluster.hosts)
        self._crossover = config.crossover
        self.driver = smp.join(self)
        self.uncopied: dict[Message, OutgoingRdma] = {}
        """Long requests whose payload is still the program's."""
        self.packets_sent = self.packets_loaded = self.packets_filed = self.parts_sent = self.parts_received = 0
        self._free = list(range(config.slots - 1, -1, -1))
        self._outstanding: dict[int, int] = {}
        self._inbox: deque[Message] = deque()
        self._post = PacketSend(self)
        self._built: tuple[int, int, int, Message, Then] | None = None  # what is about to be sent
        self._send = self._send_message  # made once, since every message needs it
        # Where messages of several packets are put together: for each slot of each requester, and for replies.
        self._area_bytes = wire.HEAD_BYTES + wire.MORE_BYTES * (config.packets - 1)
        self._areas = Memory((self._ranks + 1) * config.slots * self._area_bytes, self._area_bytes)
        self._missing: dict[int, tuple[int, int]] = {}  # by area: packets that have come, packets that it takes
        self._requests, self._replies = RdmaChannel(self, 0), RdmaChannel(self, 1)
        self._reception = Reception(self)
        self._loads = LOADS  # packets that this pass may still load
        self._finds = False  # whether this pass loads packets, and has not looked yet whether there are more
        self._cut_short = False

    def tag(self, dest: int, slot: int, is_reply: int, kind: int) -> int:
        """Return the software's header word of a packet to rank `dest`."""
        local = dest - self._first[self._hosts[dest]]
        return wire.tag(self.rank, slot, is_reply, kind, local)

    # -- sending -------------------------------------------------------------------------------

    def acquire(self, dest: int) -> int | None:
        """Take a request slot, and room for the packets of the largest request."""
        if not self._free or not self.smp.reserve(self, self.config.packets):
            return None
        slot = self._free.pop()
        self._outstanding[slot] = dest
        return slot

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send in low priority."""
        self.cpu.free += BUILD_PS
        if message.word & LONG and message.nbytes > self._crossover:
            Chain(self.kernel, self.cpu, self._requests.send(OutgoingRdma(message, dest, slot)), then)
        else:
            self._built = LOW, dest, slot, message, then
            self.kernel.soon(self.cpu.free, self._send)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send in high priority, for which the requester has set a place aside."""
        self.cpu.free += BUILD_PS
        if reply.word & LONG and reply.nbytes > self._crossover:
            Chain(self.kernel, self.cpu, self._replies.send(OutgoingRdma(reply, request.source, request.slot)), then)
        else:
            self._built = HIGH, request.source, request.slot, reply, then
            self.kernel.soon(self.cpu.free, self._send)

    def _send_message(self) -> None:
        """Send what has been built by now; a rank is in one send at a time."""
        assert self._built is not None
        priority, dest, slot, message, then = self._built
        packets = self._cut(dest, slot, int(priority == HIGH), message)
        if priority == LOW:
            self.smp.give_back(self.config.packets - len(packets))
        self._post.begin(priority, self._hosts[dest], packets, then)

    def _cut(self, dest: int, slot: int, is_reply: int, message: Message) -> list[tuple[int, bytes]]:
        """Return the packets of a message that goes without RDMA."""
        stream = wire.head(message)
        head = self.tag(dest, slot, is_reply, wire.HEAD)
        if not message.nbytes:
            return [(head, stream)]  # in one packet, and in whole words
        stream += message.payload
        if len(stream) <= wire.HEAD_BYTES:
            return [(head, wire.padded(stream))]
        more = self.tag(dest, slot, is_reply, wire.MORE)
        return [(more if index else head, payload) for index, payload in enumerate(wire.cut(stream))]

    # -- polling -------------------------------------------------------------------------------

    def begin_pass(self) -> None:
        """Begin a pass, which loads a limited number of packets.

        A status read that finds a packet is part of the cost to receive it (Table 1).  Only the last one, which finds
        none, costs POLL_PS extra.  The port has charged the first: that is taken back here; `take` charges the last.
        """
        if self.niu.high or self.niu.low:
            self._finds = True
            self.cpu.free -= POLL_PS

    def take(self) -> Message | None:
        """Return the next message of this rank's inbox; load packets until there is one, then do what is due."""
        niu = self.niu
        inbox = self._inbox
        while not inbox and (niu.high or niu.low):
            if not self._loads:
                self._cut_short = True
                break
            self._loads -= 1
            if self.smp.lock is not None:
                Chain(self.kernel, self.cpu, self._load_shared(), self.port.resume_pass)
                return LATER
            self._file(self._load(self.cpu.free))
        if inbox:
            return self._take_in(inbox.popleft())
        if self._finds:
            self._finds = False
            if not self._cut_short:
                self.cpu.free += POLL_PS
        return self._next_duty()

    def end_pass(self) -> None:
        """Poll again where packets were left; one that was full has looked no further."""
        self._loads = LOADS
        self._finds = False
        if self._cut_short:
            self._cut_short = False
            self.port.notify()

    def _load_shared(self) -> Steps:
        """The NIU is shared: load a packet under its lock, if it is still there."""
        packet = yield self._look
        if packet is None:
            return
        self.cpu.free += FILE_PS
        tag = tag_of(packet)
        if tag >> 27 == self.local and not wire.asks(tag, packet):
            self._file(packet)
        else:  # others see it, so it happens when it does
            yield partial(self._file_for_others, packet)

    def _look(self, done: Done) -> None:
        lock = self.smp.lock
        assert lock is not None
        if self.niu.high or self.niu.low:
            lock.take(partial(self._locked, lock, done))
        else:
            done(self.kernel.now)

    def _locked(self, lock: SpinLock, done: Done) -> None:
        """The lock is this process's: load a packet, unless another process was faster."""
        self.cpu.free = self.kernel.now + LOCK_PS
        packet = self._load(self.cpu.free) if self.niu.high or self.niu.low else None
        lock.leave(self.cpu.free)
        done(self.cpu.free, packet)

    def _load(self, begin: int) -> bytes:
        """Load the next packet, of high priority first, beginning at `begin`."""
        packet, took = self.driver.receive(HIGH if self.niu.high else LOW, begin)
        self.cpu.free = begin + took
        self.packets_loaded += 1
        return packet

    def _file_for_others(self, packet: bytes, done: Done) -> None:
        self.packets_filed += tag_of(packet) >> 27 != self.local
        self._file(packet)
        done(self.kernel.now)

    def _file(self, packet: bytes) -> None:
        """Put a packet into the inbox of the rank that it is for."""
        tag = tag_of(packet)
        transport = self.smp.transports[tag >> 27]
        transport.put(packet, tag)
        if transport is not self:
            transport.port.notify()

    def put(self, packet: bytes, tag: int) -> None:
        """Take a packet for this rank, whichever process has loaded it."""
        message = wire.short(packet)
        if message is not None:
            self._inbox.append(message)
            return
        payload, source, slot, is_reply, kind = packet[8:], tag & 0xFFFF, tag >> 16 & 255, tag >> 24 & 1, tag >> 25 & 3
        if kind == wire.HEAD and wire.stream_packets(payload) == 1:
            if wire.goes_by_rdma(payload):
                self._reception.head(payload, source, slot, is_reply)
            else:
                self.deliver(payload, source, slot, is_reply)
        elif kind == wire.ASK:
            self._reception.ask(payload, source, slot, is_reply)
        else:
            self._put_together(payload, source, slot, is_reply, kind)

    def _put_together(self, payload: bytes, source: int, slot: int, is_reply: int, kind: int) -> None:
        """Store a packet of several in the area of its message, which is whole when all have come."""
        area = (self._ranks if is_reply else source) * self.config.slots + slot
        came, needed = self._missing.get(area, (0, 0))
        start = area * self._area_bytes
        if kind == wire.HEAD:
            needed = wire.stream_packets(payload)
            self._areas.write(start, payload)
        else:
            at = wire.place(payload)
            self._areas.write(start + at, payload[4:])
        came += 1
        if came == needed:
            del self._missing[area]
            self.deliver(self._areas.read(start, self._area_bytes), source, slot, is_reply)
        else:
            self._missing[area] = (came, needed)

    def deliver(self, stream: bytes, source: int, slot: int, is_reply: int) -> None:
        """Take a whole message; one that came by RDMA has its payload in the segment."""
        self._inbox.append(wire.message(stream, source, slot, is_reply))

    def _take_in(self, message: Message) -> Message:
        """Return the next message of the inbox, with a long payload in the segment; a reply frees its slot."""
        self.cpu.free += DISPATCH_PS
        if message.payload and message.word & LONG:
            self.cpu.free += self.config.cluster.host.copy_ticks(message.nbytes)
            self.port.memory.write(message.offset, message.payload)
            message.payload = b""
        if not message.word & REQUEST:
            del self._outstanding[message.slot]
            self._free.append(message.slot)
        return message

    # -- rendezvous ----------------------------------------------------------------------------

    def _next_duty(self) -> Message | None:
        """Do the next thing that is due besides messages, as a chain; None if nothing is."""
        if self.smp.rendezvous.grantable:
            steps = self._grant()
        elif self._replies.due:
            steps = self._replies.send_part()
        elif self._requests.due and self.smp.reserve(self, 1):
            steps = self._requests.send_part()
        elif self._reception.due:
            steps = self._reception.empty()
        else:
            return None
        Chain(self.kernel, self.cpu, steps, self.port.resume_pass)
        return LATER

    def _grant(self) -> Steps:
        """Give the next grant, to whichever rank of this host it is with."""
        request = yield self._book
        if request is not None:
            yield Granting(self, request).grant

    def _book(self, done: Done) -> None:
        """Take the next request; another process may have been faster."""
        now, request = self.kernel.now, self.smp.rendezvous.grant()
        done(now if request is None else now + BOOK_PS, request)

    def open(self, request: TransferRequest, source: int, by: StartXProcess, after: int) -> int:
        """Open the engine for what this rank has been granted; return how long the grant takes process `by`."""
        reception = self._reception
        reception.granted(request)
        return by.accept(
            source, request.channel, reception.buffer, request.nbytes, reception.landed, reception.whole, after
        )

    # -- reports -------------------------------------------------------------------------------

    def slots_in_use(self) -> list[str]:
        """Describe the slots in use and the long payloads that wait."""
        lines = []
        if self._outstanding:
            ranks = sorted(set(self._outstanding.values()))
            whom = f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
            lines.append(f"{len(self._outstanding)} of {self.config.slots} request slots, to {whom}")
        for channel, name in ((self._requests, "requests"), (self._replies, "replies")):
            if channel.queue:
                lines.append(f"{len(channel.queue)} long {name} that wait for their RDMA")
        return lines

    def slot_holders(self, dest: int) -> tuple[int, ...]:
        """Return the ranks that have this rank's requests."""
        return tuple(sorted(set(self._outstanding.values()))) or (dest,)

    def undelivered(self) -> int:
        """Return how many messages have arrived, in the inbox or still in the NIU."""
        return len(self.unhandled())

    def unhandled(self) -> list[Unhandled]:
        """Return what these messages are, by their heads."""
        found = [Unhandled(message.source, message.word) for message in self._inbox]
        for packet in (*self.niu.high, *self.niu.low):
            tag = tag_of(packet)
            if tag >> 27 == self.local and tag >> 25 & 3 == wire.HEAD:
                found.append(Unhandled(tag & 0xFFFF, wire.word_of(packet[8:12], tag >> 24 & 1)))
        return found

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the transport."""
        return {
            "startx_packets_sent": self.packets_sent,
            "startx_packets_loaded": self.packets_loaded,
            "startx_packets_filed": self.packets_filed,
            "startx_rdma_parts_sent": self.parts_sent,
            "startx_rdma_parts_received": self.parts_received,
        }


class Granting(PacketSend):
    """The grant of a rendezvous, stored by the process that polls.

    Args:
        transport: of the process that stores it.
        request: what is granted.
    """

    __slots__ = ("_receiver", "_request", "_to")

    def __init__(self, transport: StartXTransport, request: TransferRequest) -> None:
        super().__init__(transport)
        self._receiver = transport.smp.transports[request.target - transport.config.cluster.first[transport.port.host]]
        self._request = request
        self._to = transport.port.hosts[request.source]

    def grant(self, done: Done) -> None:
        """Store the grant, as an act of a chain."""
        cpu = self._transport.cpu

        def over() -> None:
            del self._then  # what ends a chain holds it, and the chain holds its last act, which is of this
            done(cpu.free)

        self.begin(HIGH, self._to, [(0, b"")], over)

    def store(self, tag: int, payload: bytes, after: int) -> int:
        """Open the engine and store the grant."""
        transport = self._transport
        transport.packets_sent += 1
        return self._receiver.open(self._request, self._target, transport.driver, after)
