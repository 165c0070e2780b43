"""Ibel's two designs, against which the conduit's paper argues.

Both store a message as one block whose last byte is its flag: stores to one segment stay in order,
so no barrier is needed.  Bulk data go through a buffer of 4 KiB and are copied by the receiver.
Every poll looks at the queues of all ranks.

Single buffer: one request buffer for each peer, one reply buffer per rank for the whole network, so
one outstanding request per rank.  Split queue: a ring of k slots for each peer, shared by requests
and replies.  A reply there needs a slot that only the other rank's progress frees, so two ranks that
have filled each other's rings with requests wait for ever: the reply cannot be sent, and the CPU
that should send it handles nothing else meanwhile.

Source: the conduit's paper, section 3.  How a sender learns that its slot is free again is not said
there: here the receiver stores a count of what it has consumed into the sender's control segment,
after the reply to a request, and after taking a reply [assumed].
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from functools import partial
from typing import Any

from conduit.contract import CATEGORY, CATEGORY_SHIFT, Category, Message, Unhandled
from conduit.sim import Flat
from conduit.simnet import SimulatedPort
from conduit.simnet.chain import Chain, Done, Steps
from conduit.simnet.transport import Then
from conduits.sci import constants as c
from conduits.sci import wire
from conduits.sci.driver import Segment, SegmentMapping
from conduits.sci.machine import SciCluster
from conduits.sci.protocol.sends import store
from conduits.sci.protocol.transport import COMMAND, CONTROL, RECEIVE_PS, REPLY_PS, REQUEST_PS, SciConfig, SciTransport

_MEDIUM = Category.MEDIUM << CATEGORY_SHIFT
_REPLIES = -1


class IbelQueue:
    """A queue that this rank reads.

    Attributes:
        source: the rank that writes it; -1 for the reply buffer, which all write.
        segment: its memory.
        head: slot that is read next.
        seen: its message has been noticed and is in the line to be taken.
    """

    __slots__ = ("head", "seen", "segment", "source")

    def __init__(self, source: int, segment: Segment) -> None:
        self.source = source
        self.segment = segment
        self.head = 0
        self.seen = False


class Ibel(SciTransport):
    """What the two designs share: blocks with their flag at the end, polled queue by queue."""

    def __init__(self, port: SimulatedPort, cluster: SciCluster, config: SciConfig, slots: int) -> None:
        super().__init__(port, cluster, config)
        self.layout = wire.QueueLayout(slots, c.whole(c.IBEL_BULK))
        self.miss_ps = c.ps(c.POLL_MISS) + config.ranks * c.ps(c.SCAN_QUEUE)
        self._targets: dict[int, SegmentMapping] = {}
        self._queues: dict[int, IbelQueue] = {}
        self._line: deque[IbelQueue] = deque()
        self._sent = 0
        self._news = False  # whether a pass finds something else than messages
        self.driver.create_segments(
            self.number(self.rank, COMMAND), config.ranks, self.layout.queue_bytes, self.layout.slot_bytes, self._watch
        )

    def target(self, rank: int) -> SegmentMapping:
        """Return this rank's queue at `rank`; its cost was charged at start-up."""
        found = self._targets.get(rank)
        if found is None:
            host = self.port.hosts[rank]
            found = self.driver.map(self.driver.connect(host, self.number(rank, COMMAND + self.rank)))
            self._targets[rank] = found
        return found

    def _watch(self, segment: Segment) -> None:
        self.watch(segment.number - self.number(self.rank, COMMAND), segment)

    def watch(self, source: int, segment: Segment) -> None:
        """Let landings in the queue that `source` writes be noticed."""
        queue = self._queues[source] = IbelQueue(source, segment)
        segment.on_landing = partial(self._on_landing, queue)

    def begin(self, steps: Steps, then: Then) -> None:
        """Begin a chain when the CPU is free."""
        Chain(self.kernel, self.cpu, steps, then)

    def message(self, mapping: SegmentMapping, slot: int, number: int, message: Message) -> Steps:
        """Store a message with its flag as one block into a slot."""
        self._sent += 1
        block = self.layout.join(wire.pack(message, number), message.payload)
        if message.nbytes:
            self.cpu.free += self.host.copy_ticks(len(block))
        yield store(self.driver, mapping, self.layout.start(slot, len(block)), block, announced=False)

    # -- polling -------------------------------------------------------------------------------

    def _on_landing(self, queue: IbelQueue) -> None:
        if not queue.seen and self._arrived(queue):
            queue.seen = True
            self._line.append(queue)
            self.port.notify()

    def _arrived(self, queue: IbelQueue) -> bool:
        return queue.segment.memory.read(self.layout.flag(queue.head), 1) != b"\0"

    def begin_pass(self) -> None:
        """Count the pass where it finds something; the look at all queues is what a miss costs too."""
        self.scans += self._news or bool(self._line)
        self._news = False

    def take(self) -> Message | None:
        """Decode the message at the head of the next queue that has one."""
        if not self._line:
            return None
        queue = self._line.popleft()
        memory, slot, layout = queue.segment.memory, queue.head, self.layout
        self.cpu.free += RECEIVE_PS
        message = wire.unpack(memory.read(layout.header(slot), wire.HEADER_MAX))
        if message.nbytes:
            data = memory.read(layout.header(slot) - message.nbytes, message.nbytes)
            if message.word & CATEGORY == _MEDIUM:
                message.payload = data
            else:
                self.copy_in(message, data)
        memory.write(layout.flag(slot), b"\0")
        queue.head = (slot + 1) % layout.slots
        queue.seen = self._arrived(queue)
        if queue.seen:
            self._line.append(queue)
        self.taken(queue, message)
        return message

    @abstractmethod
    def taken(self, queue: IbelQueue, message: Message) -> None:
        """Set the message's source, and free what it occupied."""

    def sent(self) -> int:
        """Return how many messages have been sent."""
        return self._sent

    def undelivered(self) -> int:
        """Return how many flags are set."""
        return len(self.unhandled())

    def unhandled(self) -> list[Unhandled]:
        """Return what the slots hold whose flags are set."""
        return [
            Unhandled(self.source(queue), wire.word_of(queue.segment.memory.read(self.layout.header(slot), wire.FIXED)))
            for queue in self._queues.values()
            for slot in range(self.layout.slots)
            if queue.segment.memory.read(self.layout.flag(slot), 1) != b"\0"
        ]

    def source(self, queue: IbelQueue) -> int:
        """Return the ranks that have messages in a queue."""
        return queue.source


