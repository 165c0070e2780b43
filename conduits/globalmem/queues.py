"""Active Messages through queues in memory that all processors reach, with atomic tickets.

For every ordered pair of ranks there are request slots at the receiver and, paired with them, reply slots at the
sender.  The sender pushes header and medium payload into the slot, a long payload straight into the segment; draws a
ticket of the receiver's queue, which is a word that it changes; waits until all that it has pushed has landed; and
pushes the slot's name to the ticket's place in the queue.  The queue has a place for every slot that can name it, so
that no ticket ever waits; a receiver takes places in order, each when it has been filled.

Where a handler makes no reply, a word at the sender, one for each slot, says that the slot is free again: no ticket, no
message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import attrs

from conduit.contract import LONG, Message, Unhandled
from conduit.sim import Memory
from conduit.simnet import Transport, header
from conduit.simnet.chain import Act, Chain, Done, Steps
from conduit.simnet.transport import Then, TransportPort
from conduits.globalmem.mover import Mover

ENTRY = 8


@attrs.frozen
class QueueCosts:
    """What messages cost a processor, picoseconds.

    Attributes:
        poll: a look at the queue that finds nothing.
        build: checks and a header.
        take: an entry and its header, and finding the handler.
    """

    poll: int
    build: int
    take: int


class SlotQueue:
    """A rank's queue of arrived slots; an entry is source + 1 (from bit 16 on), reply (15), slot (0-14), or 0."""

    __slots__ = ("_capacity", "_memory", "head", "tail")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._memory = Memory(capacity * ENTRY, 256)
        self.head = 0
        self.tail = 0

    def draw(self) -> int:
        """Return the next ticket."""
        self.tail += 1
        return self.tail - 1

    def put(self, ticket: int, source: int, is_reply: bool, slot: int) -> None:
        """Fill the place of a ticket."""
        word = source + 1 << 16 | is_reply << 15 | slot
        self._memory.write(ticket % self._capacity * ENTRY, word.to_bytes(ENTRY, "little"))

    def first(self) -> int:
        """Return the entry at the head, 0 where that place is not filled."""
        return 0 if self.head == self.tail else self.look(self.head)

    def look(self, ticket: int) -> int:
        """Return the entry at the place of a ticket that was drawn and not taken, 0 where that is not filled."""
        return int.from_bytes(self._memory.read(ticket % self._capacity * ENTRY, ENTRY), "little")

    def drop(self) -> None:
        """Empty the place at the head and go on to the next."""
        self._memory.write(self.head % self._capacity * ENTRY, bytes(ENTRY))
        self.head += 1


