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

from functools import partial
from typing import Any

from conduit.contract import CATEGORY, CATEGORY_SHIFT, Category, Message, Unhandled
from conduit.contract import REQUEST as REQUEST_BIT
from conduit.sim import Flat, Memory
from conduit.sim.memory import RecordMemory
from conduit.simnet import SimulatedPort
from conduit.simnet.chain import Chain, Done
from conduit.simnet.transport import Then
from conduits.sci import constants as c
from conduits.sci import wire
from conduits.sci.driver import SlotWriter
from conduits.sci.machine import SciCluster
from conduits.sci.protocol import sends
from conduits.sci.protocol.peer import SciPeer, SlotPair
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
from conduits.sci.wire import HEADER_MAX, REPLY, REQUEST, pack, unpack_into

_READY = wire.PairedLayout.READY
_MEDIUM = Category.MEDIUM << CATEGORY_SHIFT


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
        self._arrivals: dict[int, SlotPair] = {}
        self._message = Message(0)  # the last that was taken: a rank has one at a time
        self._flags = bytearray(self.layout.control_bytes)
        self._place = self._start = self.layout.READY
        self._scanning = self._around = False
        self._announced_by = [
            (self.layout.ready(self.rank, kind, slot), self.layout.EXIST)
            for kind in (REQUEST, REPLY)
            for slot in range(config.slots)
        ]
        """The flags of each of this rank's slots at a peer, the same at all: request slots, then reply slots."""
        self.writer = SlotWriter(self.driver, self.cpu)
        self._through_slot = sends.ThroughSlot(self, self.writer)
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
        return SciPeer(driver, rank, command, control, incoming)

    # -- sending -------------------------------------------------------------------------------

    def acquire(self, dest: int) -> SlotPair | None:
        """Take a free slot pair to `dest`."""
        try:
            peer = self._peers[dest]
        except KeyError:
            peer = self.peer(dest)
        pair = peer.free
        if pair is None:
            return self._another(peer)
        peer.free = pair.behind
        return pair

    def _another(self, peer: SciPeer) -> SlotPair | None:
        """Return a pair with a request slot at `peer` that was never used, if there is one."""
        number = len(peer.requests)
        if number == self._slots:
            return None
        made = self._pair(peer, REQUEST, number)
        peer.requests.append(made)
        return made

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send through request slot `slot` at `dest`."""
        cpu = self.cpu
        cpu.free = when = cpu.free + REQUEST_PS
        if message.nbytes:
            self._send_payload(REQUEST, slot, message, then)
        else:
            self.writer.post(when, slot, pack(message, slot.number), then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send through the reply slot paired with the request's."""
        cpu = self.cpu
        cpu.free = when = cpu.free + REPLY_PS
        pair: SlotPair = request.slot
        if reply.nbytes:
            self._send_payload(REPLY, pair, reply, then)
        else:
            self.writer.post(when, pair, pack(reply, pair.number), then)

    def _pair(self, peer: SciPeer, kind: int, number: int) -> SlotPair:
        """Return a pair that is used for the first time, with a slot of this kind at `peer`."""
        layout = self.layout
        place, flags = layout.slot(kind, number), self._announced_by[kind * self._slots + number]
        return SlotPair(peer, number, place, layout.slot_bytes, flags)

    def _send_payload(self, kind: int, slot: SlotPair, message: Message, then: Then) -> None:
        peer = slot.at
        long, nbytes = message.word & CATEGORY != _MEDIUM, message.nbytes
        header, place = pack(message, slot.number), self.layout.slot(kind, slot.number)
        if long and (self.config.dynamic_mapping or nbytes >= self.config.dma_threshold):
            steps = sends.by_map if self.config.dynamic_mapping else sends.by_dma
            announce = partial(self._announce, slot)
            Chain(self.kernel, self.cpu, steps(self, peer, announce, place, header, message), then)
        elif long or self.config.transactions == 2:
            self._through_slot.begin(self.cpu.free, slot, peer.mapping, place, header, message.payload, then)
        else:
            block = header + message.payload
            self.cpu.free += self.host.copy_ticks(len(block))
            self.writer.post(self.cpu.free, slot, block, then)

    def _announce(self, slot: SlotPair, done: Done) -> None:
        """Store the flags of a slot, as an act."""
        self.writer.announce(slot, lambda: done(self.cpu.free))

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
        try:
            pair = self._arrivals[place]
        except KeyError:
            pair = self._first_arrival(place)
        peer, message = pair.at, self._message
        message.slot = pair
        message.source = peer.rank
        unpack_into(message, pair.record)
        if message.nbytes:
            self._take_payload(message, pair.record)
        if not message.word & REQUEST_BIT:
            pair.behind, peer.free = peer.free, pair
        return message

    def _first_arrival(self, place: int) -> SlotPair:
        """Return the pair of the slot whose message-ready flag is at `place`."""
        queue, slot = divmod(place - _READY, self._slots)
        source, kind = divmod(queue, 2)
        peer = self.peer(source)
        memory = peer.incoming.memory
        assert isinstance(memory, Memory)
        pair = peer.requests[slot] if kind == REPLY else self._pair(peer, REPLY, slot)
        pair.record, _ = memory.place(self.layout.slot(kind, slot), self._slot_bytes)  # a page is a slot
        self._arrivals[place] = pair
        return pair

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
            f"{peer.in_use} of {slots} request slots to rank {rank} in use"
            for rank, peer in self._peers.items()
            if peer.in_use
        ]

    def sent(self) -> int:
        """Return for how many messages flags have been stored."""
        return sum(peer.uses for peer in self._peers.values())

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
