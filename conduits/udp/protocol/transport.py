"""One rank's end of the network: Active Messages in datagrams that may be lost, duplicated or overtaken.

To each other rank two streams lead, of requests and of replies, each with a window and a timer of its own: so a reply
never waits behind requests.  Acknowledgements are piggybacked on every datagram the other way.  Without any, one is
sent by itself, after a delay or when half a window has come.  A message is handed over when all its parts are there,
whatever comes before it in its stream.

All of this is done by the rank itself, in its polls (rule P1): a rank that does not poll sends nothing again and
acknowledges nothing.  What a poll pass has to do without a message is `work`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs

from conduit.contract import Message, Unhandled
from conduit.errors import NetworkError
from conduit.sim.timer import Timer
from conduit.simnet import SimulatedPort, header
from conduit.simnet.chain import Act, Chain, Done, Steps
from conduit.simnet.tending import TransportWithWork
from conduit.simnet.transport import LATER, Then
from conduits.udp import constants as c
from conduits.udp import wire
from conduits.udp.driver import POLL_PS, Socket
from conduits.udp.machine import UdpCluster
from conduits.udp.protocol.parts import Fragmentation, Reassembly
from conduits.udp.protocol.peers import DatagramStream, UdpPeer

_BUILD_PS = c.ps(c.BUILD)
_DISPATCH_PS = c.ps(c.DISPATCH)
_BOOK_PS = c.ps(c.BOOK)
COUNTS = (
    "udp_retransmissions",  # datagrams sent again
    "udp_duplicates",  # datagrams that had arrived before
    "udp_acknowledgements",  # datagrams that carried nothing else
)


@attrs.frozen(kw_only=True)
class UdpConfig:
    """What all ranks of a job have in common.

    Attributes:
        cluster: the machine.
        transports: returns a rank's end.
        slots: outstanding requests from one rank to another.
        window: datagrams of a stream without acknowledgement.
        rto: picoseconds until one is sent again.
        delay: picoseconds that an acknowledgement waits for company.
        tries: how often a datagram is sent.
    """

    cluster: UdpCluster
    transports: Callable[[int], UdpTransport]
    slots: int
    window: int
    rto: int
    delay: int
    tries: int


class UdpTransport(TransportWithWork):
    """One rank's end.

    Args:
        port: the rank's port.
        config: job and options.
    """

    def __init__(self, port: SimulatedPort, config: UdpConfig) -> None:
        super().__init__(port)
        self.rank = port.rank
        self.kernel = port.kernel
        self.cpu = port.cpu
        self.config = config
        self.miss_ps = POLL_PS
        self.socket: Socket = config.cluster.socket(port.rank)
        self.socket.interrupt = port.interrupt
        self.socket.arrived = port.notify
        self.counts = dict.fromkeys(COUNTS, 0)
        self.peers: dict[int, UdpPeer] = {}
        self._streams: dict[DatagramStream, None] = {}  # that have something to send
        self._owing: dict[UdpPeer, None] = {}  # that must get an acknowledgement now
        self._closed = False

    def peer(self, rank: int) -> UdpPeer:
        """Return what is kept of a rank, which is set up before the first datagram to it or from it."""
        found = self.peers.get(rank)
        if found is None:
            config = self.config
            found = self.peers[rank] = UdpPeer(
                rank, config.cluster.socket(rank), config.slots, config.window, config.rto,
                self._stream_timer, self._acknowledgement_timer,
            )  # fmt: skip
        return found

    # -- timers --------------------------------------------------------------------------------

    def _stream_timer(self, stream: DatagramStream) -> Timer:
        return Timer(self.kernel, partial(self._is_due, self._streams, stream), partial(self._helps, stream))

    def _acknowledgement_timer(self, peer: UdpPeer) -> Timer:
        return Timer(self.kernel, partial(self._is_due, self._owing, peer), self._polls)

    def _is_due(self, list_: dict[Any, None], what: DatagramStream | UdpPeer) -> None:
        """Let the next poll pass send what is due."""
        list_[what] = None
        self.request_work()

    def _polls(self) -> bool:
        """Return whether the rank would notice that a timer has gone off, where nothing else happens any more."""
        return bool(self.port.waits())

    def _helps(self, stream: DatagramStream) -> bool:
        """Return whether sending again what is due may bring anything about, where nothing is under way."""
        there = self.config.transports(stream.peer.rank)
        return self._polls() and any(there.lacks(self.rank, stream, number) for number in stream.window.outstanding)

    def lacks(self, source: int, stream: DatagramStream, number: int) -> bool:
        """Return whether a datagram of a stream to this rank would change anything if it came once more.

        Not where it waits in the socket's buffer, or the buffer is full: then this rank must poll.  Nor where an
        acknowledgement of it is about to be sent.
        """
        buffer = self.socket.buffer
        if buffer.used + len(self._bytes(stream, number)) > buffer.room:
            return False
        peer = self.peers.get(source)
        if peer is not None and peer.unacknowledged and peer.received[bool(stream.flags & wire.REPLY)].has(number):
            return False
        waiting = (wire.unpack(each) for each in buffer)
        return not any((each.source, each.flags, each.number) == (source, stream.flags, number) for each in waiting)

    def close(self) -> None:
        """Stop all timers: there is nothing left that has not arrived."""
        self._closed = True
        for peer in self.peers.values():
            peer.close()

    # -- sending -------------------------------------------------------------------------------

    def acquire(self, dest: int) -> int | None:
        """Take one of the slots to `dest`; its reply has a slot there, and a stream of its own."""
        free = self.peer(dest).free
        return free.pop() if free else None

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send as many parts of the request as the window has room for; the rest goes in later passes."""
        self._send(self.peer(dest).requests, slot, message, then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send the reply in the stream of replies."""
        self._send(self.peer(request.source).replies, request.slot, reply, then)

    def _send(self, stream: DatagramStream, slot: int, message: Message, then: Then) -> None:
        self.cpu.charge(_BUILD_PS)
        stream.backlog.append(Fragmentation(message, slot))
        Chain(self.kernel, self.cpu, self._send_parts(stream), then)

    def _send_parts(self, stream: DatagramStream) -> Steps:
        """Send what the window has room for."""
        while stream.may_send():
            outgoing = stream.backlog[0]
            at, part = outgoing.cut()
            if outgoing.at == outgoing.size:
                stream.backlog.popleft()
            number = stream.window.send((outgoing.slot, at, outgoing.size, part), self.cpu.now())
            yield self._sending(stream.peer, self._bytes(stream, number))
        stream.restart_timer()

    def _send_again(self, stream: DatagramStream) -> Steps:
        """Send again what is due."""
        for number in stream.window.due(self.kernel.now):
            if number not in stream.window.outstanding:
                continue
            if stream.window.again(number, self.cpu.now()).tries > self.config.tries:
                self.port.fail(
                    NetworkError(
                        f"nothing gets from rank {self.rank} to rank {stream.peer.rank} and back: a datagram was sent "
                        f"{self.config.tries} times without an acknowledgement"
                    )
                )
                return
            self.counts["udp_retransmissions"] += 1
            yield self._sending(stream.peer, self._bytes(stream, number))

    def _bytes(self, stream: DatagramStream, number: int) -> bytes:
        """Return a datagram, with the acknowledgements of now."""
        what: Any = stream.window.outstanding[number].what
        slot, at, size, part = what
        return self._datagram(stream.peer, stream.flags, slot, number, at, size, part)

    def _datagram(
        self,
        peer: UdpPeer,
        flags: int = 0,
        slot: int = 0,
        number: int = 0,
        at: int = 0,
        size: int = 0,
        part: bytes = b"",
    ) -> bytes:
        requests, replies = (each.told() for each in peer.received)
        return wire.pack(wire.Datagram(self.rank, flags, slot, number, at, size, requests, replies, part))

    def _sending(self, peer: UdpPeer, datagram: bytes) -> Act:
        """Spend the CPU's time on sending a datagram, which acknowledges all that has come; return the act."""
        peer.unacknowledged = 0
        peer.acknowledge.stop()
        self._owing.pop(peer, None)
        self.cpu.charge(_BOOK_PS + self.socket.send_ps(len(datagram)))
        return partial(self._send_datagram, peer, datagram)

    def _send_datagram(self, peer: UdpPeer, datagram: bytes, done: Done) -> None:
        self.socket.send(peer.socket, datagram)
        done(self.kernel.now)

    def work(self) -> Steps:
        """Send again what is due, parts for which a window has room now, and acknowledgements that cannot wait."""
        self.work_due = False
        while self._streams:
            stream = next(iter(self._streams))
            del self._streams[stream]
            yield from self._send_again(stream)
            yield from self._send_parts(stream)
        while self._owing:
            peer = next(iter(self._owing))
            self.counts["udp_acknowledgements"] += 1
            yield self._sending(peer, self._datagram(peer))

    # -- polling -------------------------------------------------------------------------------

    def take(self) -> Message | None:
        """Send what is due; else take a datagram, and hand over the message that it completes."""
        if self.work_due:
            return self.begin_work()
        datagram = self.socket.receive()
        if datagram is None:
            return None
        self.cpu.charge(_BOOK_PS + self.socket.receive_ps(len(datagram)))
        message = self._arrived(wire.unpack(datagram))
        if message is None:
            self.kernel.call(self.cpu.free, self.port.resume_pass)
            return LATER
        self.cpu.charge(_DISPATCH_PS)
        return message

    def _arrived(self, datagram: wire.Datagram) -> Message | None:
        """Take note of a datagram; return the message that it completes, None if it completes none."""
        peer = self.peer(datagram.source)
        for stream, told in zip(peer.streams, (datagram.requests, datagram.replies), strict=True):
            if stream.window.acknowledge(told):
                self._acknowledged(stream)
        if not datagram.flags & wire.DATA:
            return None
        is_reply = bool(datagram.flags & wire.REPLY)
        if not peer.received[is_reply].accept(datagram.number):
            self.counts["udp_duplicates"] += 1
            self._owe(peer, at_once=True)  # what told the sender may have been lost
            return None
        self._owe(peer)
        key = is_reply, datagram.slot
        incoming = peer.arriving.get(key)
        if incoming is None:
            incoming = peer.arriving[key] = Reassembly(self.port.memory)
        if not incoming.add(datagram.at, datagram.part, datagram.size, datagram.source, datagram.slot):
            return None
        del peer.arriving[key]
        if is_reply:
            peer.free.append(datagram.slot)  # request and reply are over
        return incoming.message

    def _acknowledged(self, stream: DatagramStream) -> None:
        """Something of a stream has got there: what is due next, and what may leave now?"""
        if not self._closed:
            stream.restart_timer()
        if stream.may_send():
            self._streams[stream] = None
            self.work_due = True

    def _owe(self, peer: UdpPeer, *, at_once: bool = False) -> None:
        """Acknowledge what has come with the next datagram to there, or after a time alone."""
        peer.unacknowledged += 1
        if at_once or 2 * peer.unacknowledged >= self.config.window:
            self._owing[peer] = None
            self.work_due = True
        elif peer.acknowledge.when is None and not self._closed:
            peer.acknowledge.start(self.cpu.now() + self.config.delay)

    # -- reports -------------------------------------------------------------------------------

    def slots_in_use(self) -> list[str]:
        """Describe the slots in use, and what waits for an acknowledgement."""
        lines = []
        for peer in self.peers.values():
            used = peer.slots - len(peer.free)
            if used:
                lines.append(f"{used} of {peer.slots} request slots to rank {peer.rank} in use")
            for what, stream in (("requests", peer.requests), ("replies", peer.replies)):
                if stream.backlog:
                    lines.append(
                        f"{len(stream.backlog)} {what} to rank {peer.rank} wait until "
                        f"{len(stream.window.outstanding)} datagrams are acknowledged"
                    )
        return lines

    def undelivered(self) -> int:
        """Return how many messages have parts in the socket's buffer that have not been seen before."""
        return len(self._words())

    def unhandled(self) -> list[Unhandled]:
        """Return what these are, where the header has come."""
        return [Unhandled(source, word) for (source, _, _), word in self._words().items() if word is not None]

    def _words(self) -> dict[tuple[int, bool, int], int | None]:
        """Return the words of messages with new parts in the socket's buffer, by rank, reply or not, and slot."""
        found: dict[tuple[int, bool, int], int | None] = {}
        for each in self.socket.buffer:
            datagram = wire.unpack(each)
            reply = bool(datagram.flags & wire.REPLY)
            peer = self.peers.get(datagram.source)
            if not datagram.flags & wire.DATA or (peer is not None and peer.received[reply].has(datagram.number)):
                continue
            key = datagram.source, reply, datagram.slot
            if not datagram.at:
                found[key] = header.word_of(datagram.part)
            elif key not in found:
                arriving = None if peer is None else peer.arriving.get(key[1:])
                begun = None if arriving is None else arriving.message
                found[key] = None if begun is None else begun.word
        return found

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the transport."""
        socket = self.socket
        return {
            "udp_datagrams_sent": socket.sent,
            "udp_datagrams_received": socket.received,
            **self.counts,
            "udp_socket_drops": socket.buffer.dropped,
        }
