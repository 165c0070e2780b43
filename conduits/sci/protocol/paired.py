"""Paired request and reply slots: the design of the conduit's paper.

A sender owns its slots at the receiver and keeps their free list itself.  Request slot i there goes
with reply slot i here, so a reply always has its place.  A message is stored into its slot. When all of it has landed
(store barrier, DMA completion), two flags are set: message-ready of the slot, then message-exist. A poll that finds
message-exist clear has cost one look. Otherwise it is cleared *first*, then the message-ready flags are swept once
around: in the other order a message that arrives during the sweep could lose its flag, and wait until another one
arrives.

Source: the conduit's paper, sections 4.1, 4.2, 5.2.
"""

from __future__ import annotations

from typing import Any

from conduit.contract import CATEGORY, CATEGORY_SHIFT, Category, Message, Unhandled
from conduit.sim import Flat, Memory
from conduit.sim.memory import RecordMemory
from conduit.simnet import SimulatedPort
from conduit.simnet.chain import Chain
from conduit.simnet.transport import Then
from conduits.sci import constants as c
from conduits.sci import wire
from conduits.sci.driver import RemoteSlot
from conduits.sci.machine import SciCluster
from conduits.sci.protocol import sends
from conduits.sci.protocol.peer import SciPeer
from conduits.sci.protocol.transport import (
    COMMAND,
    CONTROL,
    PAYLOAD,
    RECEIVE_PS,
    REPLY_PS,
    REQUEST_PS,
    SciConfig,
    SciTransport,
)
from conduits.sci.wire import HEADER_MAX, REPLY, REQUEST

_READY = wire.PairedLayout.READY
_MEDIUM = Category.MEDIUM << CATEGORY_SHIFT


class FilledSlot:
    """A slot in this rank's memory that has been used. Made once and kept, since a slot is filled again and again.

    Attributes:
        record: the bytes of the slot.
        message: what is in it; used again for each message of the slot, of which there is one at a time.
        free: the free list of the slot pair, for replies; None for a request, which frees nothing.
    """

    __slots__ = ("free", "message", "record")

    def __init__(self, record: bytearray, message: Message, free: list[int] | None) -> None:
        self.record = record
        self.message = message
        self.free = free