class QueueTransport(Transport):
    """One rank's end of the queues.

    Args:
        port: the rank's port.
        mover: its processor's way to all memories.
        costs: of messages.
        slots: outstanding requests of a rank to each other rank.
        max_medium: bytes of a medium payload.
        piece: bytes after which a move lets others onto memories and links.
        transports: gives the transport of a rank.
        nodes: gives its node.
    """

    def __init__(
        self,
        port: TransportPort,
        mover: Mover,
        costs: QueueCosts,
        slots: int,
        max_medium: int,
        piece: int,
        transports: Callable[[int], QueueTransport],
        nodes: Callable[[int], int],
    ) -> None:
        super().__init__(port)
        self.mover = mover
        self.costs = costs
        self.miss_ps = costs.poll
        self.slots = slots
        self._slot_bytes = header.MAX_SIZE + max_medium
        self._piece = piece
        self._transports = transports
        self._nodes = nodes
        self.queue = SlotQueue(2 * slots * len(port.hosts))
        self._here: dict[tuple[int, bool], Memory] = {}
        self._free: dict[int, list[int]] = {}

    # -- receiving -----------------------------------------------------------------------------

    def take(self) -> Message | None:
        """Decode the message that the queue names next."""
        queue = self.queue
        if queue.head == queue.tail:  # nearly always, so without a call
            return None
        word = queue.first()
        if not word:
            return None
        queue.drop()
        source, is_reply, slot = (word >> 16) - 1, bool(word >> 15 & 1), word & 0x7FFF
        self.port.cpu.free += self.costs.take
        memory, at = self._here[source, is_reply], slot * self._slot_bytes
        message = header.unpack(memory.read(at, header.MAX_SIZE), source, slot)
        if message.word & LONG:
            message.payload = b""
        elif message.nbytes:
            head = header.SIZE + len(message.args)
            message.payload = memory.read(at + head, message.nbytes)
        if is_reply:
            self._free[source].append(slot)
        return message

    def undelivered(self) -> int:
        """Return how many tickets have been drawn and not been taken."""
        return self.queue.tail - self.queue.head

    def unhandled(self) -> list[Unhandled]:
        """Return what the slots hold that the queue names; what a place is not filled for is still on its way."""
        found = []
        for word in map(self.queue.look, range(self.queue.head, self.queue.tail)):
            if word:
                source, is_reply, slot = (word >> 16) - 1, bool(word >> 15 & 1), word & 0x7FFF
                head = self._here[source, is_reply].read(slot * self._slot_bytes, header.SIZE)
                found.append(Unhandled(source, header.word_of(head)))
        return found

    # -- sending -------------------------------------------------------------------------------

    def acquire(self, dest: int) -> int | None:
        """Take one of this rank's request slots at `dest`, with its reply slot here."""
        free = self._free.get(dest)
        if free is None:
            free = self._free[dest] = list(range(self.slots - 1, -1, -1))
        return free.pop() if free else None

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Send a request into its slot at `dest`."""
        Chain(self.port.kernel, self.port.cpu, self._steps(dest, slot, message), then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Send the reply into the slot paired with the request's; an automatic empty one is that slot's word alone."""
        if reply.is_auto_reply:
            self.port.conduit.under_way -= 1  # it is not taken
            there = self._transports(request.source)
            freed = partial(there._freed, self.port.rank, request.slot)
            Chain(self.port.kernel, self.port.cpu, self._bare(request.source, freed), then)
            return
        Chain(self.port.kernel, self.port.cpu, self._steps(request.source, request.slot, reply), then)

    def _steps(self, dest: int, slot: int, message: Message) -> Steps:
        there = self._transports(dest)
        is_reply = not message.is_request
        self.port.cpu.charge(self.costs.build)
        data = header.pack(message)
        if message.word & LONG:
            if message.nbytes:
                yield self._long(there, dest, message)
        else:
            data += message.payload
        yield self._push(dest, len(data), partial(there._store, self.port.rank, is_reply, slot, data))
        ticket = yield partial(self._draw, there, dest)
        yield self._settled
        entry = partial(there._enter, ticket, self.port.rank, is_reply, slot)
        yield self._push(dest, ENTRY, entry)

    def _bare(self, dest: int, freed: Then) -> Steps:
        self.port.cpu.charge(self.costs.poll)  # a store, as cheap as a look
        yield self._push(dest, ENTRY, freed)

    def _long(self, there: QueueTransport, dest: int, message: Message) -> Act:
        """Push a payload into the segment, piece by piece; it is read as it goes, for it may be lent."""
        payload, piece = memoryview(message.payload), self._piece
        sizes = [[min(piece, len(payload) - at)] for at in range(0, len(payload), piece)]

        def land(index: int) -> None:
            some = payload[index * piece : (index + 1) * piece]
            there.port.memory.write(message.offset + index * piece, bytes(some), self.port.rank)

        return partial(self._move, dest, sizes, land)

    def _push(self, dest: int, nbytes: int, land: Then) -> Act:
        """Push bytes that are seen all at once, when the last of them has landed."""
        piece, left = self._piece, -(-nbytes // self._piece)
        if left == 1:
            return partial(self._move_piece, dest, nbytes, land)
        sizes = [[min(piece, nbytes - at)] for at in range(0, nbytes, piece)]

        def landed(_: int) -> None:
            nonlocal left
            left -= 1
            if not left:
                land()

        return partial(self._move, dest, sizes, landed)

    def _move(self, dest: int, sizes: list[list[int]], land: Callable[[int], object], done: Done) -> None:
        kernel = self.port.kernel
        self.mover.push(self._nodes(dest), sizes, land, lambda: done(kernel.now), _nothing)

    def _move_piece(self, dest: int, nbytes: int, land: Then, done: Done) -> None:
        kernel = self.port.kernel
        self.mover.push_piece(self._nodes(dest), [nbytes], land, lambda: done(kernel.now), _nothing)

    def _draw(self, there: QueueTransport, dest: int, done: Done) -> None:
        kernel = self.port.kernel
        self.mover.change(self._nodes(dest), there.queue.draw, lambda ticket: done(kernel.now, ticket))

    def _settled(self, done: Done) -> None:
        kernel = self.port.kernel
        self.mover.settle(lambda: done(kernel.now))

    # -- what the others' processors do to this rank's memory, in events ---------------------------

    def _store(self, source: int, is_reply: bool, slot: int, data: bytes) -> None:
        memory = self._here.get((source, is_reply))
        if memory is None:
            memory = self._here[source, is_reply] = Memory(self.slots * self._slot_bytes, 512)
        memory.write(slot * self._slot_bytes, data)

    def _enter(self, ticket: int, source: int, is_reply: bool, slot: int) -> None:
        self.queue.put(ticket, source, is_reply, slot)
        if self.queue.first():  # else one before it is still empty, and tells when it is filled
            self.port.notify()

    def _freed(self, source: int, slot: int) -> None:
        self._free[source].append(slot)
        self.port.notify()

    # -- reports -------------------------------------------------------------------------------

    def slots_in_use(self) -> list[str]:
        """Describe the request slots in use."""
        return [
            f"{self.slots - len(free)} of {self.slots} request slots to rank {dest} in use"
            for dest, free in self._free.items()
            if len(free) < self.slots
        ]

    def statistics(self) -> Mapping[str, int]:
        """Return how many messages have come in."""
        return {"queue_messages": self.queue.head}


def _nothing() -> None:
    """Take no notice."""
