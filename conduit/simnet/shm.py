"""Messages between ranks of one host, through its shared memory.

For every ordered pair of ranks there are request slots at the receiver and, paired with them, reply
slots at the sender; so a reply always has its place.  The sender stores header and payload in the
slot, or a long payload straight into the receiver's segment (up to a crossover through the slot too),
and then appends the slot to the receiver's inbox, a ring that has room for every slot that can name
it.  Stores are seen in order (total store order, rule O), so what the inbox names is complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conduit.contract import LONG, Message, Unhandled
from conduit.sim import Memory
from conduit.simnet import header
from conduit.simnet.host import HostModel
from conduit.simnet.transport import Then, Transport, TransportPort

SLOTS = 32  # GASNet's default depth of its shared-memory queues; no paper here gives one
_ENTRY = 8


class _Inbox:
    """A rank's ring of arrived slots: 8 bytes each, slot (15 bits), reply (1 bit), source (48)."""

    __slots__ = ("_capacity", "_memory", "head", "tail")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._memory = Memory(
            capacity * _ENTRY, 256
        )  # pages of 32 entries, made when first written: few rings are ever full
        self.head = self.tail = 0

    def put(self, source: int, is_reply: bool, slot: int) -> None:
        word = source << 16 | is_reply << 15 | slot
        self._memory.write(self.tail % self._capacity * _ENTRY, word.to_bytes(_ENTRY, "little"))
        self.tail += 1

    def get(self) -> tuple[int, bool, int]:
        found = self.look(self.head)
        self.head += 1
        return found

    def look(self, place: int) -> tuple[int, bool, int]:
        """Return what is at a place, from `head` up to `tail`."""
        word = int.from_bytes(self._memory.read(place % self._capacity * _ENTRY, _ENTRY), "little")
        return word >> 16, bool(word >> 15 & 1), word & 0x7FFF


class SharedMemoryTransport(Transport):
    """One rank's end of its host's shared memory.

    Args:
        port: the rank's port.
        host: the host's costs.
        max_medium: bytes of a medium payload.
        neighbours: transports of the ranks of the host by rank, shared by all of them; this one is added.
        size: ranks on the host.
        crossover: long payloads of at most that many bytes go through the slot, at most `max_medium`.
    """

    def __init__(
        self,
        port: TransportPort,
        host: HostModel,
        max_medium: int,
        neighbours: dict[int, SharedMemoryTransport],
        size: int,
        crossover: int = 0,
    ) -> None:
        super().__init__(port)
        self.host = host
        self.miss_ps = host.poll_ps
        self._slot_bytes = header.MAX_SIZE + max_medium
        self._crossover = crossover
        self._neighbours = neighbours
        self._inbox = _Inbox(2 * SLOTS * size)
        self._queues: dict[tuple[int, bool], Memory] = {}
        self._free: dict[int, list[int]] = {}
        neighbours[port.rank] = self

    def take(self) -> Message | None:
        """Decode the message that the inbox names next."""
        if self._inbox.head == self._inbox.tail:
            return None
        source, is_reply, slot = self._inbox.get()
        self.port.cpu.free += self.host.line_ps + self.host.message_ps
        queue, at = self._queues[source, is_reply], slot * self._slot_bytes
        message = header.unpack(queue.read(at, header.MAX_SIZE), source, slot)
        if message.word & LONG:
            message.payload = b""
            if 0 < message.nbytes <= self._crossover:
                self._copy_out(message, queue.read(at + header.MAX_SIZE, message.nbytes))
        elif message.nbytes:
            message.payload = queue.read(at + header.MAX_SIZE, message.nbytes)
        if is_reply:
            self._free[source].append(slot)
        return message

    def _copy_out(self, message: Message, payload: bytes) -> None:
        """Copy a long payload from its slot to its place in the segment."""
        self.port.cpu.free += self.host.copy_ticks(len(payload))
        self.port.memory.write(message.offset, payload)

    def acquire(self, dest: int) -> int | None:
        """Take one of this rank's request slots at `dest`, with its reply slot here."""
        free = self._free.get(dest)
        if free is None:
            free = self._free[dest] = list(range(SLOTS - 1, -1, -1))
        return free.pop() if free else None

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Store the request in its slot at `dest`."""
        self._send(dest, slot, message, then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Store the reply in the slot paired with the request's."""
        self._send(request.source, request.slot, reply, then)

    def _send(self, dest: int, slot: int, message: Message, then: Then) -> None:
        host, cpu = self.host, self.port.cpu
        cpu.free += host.message_ps + host.copy_ticks(message.nbytes)
        # Never `soon`: a reply may be sent in the midst of an event of another transport of this port.
        self.port.kernel.at(cpu.free, self._store, dest, slot, message, then)

    def _store(self, dest: int, slot: int, message: Message, then: Then) -> None:
        """Make the stores seen, data before the inbox."""
        there = self._neighbours[dest]
        is_reply = not message.is_request
        queue = there._queues.get((self.port.rank, is_reply))
        if queue is None:
            queue = there._queues[self.port.rank, is_reply] = Memory(SLOTS * self._slot_bytes, 512)
        at = slot * self._slot_bytes
        queue.write(at, header.pack(message))
        if message.nbytes:
            if message.word & LONG and message.nbytes > self._crossover:
                there.port.memory.write(message.offset, message.payload, self.port.rank)
            else:
                queue.write(at + header.MAX_SIZE, message.payload)
        there._inbox.put(self.port.rank, is_reply, slot)
        there.port.notify()
        then()

    def slots_in_use(self) -> list[str]:
        """Describe the request slots in use."""
        return [
            f"{SLOTS - len(free)} of {SLOTS} shared-memory request slots to rank {dest} in use"
            for dest, free in self._free.items()
            if len(free) < SLOTS
        ]

    def undelivered(self) -> int:
        """Return how many messages are in the inbox."""
        return self._inbox.tail - self._inbox.head

    def unhandled(self) -> list[Unhandled]:
        """Return what the slots hold that the inbox names."""
        found = []
        for place in range(self._inbox.head, self._inbox.tail):
            source, is_reply, slot = self._inbox.look(place)
            head = self._queues[source, is_reply].read(slot * self._slot_bytes, header.SIZE)
            found.append(Unhandled(source, header.word_of(head)))
        return found

    def statistics(self) -> Mapping[str, int]:
        """Return how many messages came in through shared memory."""
        return {"shared_memory_messages": self._inbox.head}