class PairedSlots(SciTransport):
    """One rank's end: its control and command segments, and its slots at others.

    Invariants: a slot pair to a peer is in the free list kept here, or belongs to one request that has no reply yet.
    The number of pairs never changes.  So when a request is handled its reply slot is free, and a reply never waits.
    """

    miss_ps = c.ps(c.POLL_MISS)

    def __init__(self, port: SimulatedPort, cluster: SciCluster, config: SciConfig) -> None:
        super().__init__(port, cluster, config)
        self.layout = wire.PairedLayout(config.ranks, config.slots, config.slot_payload)
        self._slots = config.slots
        self._slot_bytes = self.layout.slot_bytes
        self._scan_ps = self.layout.flags * c.ps(c.SCAN_FLAG)
        self._peers: dict[int, SciPeer] = {}
        self._arrivals: dict[int, FilledSlot] = {}
        self._flags = bytearray(self.layout.control_bytes)
        self._place = self._start = self.layout.READY
        self._scanning = self._around = False
        self._then: Then = _nothing
        self._issued = self._sent
        self._through_slot = sends.ThroughSlot(self, self._issued)
        self._create_segments()

    def _create_segments(self) -> None:
        config, driver = self.config, self.driver
        control = driver.create_segment(self.number(self.rank, CONTROL), len(self._flags), Flat(self._flags))
        # In strict order all that lands here ends with message-exist.
        control.on_landing = self._on_landing if driver.weak else self.port.arrived
        control.export()
        driver.create_segments(
            self.number(self.rank, COMMAND), config.ranks, self.layout.command_bytes, self._slot_bytes,
            memory=RecordMemory,
        )  # fmt: skip
        if self.port.memory.nbytes:
            payload = driver.create_segment(self.number(self.rank, PAYLOAD), self.port.memory.nbytes, self.port.memory)
            payload.export()

    def peer(self, rank: int) -> SciPeer:
        """Return what is kept of `rank`; its cost was charged at start-up."""
        found = self._peers.get(rank)
        if found is None:
            found = self._peers[rank] = self._connect(rank)
        return found

    def _connect(self, rank: int) -> SciPeer:
        driver, host = self.driver, self.port.hosts[rank]
        command = driver.map(driver.connect(host, self.number(rank, COMMAND + self.rank)))
        control = driver.map(driver.connect(host, self.number(rank, CONTROL)))
        incoming = driver.segment(driver.host, self.number(self.rank, COMMAND + rank))
        assert incoming is not None
        return SciPeer(rank, self.config.slots, command, control, incoming)

    # -- sending -------------------------------------------------------------------------------

    def acquire(self, dest: int) -> int | None:
        """Take a free slot pair to `dest`."""
        free = self.peer(dest).free
        return free.pop() if free else None

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send through request slot `slot` at `dest`."""
        self._send(self._peers[dest], REQUEST, slot, message, then, REQUEST_PS)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send through the reply slot paired with the request's."""
        self._send(self._peers[request.source], REPLY, request.slot, reply, then, REPLY_PS)

    def _send(self, peer: SciPeer, kind: int, number: int, message: Message, then: Then, takes: int) -> None:
        self.sent += 1
        cpu = self.cpu
        cpu.free = when = cpu.free + takes
        self._then = then
        slot = peer.slots[kind * self._slots + number]
        if slot is None:
            slot = self._slot(peer, kind, number)
        header = wire.pack(message, number)
        if message.nbytes:
            self._send_payload(peer, kind, number, slot, header, message)
        else:
            slot.post(when, header, self._issued)

    def _slot(self, peer: SciPeer, kind: int, number: int) -> RemoteSlot:
        """Return a slot at `peer` that is used for the first time."""
        layout = self.layout
        place, flags = layout.slot(kind, number), (layout.ready(self.rank, kind, number), layout.EXIST)
        made = RemoteSlot(self.driver, peer.command, place, layout.slot_bytes, peer.control, flags)
        peer.slots[kind * self._slots + number] = made
        return made

    def _send_payload(
        self, peer: SciPeer, kind: int, number: int, slot: RemoteSlot, header: bytes, message: Message
    ) -> None:
        long, nbytes = message.word & CATEGORY != _MEDIUM, message.nbytes
        place = self.layout.slot(kind, number)
        if long and (self.config.dynamic_mapping or nbytes >= self.config.dma_threshold):
            steps = sends.by_map if self.config.dynamic_mapping else sends.by_dma
            Chain(self.kernel, self.cpu, steps(self, peer, slot, place, header, message), self._then)
        elif long or self.config.transactions == 2:
            self._through_slot.begin(self.cpu.free, slot, peer.command, place, header, message.payload)
        else:
            block = header + message.payload
            self.cpu.free += self.host.copy_ticks(len(block))
            slot.post(self.cpu.free, block, self._issued)

    def _sent(self, end: int) -> None:
        """The last store of the message that is being sent has been made; the CPU is free at `end`."""
        self.cpu.free = end
        then = self._then
        then()

    # -- polling -------------------------------------------------------------------------------

    def _on_landing(self) -> None:
        if self._flags[0]:
            self.port.notify()

    def begin_pass(self) -> None:
        """Where message-exist is set, clear it, then begin the sweep where the last one stopped."""
        if not self._flags[0]:
            return
        self.cpu.free += self._scan_ps
        self.scans += 1
        self._flags[0] = 0
        self._start = self._place
        self._scanning, self._around = True, False

    def take(self) -> Message | None:
        """Go on with the sweep to the next message-ready flag; clear it and decode its slot."""
        if not self._scanning:
            return None
        flags = self._flags
        if 1 not in flags:  # nearly always, behind the one message of a pass
            self._scanning = False
            return None
        place = flags.find(1, self._place, self._start) if self._around else flags.find(1, self._place)
        if place < 0:
            if not self._around:
                self._around = True
                place = flags.find(1, _READY, self._start)
            if place < 0:
                self._scanning = False
                return None
        self._place = place + 1
        flags[place] = 0
        self.cpu.free += RECEIVE_PS
        arrival = self._arrivals.get(place) or self._first_arrival(place)
        message = arrival.message
        wire.unpack_into(message, arrival.record)
        if message.nbytes:
            self._take_payload(message, arrival.record)
        if arrival.free is not None:
            arrival.free.append(message.slot)
        return message

    def _first_arrival(self, place: int) -> FilledSlot:
        """Return what is kept of the slot whose message-ready flag is at `place`."""
        queue, slot = divmod(place - _READY, self._slots)
        source, kind = divmod(queue, 2)
        peer = self.peer(source)
        memory = peer.incoming.memory
        assert isinstance(memory, Memory)
        record, _ = memory.place(self.layout.slot(kind, slot), self._slot_bytes)  # a page is a slot
        message = Message(0, source=source, slot=slot)
        found = self._arrivals[place] = FilledSlot(record, message, peer.free if kind == REPLY else None)
        return found

    def end_pass(self) -> None:
        """Set message-exist again where the pass stopped at its limit, before the sweep was done."""
        if self._scanning:
            self._scanning = False
            self._flags[0] = 1

    def _take_payload(self, message: Message, record: bytearray) -> None:
        if message.word & CATEGORY == _MEDIUM:
            start = HEADER_MAX if self.config.transactions == 2 else wire.FIXED + len(message.args)
            message.payload = record[start : start + message.nbytes]
        elif not self.config.dynamic_mapping:
            self._finish_long(message, memoryview(record)[HEADER_MAX:])

    def _finish_long(self, message: Message, area: memoryview) -> None:
        """Copy to the segment the part of a long payload that came through the slot."""
        nbytes = message.nbytes
        if nbytes < self.config.dma_threshold:
            self.copy_in(message, area[:nbytes])
            return
        head, body, tail = wire.cut(message.offset, nbytes)
        if head:
            self.copy_in(message, area[:head])
        if tail:
            self.copy_in(message, area[head : head + tail], head + body)

    # -- reports -------------------------------------------------------------------------------

    def slots_in_use(self) -> list[str]:
        """Describe the slot pairs in use."""
        slots = self.config.slots
        return [
            f"{slots - len(peer.free)} of {slots} request slots to rank {rank}"
            for rank, peer in self._peers.items()
            if len(peer.free) < slots
        ]

    def undelivered(self) -> int:
        """Return how many message-ready flags are set."""
        return self._flags.count(1, _READY)

    def unhandled(self) -> list[Unhandled]:
        """Return what the slots hold whose message-ready flags are set."""
        found, place = [], self._flags.find(1, _READY)
        while place >= 0:
            queue, slot = divmod(place - _READY, self._slots)
            source, kind = divmod(queue, 2)
            incoming = self.driver.segment(self.driver.host, self.number(self.rank, COMMAND + source))
            assert incoming is not None
            head = incoming.memory.read(self.layout.slot(kind, slot), wire.FIXED)
            found.append(Unhandled(source, wire.word_of(head)))
            place = self._flags.find(1, place + 1)
        return found


def _nothing() -> None:
    """Do nothing: what `_then` is until the first message is sent."""
