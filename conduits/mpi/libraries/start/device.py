"""How MPI-StarT moves the messages of a rank.

Between SMPs a short message is eager: a control message with the data.  A longer one is a rendezvous: a control message
without data (request to send), the receiver's answer when it has found the receive (ok to send), and the data by
RDMA.  Control messages are cut into packets that processors store and load, all of low priority, since packets of high
priority would stop the RDMA engine.

A receiver keeps a bounded number of bytes of each sender's eager data.  Beyond that a short message is a rendezvous
too, with its data in a control message.  So envelopes always get through, and what a receiver keeps is bounded but
for these.

A poll loads the packets that are in the NIU, for whichever process of its SMP they are, and files those of others.
Else a process that computes would block the queue for all.

Within an SMP messages go through rings and buffers in its memory.

Source: the paper, sections 3 and 4.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import attrs

from conduit.sim.memory import Buffer
from conduit.simnet.chain import Done, Steps
from conduits.mpi.engine.device import BEGIN, MORE, NOTHING, Device, IncomingMessage, Matching, UntakenMessage
from conduits.mpi.engine.transfer import Mode, Receive, Send
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingDevice
from conduits.mpi.libraries.start import wire
from conduits.mpi.libraries.start.peer import ControlPeer
from conduits.mpi.libraries.start.smp import SmpMemory
from conduits.mpi.libraries.start.transfers import RdmaMessage, RdmaReceiving, RdmaSending
from conduits.mpi.libraries.start.wire import ControlHeader
from conduits.startx.driver import LOCK_PS, LOW, POLL_PS, StartXProcess, tag_of

_STANDARD = Mode.STANDARD


@attrs.frozen
class StartConfig:
    """What a device needs to know of the job and its options.

    Attributes:
        places: of every rank, which of its host's it is.
        crossover: bytes of the largest control message.
        pool: bytes that a rank keeps of one sender.
        layers_ps: making a control message, and taking one.
        file_ps: filing a packet for another process.
        line_ps: bringing a line of a filed packet to the processor that it is for.
        right_ps: an entry in the list of rights.
        rest_ps: for how long a process leaves the engine to others.
        miss_ps: a poll, beside the look at the NIU.
    """

    places: tuple[int, ...]
    crossover: int
    pool: int
    layers_ps: int
    file_ps: int
    line_ps: int
    right_ps: int
    rest_ps: int
    miss_ps: int


class PacketRun:
    """A control message whose packets wait to be stored.

    Args:
        host: where to.
        tag: their header word.
        payloads: of each.
        send: what is sent with the last one.
    """

    __slots__ = ("host", "payloads", "send", "stored", "tag")

    def __init__(self, host: int, tag: int, payloads: Sequence[bytes], send: Send | None = None) -> None:
        self.host = host
        self.tag = tag
        self.payloads = payloads
        self.send = send
        self.stored = 0

    @property
    def next(self) -> tuple[int, bytes]:
        """Header word and payload of the next packet."""
        first = 0 if self.stored or self.tag & wire.ASK else wire.FIRST
        return self.tag | first, self.payloads[self.stored]


class StartDevice(Device):
    """One rank's end of MPI-StarT.

    Args:
        engine: the rank's.
        config: job and options.
        smp: what the processes of its host share.
        memory: what copies on the host pass through.
        rings: how messages to ranks of its host travel.
        driver: the rank's use of the NIU.
    """

    def __init__(
        self,
        engine: Matching,
        config: StartConfig,
        smp: SmpMemory,
        memory: HostMemory,
        rings: RingDevice,
        driver: StartXProcess,
    ) -> None:
        super().__init__(engine)
        self._config = config
        self._smp = smp
        self._niu = smp.niu
        self._lock = smp.lock
        self._memory = memory
        self._rings = rings
        self._driver = driver
        self._host = engine.hosts[engine.rank]
        self._local = config.places[engine.rank]
        self._inbox = smp.inboxes[self._local]
        self._peers: dict[int, ControlPeer] = {}
        self._out: deque[PacketRun] = deque()
        self._storing = False  # whether steps that store them have been begun
        self._full = False  # whether the transmit queue had no room when it was last looked at
        self._sends: dict[int, Send] = {}  # that an answer will name
        self._receives: dict[int, Receive] = {}
        self._sending = RdmaSending(engine, smp, memory, driver, self._ask, config.right_ps)
        self._receiving = RdmaReceiving(engine, smp, memory, driver, self._receives, config.right_ps, config.rest_ps)
        self._turn = False  # whether the host's own messages are next: neither rings nor network may starve the other
        self._finds = False  # whether this poll has found a packet in its first look
        self._counts = {"control": 0, "rendezvous": 0, "answers": 0, "packets": 0, "loaded": 0, "filed": 0}
        self._at_once = min(config.crossover, wire.ROOM - wire.HEADER)  # bytes of a message in one packet
        self.eager_limit = config.pool
        self.miss_ps = config.miss_ps + POLL_PS
        smp.join(self)

    # -- conduits.mpi.engine.device.Device -----------------------------------------------------------

    def begin_pass(self) -> None:
        """The look that finds a packet is part of loading it, so it is not charged a second time."""
        if self._smp.loadable(self._local):
            self._finds = True
            self.engine.cpu.free -= POLL_PS

    def end_pass(self) -> None:
        """Charge the last look, which finds nothing, where the first one has found a packet."""
        if self._finds:
            self._finds = False
            if not self._niu.low:
                self.engine.cpu.free += POLL_PS

    def send_now(self, dest: int, context: int, source: int, tag: int, data: memoryview, number: int) -> bool:
        """Store a short message that fits one packet, where nothing is in its way and the NIU is this rank's alone."""
        peer, nbytes = self._peers.get(dest), len(data)
        if (
            peer is None or nbytes > self._at_once or self._out or self._storing or self._lock is not None
            or nbytes > peer.unused(self._config.pool) or not self._driver.room(LOW)
        ):  # fmt: skip
            return False
        engine = self.engine
        cpu = engine.cpu
        when = cpu.free + self._config.layers_ps
        if not engine.kernel.advance(when):
            return False
        cpu.free = when
        peer.sent += nbytes
        counts = self._counts
        counts["control"] += 1
        counts["packets"] += 1
        payload = peer.cut_one(wire.INLINE, _STANDARD, source, context, tag, bytes(data), number)
        engine.worker.store_now(self._store_packet, dest, payload)
        return True

    def _store_packet(self, dest: int, payload: Buffer, _: Done) -> int:
        """Store a packet that is a whole control message, now; return when that is over."""
        peer = self._peers[dest]
        return self.engine.kernel.now + self._driver.send(LOW, peer.host, peer.tag | wire.FIRST, bytes(payload))

    def send(self, send: Send) -> None:
        """Begin a send, behind those to the same rank."""
        if self.engine.hosts[send.dest] == self._host:
            self._rings.send(send)
            return
        peer, nbytes, kind = self._peer(send.dest), len(send.data), wire.REQUEST
        if nbytes <= self._config.crossover and nbytes <= peer.unused(self._config.pool):
            kind = wire.INLINE
            peer.sent += nbytes
        self._counts["control" if kind == wire.INLINE else "rendezvous"] += 1
        if kind == wire.REQUEST or send.mode == Mode.SYNCHRONOUS:
            self._sends[send.number] = send
        header = ControlHeader(kind, send.mode, send.source, send.context, send.tag, nbytes, send.number, 0)
        if kind == wire.INLINE:
            self._post(peer, header, bytes(send.data), send)
        else:
            self._post(peer, header)

    def pending(self) -> bool:
        """Return whether there is a packet to load or to store, a transfer to begin, or anything of the host's own."""
        return self._rings.pending() or self._due() is not None

    def progress(self, most: int = 1) -> int:
        """Do one thing, something of the host's own and of the network's by turns."""
        on_host, network = self._rings.pending(), self._due()
        if network is None and not on_host:
            return NOTHING
        self._turn = not self._turn
        if network is None or (on_host and self._turn):
            self._rings.progress()
        else:
            network()
        return MORE

    def quiet(self) -> bool:
        """Return whether no control message waits to be stored and no transfer to leave."""
        return not self._out and self._sending.quiet and self._rings.quiet()

    def untaken(self) -> list[UntakenMessage]:
        """Return the messages in the rings, the inbox and the NIU."""
        packets = [self._inbox.peek(place) for place in range(self._inbox.held)] + list(self._niu.low)
        found = self._rings.untaken()
        for packet in packets:
            tag = tag_of(packet)
            if wire.local_in(packet) == self._local and tag & wire.FIRST:
                part = wire.part_of(packet[8:])
                header = wire.unpack(part)
                if header.kind in wire.MESSAGES:
                    begin = part[wire.HEADER : header.size][:BEGIN]
                    found.append(UntakenMessage(wire.source_of(tag), header.context, begin))
        return found

    def slots_in_use(self) -> Sequence[str]:
        """Describe what waits for room, and for the right to send by RDMA."""
        lines = list(self._rings.slots_in_use())
        if self._out:
            lines.append(f"{len(self._out)} control messages wait for room in the transmit queue")
        return [*lines, *self._sending.slots_in_use()]

    def statistics(self) -> Mapping[str, int]:
        """Return how many messages went in which way."""
        return {
            **{f"mpi_{name}": count for name, count in self._counts.items()},
            "mpi_parts_sent": self._sending.parts,
            "mpi_parts_received": self._receiving.parts,
            "mpi_put_off": self._receiving.put_off,
            **{f"{name}_on_host": count for name, count in self._rings.statistics().items()},
        }

    # -- conduits.mpi.libraries.start.smp.SmpProcess ----------------------------------------------------

    def told(self) -> None:
        """Look again: something may have changed."""
        if self._due() is not None:
            self.engine.notify()

    def roomy(self) -> None:
        """The transmit queue has room again."""
        self._full = False
        self.engine.notify()

    def _due(self) -> Callable[[], None] | None:
        """Return what is to be done next for the network, None where there is nothing."""
        if self._out and not (self._full or self._storing):
            return self._begin_storing
        if self._inbox.held:
            return self._take_filed
        if self._smp.loadable(self._local):
            return self._load
        if self._receiving.due:
            return self._receive_more
        return self._send_more if self._sending.due else None

    def _receive_more(self) -> None:
        self.engine.worker.do(self._receiving.steps())

    def _send_more(self) -> None:
        self.engine.worker.do(self._sending.steps())

    def _peer(self, rank: int) -> ControlPeer:
        """Return what is known of `rank`."""
        found = self._peers.get(rank)
        if found is None:
            tag = wire.tag(self.engine.rank, self._config.places[rank])
            found = self._peers[rank] = ControlPeer(rank, self.engine.hosts[rank], tag)
        return found

    # -- storing packets -----------------------------------------------------------------------------

    def _post(self, peer: ControlPeer, header: ControlHeader, data: bytes = b"", send: Send | None = None) -> None:
        """Send a control message, behind the others."""
        self.engine.worker.do(self._make(PacketRun(peer.host, peer.tag, peer.cut(header, data), send)))

    def _make(self, run: PacketRun) -> Steps:
        """Take the CPU for making a control message, and store it if no other waits for room."""
        self.engine.cpu.charge(self._config.layers_ps)
        self._out.append(run)
        if not (self._full or self._storing):
            self._storing = True
            yield from self._store_all()

    def _ask(self, dest: int, receive: int, nbytes: int) -> Steps:
        """Ask rank `dest` for the right to send, behind what waits to be stored."""
        peer = self._peer(dest)
        self._out.append(PacketRun(peer.host, peer.tag | wire.ASK, (wire.ask(receive, nbytes),)))
        yield from self._store_all()

    def _begin_storing(self) -> None:
        self._storing = True
        self.engine.worker.do(self._store_all())

    def _store_all(self) -> Steps:
        """Store packets as long as there are any and there is room for them."""
        while self._out:
            if not (yield self._store):
                break
            first = self._out[0]
            if first.stored == len(first.payloads):
                self._out.popleft()
                if first.send is not None:
                    self.engine.sent(first.send)
        self._storing = False

    def _store(self, done: Done) -> None:
        """Store the next packet, as an act; its outcome is whether there was room."""
        if not self._driver.room(LOW):
            self._no_room(done)
        elif self._lock is None:
            done(self._store_now(0), True)
        else:
            self._lock.take(partial(self._store_locked, done))

    def _store_locked(self, done: Done) -> None:
        lock, now = self._lock, self.engine.kernel.now
        assert lock is not None
        if not self._driver.room(LOW):  # somebody else was faster
            lock.leave(now + LOCK_PS)
            self._no_room(done)
            return
        when = self._store_now(LOCK_PS)
        lock.leave(when)
        done(when, True)

    def _no_room(self, done: Done) -> None:
        self._full = True
        self._smp.want_room(self)
        done(self.engine.kernel.now, False)

    def _store_now(self, after: int) -> int:
        """Store the next packet, beginning `after` picoseconds from now; return when that is over."""
        first = self._out[0]
        tag, payload = first.next
        first.stored += 1
        self._counts["packets"] += 1
        return self.engine.kernel.now + after + self._driver.send(LOW, first.host, tag, payload, after)

    # -- loading packets -----------------------------------------------------------------------------

    def _load(self) -> None:
        """Load the first packet of the NIU."""
        if self._lock is not None:
            self.engine.worker.do(self._load_shared())
            return
        cpu = self.engine.cpu
        packet, took = self._smp.load(self._driver, self._local, cpu.free)
        cpu.free += took
        self._counts["loaded"] += 1
        self._take(packet)

    def _load_shared(self) -> Steps:
        """The NIU is shared: load a packet under its lock, if it is still there."""
        packet = yield self._look
        if packet is None:
            return
        if wire.local_in(packet) == self._local:
            self._take(packet)
            return
        self._counts["filed"] += 1
        self.engine.cpu.free += self._config.file_ps
        yield partial(self._file, packet)

    def _look(self, done: Done) -> None:
        assert self._lock is not None
        if self._smp.loadable(self._local):
            self._lock.take(partial(self._look_locked, done))
        else:
            done(self.engine.kernel.now)

    def _look_locked(self, done: Done) -> None:
        """The lock is this process's: load a packet, unless another process was faster."""
        lock, over = self._lock, self.engine.kernel.now + LOCK_PS
        assert lock is not None
        packet = None
        if self._smp.loadable(self._local):
            packet, took = self._smp.load(self._driver, self._local, over)
            over += took
            self._counts["loaded"] += 1
        lock.leave(over)
        done(over, packet)

    def _file(self, packet: bytes, done: Done) -> None:
        self._smp.file(packet)
        done(self.engine.kernel.now)

    def _take_filed(self) -> None:
        """Take a packet that another process has loaded."""
        engine = self.engine
        packet, was_full = self._smp.take(self._local)
        engine.cpu.free += -(-len(packet) // 64) * self._config.line_ps
        if was_full:
            engine.kernel.call(engine.cpu.now(), self._smp.tell)
        self._take(packet)

    # -- control messages ----------------------------------------------------------------------------

    def _take(self, packet: bytes) -> None:
        """Take a packet that is for this rank."""
        tag, payload = tag_of(packet), packet[8:]
        peer = self._peer(wire.source_of(tag))
        if tag & wire.ASK:
            receive, nbytes = wire.asked(payload)
            self.engine.worker.do(self._receiving.asked(peer.rank, receive, nbytes))
            return
        for header, data in peer.read(payload):
            self._take_control(peer, header, data)

    def _take_control(self, peer: ControlPeer, header: ControlHeader, data: bytes) -> None:
        engine = self.engine
        engine.charge(self._config.layers_ps)
        if header.kind in wire.MESSAGES:
            engine.arrive(_Message(self, peer, header, data))
        elif header.kind == wire.DATA:
            engine.worker.do(self._copy_data(self._receives.pop(header.context), data))
        elif header.kind == wire.MATCHED:
            engine.matched(self._sends.pop(header.send))
        elif header.kind == wire.OK:
            send = self._sends.pop(header.send)
            self._go_on(peer, send, header.context, header.nbytes)
            engine.matched(send)

    def _go_on(self, peer: ControlPeer, send: Send, receive: int, wanted: int) -> None:
        """The receive of a message was found: send what is wanted of it."""
        if not wanted:
            self.engine.sent(send)
        elif wanted <= self._config.crossover:
            header = wire.about(wire.DATA, send.number, wanted, receive)
            self._post(peer, header, bytes(send.data[:wanted]), send)
        else:
            self._sending.queue.append(RdmaMessage(send, receive, wanted))

    def _copy_data(self, receive: Receive, data: bytes) -> Steps:
        yield partial(self._memory.copy, len(data))
        receive.data[: len(data)] = data
        self.engine.received(receive)

    # -- for messages that have come -----------------------------------------------------------------

    def copy_out(self, message: _Message, receive: Receive) -> None:
        """Bring the data of a message to their place."""
        worker, room = self.engine.worker, receive.room
        if room and worker.idle:  # nearly always
            worker.act(partial(self._memory.copy, room), self._copied, message, receive)
        else:
            worker.do(self._copy_out(message, receive))

    def _copy_out(self, message: _Message, receive: Receive) -> Steps:
        if receive.room:
            yield partial(self._memory.copy, receive.room)
        self._copied(message, receive)

    def _copied(self, message: _Message, receive: Receive) -> None:
        """The time of a copy is over."""
        peer, room = message.peer, receive.room
        if room:
            receive.data[:room] = message.data[:room]
        self.engine.received(receive)
        peer.freed += message.nbytes
        if message.mode == Mode.SYNCHRONOUS:
            self._answer(peer, wire.about(wire.MATCHED, message.send))
        elif (peer.freed - peer.told) * 4 >= self._config.pool and peer.freed != peer.told:
            self._answer(peer, wire.about(wire.FREED, 0))

    def clear(self, message: _Message, receive: Receive) -> None:
        """Answer a request to send: ok to send, for this receive."""
        if receive.room:
            self._receives[receive.number] = receive
        else:
            self.engine.received(receive)
        self._answer(message.peer, wire.about(wire.OK, message.send, receive.room, receive.number))

    def _answer(self, peer: ControlPeer, header: ControlHeader) -> None:
        self._counts["answers"] += 1
        self._post(peer, header)


class _Message(IncomingMessage):
    """A message of another SMP."""

    __slots__ = ("_device", "data", "kind", "peer", "send")

    def __init__(self, device: StartDevice, peer: ControlPeer, header: ControlHeader, data: bytes) -> None:
        super().__init__(peer.rank, header.context, header.source, header.tag, header.nbytes, header.mode)
        self._device = device
        self.peer = peer
        self.kind = header.kind
        self.send = header.send
        self.data = data

    def keep(self) -> None:
        """Leave the data where they were put together."""

    def deliver(self, receive: Receive) -> None:
        """Copy the data to their place, or let the sender send them."""
        if self.kind == wire.REQUEST:
            self._device.clear(self, receive)
        else:
            self._device.copy_out(self, receive)