class SingleBuffer(Ibel):
    """One request buffer for each peer, one reply buffer, one outstanding request."""

    def __init__(self, port: SimulatedPort, cluster: SciCluster, config: SciConfig) -> None:
        super().__init__(port, cluster, config, 1)
        self._waits_for: int | None = None
        self._replies: dict[int, SegmentMapping] = {}
        own = self.driver.create_segment(self.number(self.rank, CONTROL), self.layout.queue_bytes)
        own.export()
        self.watch(_REPLIES, own)

    def acquire(self, dest: int) -> int | None:
        """Take the one request that may be outstanding."""
        self.target(dest)
        if self._waits_for is not None:
            return None
        self._waits_for = dest
        return 0

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Store the request into this rank's buffer at `dest`."""
        self.cpu.free += REQUEST_PS
        self.begin(self.message(self.target(dest), 0, 0, message), then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Store the reply into the requester's only reply buffer."""
        self.cpu.free += REPLY_PS
        requester = request.source
        found = self._replies.get(requester)
        if found is None:
            host = self.port.hosts[requester]
            found = self.driver.map(self.driver.connect(host, self.number(requester, CONTROL)))
            self._replies[requester] = found
        self.begin(self.message(found, 0, 0, reply), then)

    def taken(self, queue: IbelQueue, message: Message) -> None:
        """A reply ends the outstanding request."""
        if queue.source != _REPLIES:
            message.source = queue.source
            return
        assert self._waits_for is not None
        message.source, self._waits_for = self._waits_for, None

    def source(self, queue: IbelQueue) -> int:
        """Return the ranks that have messages in a queue; a reply is of the rank that was asked."""
        return queue.source if self._waits_for is None or queue.source != _REPLIES else self._waits_for

    def slots_in_use(self) -> list[str]:
        """Describe the outstanding request."""
        return [] if self._waits_for is None else [f"the one outstanding request, to rank {self._waits_for}"]

    def slot_holders(self, dest: int) -> tuple[int, ...]:
        """Return the rank that is to reply: until then no request leaves, to any rank."""
        return (dest,) if self._waits_for is None else (self._waits_for,)


class SplitQueue(Ibel):
    """A ring of k slots for each peer, shared by requests and replies.  Not free of deadlock."""

    COUNT_BYTES = 8

    def __init__(self, port: SimulatedPort, cluster: SciCluster, config: SciConfig) -> None:
        super().__init__(port, cluster, config, config.slots)
        self._used: dict[int, int] = {}
        self._consumed: dict[int, int] = {}
        self._controls: dict[int, SegmentMapping] = {}
        self._stuck: int | None = None  # a requester with no free slot for a reply in its ring
        self._go_on: Done | None = None  # continues that reply
        self._counts = bytearray(config.ranks * self.COUNT_BYTES)
        own = self.driver.create_segment(self.number(self.rank, CONTROL), len(self._counts), Flat(self._counts))
        own.on_landing = self._on_count
        own.export()

    def _free(self, dest: int) -> int:
        """Return how many slots of this rank's ring at `dest` are free, as its count here tells."""
        at = dest * self.COUNT_BYTES
        consumed = int.from_bytes(self._counts[at : at + self.COUNT_BYTES], "little")
        return self.config.slots - (self._used.get(dest, 0) - consumed)

    def acquire(self, dest: int) -> int | None:
        """Take the next slot of the ring at `dest`."""
        return self._next_slot(dest)

    def _next_slot(self, dest: int) -> int | None:
        """Take the next slot, for a request or a reply; None where none is free."""
        self.target(dest)
        if self._free(dest) <= 0:
            return None
        used = self._used.get(dest, 0)
        self._used[dest] = used + 1
        return used % self.config.slots

    def send_request(self, dest: int, slot: Any, message: Message, then: Then) -> None:
        """Store the request into its slot."""
        self.cpu.free += REQUEST_PS
        self.begin(self.message(self.target(dest), slot, slot, message), then)

    def send_reply(self, request: Message, reply: Message, then: Then) -> None:
        """Store the reply into the ring at the requester, waiting for a slot, then count the request."""
        if reply.is_auto_reply:
            # The count frees the slot: no message travels.
            self.port.conduit.under_way -= 1
            self.begin(self._tell(request.source), then)
        else:
            self.cpu.free += REPLY_PS
            self.begin(self._reply(request.source, reply), then)

    def _reply(self, dest: int, reply: Message) -> Steps:
        """Wait for a slot, store the reply, and tell that one more of `dest`'s is free."""
        slot = self._next_slot(dest)
        while slot is None:
            self._stuck = dest
            yield self._more
            self.cpu.free += self.miss_ps
            slot = self._next_slot(dest)
        self._stuck = None
        yield from self.message(self.target(dest), slot, slot, reply)
        yield from self._tell(dest)

    def _more(self, done: Done) -> None:
        """Wait until the ring of the reply that waits has a free slot."""
        assert self._stuck is not None
        if self._free(self._stuck) > 0:
            done(self.kernel.now)
        else:
            self._go_on = done

    def _tell(self, peer: int) -> Steps:
        """Tell `peer` that one more slot of its ring here is free."""
        yield partial(self._count, peer)

    def _count(self, peer: int, done: Done) -> None:
        count = self._consumed[peer] = self._consumed.get(peer, 0) + 1  # now: counts are stored in their order
        mapping = self._controls.get(peer)
        if mapping is None:
            host = self.port.hosts[peer]
            mapping = self.driver.map(self.driver.connect(host, self.number(peer, CONTROL)))
            self._controls[peer] = mapping
        data = count.to_bytes(self.COUNT_BYTES, "little")
        store(self.driver, mapping, self.rank * self.COUNT_BYTES, data, announced=False)(done)

    def _on_count(self) -> None:
        """A count has landed: a reply that waits goes first, then tasks that wait for slots."""
        if self._stuck is None:
            self._news = True
            self.port.notify()
        elif self._go_on is not None and self._free(self._stuck) > 0:
            go_on, self._go_on = self._go_on, None
            go_on(self.kernel.now)

    def taken(self, queue: IbelQueue, message: Message) -> None:
        """A reply's slot is free at once, a request's after its reply."""
        message.source = queue.source
        if not message.is_request:
            self.begin(self._tell(queue.source), _nothing)

    def waits_for(self) -> str:
        """Return what the reply that waits for a slot waits for."""
        if self._stuck is None or self._free(self._stuck) > 0:
            return ""
        return (
            f"the reply of rank {self.rank} to rank {self._stuck} waits for a free slot at rank {self._stuck}: this "
            "queue can deadlock (sci:queue=paired cannot)"
        )

    def slots_in_use(self) -> list[str]:
        """Describe the slots in use and the reply that waits."""
        slots = self.config.slots
        lines = [
            f"{slots - self._free(dest)} of {slots} slots of the queue at rank {dest}, which requests and replies share"
            for dest in self._used
            if self._free(dest) < slots
        ]
        if self._stuck is not None:
            lines.append(
                f"a reply to rank {self._stuck} waits for a slot of its queue there; nothing is handled meanwhile"
            )
        return lines


def _nothing() -> None:
    """Follow a count that no message waits for."""
