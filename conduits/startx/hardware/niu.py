"""The StarT-X network interface of a host: message queues of two priorities, and the RDMA engines.

A message is two header words and 2 to 22 payload words of 32 bits, little-endian here:

    word 0    target host (bits 0-15), words of payload (16-20), priority (21), kind (22)
    word 1    the software's

A message leaves its transmit queue when the receive queue at its target has a place for it, which is
reserved for it then; so nothing arrives that cannot be stored.  A message that waits for a place blocks
all behind it in its queue (head-of-line), and nothing of the other priority.  A *grant* is a message that the NIU takes
itself: it starts an RDMA transfer that is armed.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from conduits.startx import constants as c
from conduits.startx.hardware.arctic import FatTreeRoute
from conduits.startx.hardware.pinned import StartXError
from conduits.startx.hardware.rdma import RdmaFabric, RdmaIn, RdmaOut

LOW, HIGH = 0, 1
PRIORITY_NAMES = ("low", "high")
MESSAGE, GRANT = 0, 1
HEADER = c.whole(c.HEADER)
PAYLOAD_MIN, PAYLOAD_MAX = c.whole(c.PAYLOAD_MIN), c.whole(c.PAYLOAD_MAX)
MAX_HOSTS = 1 << 16
_SIZES = {nbytes >> 2: HEADER + nbytes for nbytes in range(PAYLOAD_MIN, PAYLOAD_MAX + 1, 4)}
"""Of whole messages in bytes, by their words of payload."""
_HEAD = struct.Struct("<II")
_unpack_head = _HEAD.unpack_from
_KIND = 1 << 22
_WHERE = 0xFFFF | 1 << 21  # of word 0: target and priority
_GRANT = struct.Struct("<HHIQ")
Tell = Callable[[], object]


def head(target: int, priority: int, tag: int, nbytes: int, kind: int = MESSAGE) -> bytes:
    """Return the two header words of a message with `nbytes` of payload."""
    return _HEAD.pack(target | nbytes >> 2 << 16 | priority << 21 | kind << 22, tag)


def grant_payload(channel: int, source: int, nbytes: int, address: int) -> bytes:
    """Return the payload of a grant: for which channel, by which host, how much, and where to."""
    return _GRANT.pack(channel, source, nbytes, address)


class NiuStatistics(NamedTuple):
    """What the queues of one priority of an NIU have done.

    Attributes:
        sent: messages that left the transmit queue.
        received: messages that came into the receive queue.
        held: messages that waited for a place in the receive queue of their target.
        most_sent: most messages in the transmit queue at once.
        most_received: most places of the receive queue that were taken at once.
    """

    sent: int
    received: int
    held: int
    most_sent: int
    most_received: int


class _Waiting(NamedTuple):
    """A message in a transmit queue that waits for a place at its target, or behind one that does.

    Attributes:
        path: where it goes.
        message: it.
        first: when its first words are in the queue, picoseconds.
        whole: when all of it is.
    """

    path: _Path
    message: bytes
    first: int
    whole: int


class _Transmit:
    """A transmit queue: messages that have not left the NIU."""

    __slots__ = ("capacity", "held", "most", "sent", "used", "waiting", "wanted")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.used = 0
        self.sent = self.held = self.most = 0
        self.waiting: deque[_Waiting] = deque()  # those that wait for a place at their target
        self.wanted: list[Tell] = []  # to be told once when there is room


class _Receive:
    """A receive queue and the places in it, those of messages on their way included."""

    __slots__ = ("capacity", "free", "freeing", "most", "queue", "received", "sources")

    def __init__(self, capacity: int) -> None:
        self.capacity = self.free = capacity
        self.received = self.most = 0
        self.queue: deque[bytes] = deque()
        self.freeing: deque[int] = deque()  # when messages that are being loaded leave their places
        self.sources: deque[Niu] = deque()  # NIUs with a message here at the head of their queue, in order of asking

    def take_place(self, now: int) -> bool:
        """Take a place for a message that sets out, if one is free now."""
        freeing = self.freeing
        while freeing and freeing[0] <= now:
            freeing.popleft()
            self.free += 1
        free = self.free
        if not free or self.sources:
            return False
        self.free = free = free - 1
        taken = self.capacity - free
        if taken > self.most:
            self.most = taken
        return True


class _Path:
    """Where messages of one priority from one NIU to another go: looked up once, since every message needs it.

    Attributes:
        target, priority: as said.
        there: the NIU of the target.
        receive: its queue.
        way: the way there; None where each message draws its own.
        last: when the last message arrives that has found its way, picoseconds.
    """

    __slots__ = ("last", "priority", "receive", "target", "there", "way")

    def __init__(self, target: int, priority: int, there: Niu, way: FatTreeRoute | None) -> None:
        self.target = target
        self.priority = priority
        self.there = there
        self.receive = there._receive[priority]
        self.way = way
        self.last = 0


class NiuFabric(RdmaFabric, Protocol):
    """The fabric, as NIUs know it; `ArcticFabric` says what each is."""

    fifo: bool
    capacity: tuple[int, int]

    def niu(self, host: int) -> Niu:
        """Return the NIU of `host`."""


class Niu:
    """The NIU of a host.

    Args:
        fabric: the cluster.
        host: the host's index.

    Attributes:
        rdma_out: the engine that sends.
        rdma_in: the engine that receives.
        on_arrival: called when a message has come into a receive queue.
    """

    def __init__(self, fabric: NiuFabric, host: int) -> None:
        self.fabric = fabric
        self.kernel = fabric.kernel
        self.host = host
        self.on_arrival: list[Tell] = []
        self.rdma_out = RdmaOut(fabric, host)
        self.rdma_in = RdmaIn(fabric, host)
        self._transmit = tuple(_Transmit(capacity) for capacity in fabric.capacity)
        self._receive = tuple(_Receive(capacity) for capacity in fabric.capacity)
        self.low, self.high = (receive.queue for receive in self._receive)
        self._spread = fabric.spread_ps
        self._random = self.kernel.random(f"startx/niu/{host}") if self._spread else None
        self._paths: dict[int, _Path] = {}  # by target and priority, as word 0 has them

    # -- sending -------------------------------------------------------------------------------

    def room(self, priority: int) -> int:
        """Return how many messages the transmit queue has room for."""
        queue = self._transmit[priority]
        return queue.capacity - queue.used

    def when_room(self, priority: int, tell: Tell) -> None:
        """Call `tell()` once, in the event in which a message leaves the full transmit queue."""
        self._transmit[priority].wanted.append(tell)

    def store(self, message: bytes, lead: int, span: int) -> None:
        """Take a message into its transmit queue, in the event in which the processor begins to store it.

        Args:
            message: header and payload.
            lead: how long it takes until its first words are in the queue, picoseconds.
            span: how long from then until it is whole.

        Raises:
            StartXError: the queue is full, the RDMA engine packetizes a piece while a message of high
                priority comes, or the message is malformed.
        """
        word, _ = _unpack_head(message)
        path = self._paths.get(word & _WHERE)
        if path is None or len(message) != _SIZES.get(word >> 16 & 31):
            path = self._look_at(word, len(message))
        priority = path.priority
        queue = self._transmit[priority]
        if queue.used == queue.capacity:
            raise StartXError(
                f"host {self.host}: the transmit queue of {PRIORITY_NAMES[priority]} priority is full "
                f"({queue.capacity} messages); wait until it has room"
            )
        if priority:
            self.rdma_out.check_message(self.kernel.now + lead + span)
        used = queue.used + 1
        if used > queue.most:
            queue.most = used
        now = self.kernel.now
        if queue.waiting:
            queue.held += 1
            queue.waiting.append(_Waiting(path, message, now + lead, now + lead + span))
        elif word & _KIND or path.receive.take_place(now):
            if self._depart(queue, path, message, lead, span):
                if queue.wanted:
                    self._tell_of_room(queue)
                return  # it is out of the queue again
        else:
            queue.held += 1
            queue.waiting.append(_Waiting(path, message, now + lead, now + lead + span))
            path.there.want_place(priority, self)
        queue.used = used

    def _look_at(self, word: int, nbytes: int) -> _Path:
        """Return the path that a message of `nbytes` takes whose first word is `word`; refuse a malformed one."""
        target, words = word & 0xFFFF, word >> 16 & 31
        if nbytes != _SIZES.get(words) or target == self.host:
            raise StartXError(
                f"host {self.host}: a message of {nbytes} bytes to host {target} announces {words} payload words; it "
                f"has {PAYLOAD_MIN >> 2} to {PAYLOAD_MAX >> 2}, and goes to another host"
            )
        network, priority = self.fabric.network, word >> 21 & 1
        way = network.way(self.host, target, priority) if self.fabric.fifo else None
        found = self._paths[word & _WHERE] = _Path(target, priority, self.fabric.niu(target), way)
        return found

    def place_given(self, priority: int) -> None:
        """Let the first waiting message go, which has got its place, and those behind it that find one."""
        queue, now = self._transmit[priority], self.kernel.now
        self._let_go(queue, queue.waiting.popleft())
        while queue.waiting:
            path, message = queue.waiting[0][:2]
            if not (message[2] >> 6 & 1 or path.receive.take_place(now)):
                path.there.want_place(priority, self)
                return
            self._let_go(queue, queue.waiting.popleft())

    def _let_go(self, queue: _Transmit, waiting: _Waiting) -> None:
        """Let a message go that has waited in the queue; the processor may still be storing it."""
        path, message, first, whole = waiting
        lead = max(0, first - self.kernel.now)
        if self._depart(queue, path, message, lead, max(0, whole - self.kernel.now - lead)):
            self._leave(queue)

    def _depart(self, queue: _Transmit, path: _Path, message: bytes, lead: int, span: int) -> bool:
        """Send a message off; return whether it is on its way, or else it leaves the queue when links let it."""
        size, now = len(message), self.kernel.now
        way = path.way or self.fabric.network.way(self.host, path.target, path.priority)
        # Links are taken as if its first words were there at once; what these take lies behind the links (rule T7).
        arrival = way.pass_freely(size, now, now + span)
        if arrival < 0:
            then = partial(self._carried, queue, path, message, lead)
            arrival = way.carry(size, now, now + span, then, ~arrival, whole=True)
            if not arrival:
                return False
        self._on_way(queue, path, message, arrival + lead)
        return True

    def _carried(self, queue: _Transmit, path: _Path, message: bytes, lead: int, arrival: int) -> None:
        """The message has its place on every link."""
        self._leave(queue)
        self._on_way(queue, path, message, arrival + lead)

    def _leave(self, queue: _Transmit) -> None:
        """A message leaves the queue: there is room."""
        queue.used -= 1
        if queue.wanted:
            self._tell_of_room(queue)

    def _tell_of_room(self, queue: _Transmit) -> None:
        wanted, queue.wanted = queue.wanted, []
        for tell in wanted:
            self.kernel.amid(tell)

    def _on_way(self, queue: _Transmit, path: _Path, message: bytes, arrival: int) -> None:
        """The message has found its way, and its arrival is known."""
        queue.sent += 1
        if self._random is not None:
            arrival += self._random.randrange(self._spread)
        if arrival < path.last and self.fabric.fifo:
            arrival = path.last
        path.last = arrival
        self.kernel.call(arrival, partial(path.there.land, message))

    # -- receiving -----------------------------------------------------------------------------

    def want_place(self, priority: int, source: Niu) -> None:
        """Give the first message that waits at `source` the next place that becomes free."""
        queue = self._receive[priority]
        queue.sources.append(source)
        while queue.freeing:
            self.kernel.at(max(queue.freeing.popleft(), self.kernel.now), self._freed, priority)

    def land(self, message: bytes) -> None:
        """Store a message that has arrived; a grant goes to the RDMA engine."""
        priority = message[2] >> 5  # and the kind
        if priority > HIGH:
            self.rdma_out.granted(*_GRANT.unpack_from(message, HEADER))
            return
        queue = self._receive[priority]
        queue.received += 1
        queue.queue.append(message)
        for tell in self.on_arrival:
            tell()

    def load(self, priority: int, when: int) -> bytes:
        """Give the first message of a receive queue, which has one, to a processor.

        Args:
            priority: of the queue.
            when: when the processor has loaded it and its place is free, picoseconds.
        """
        queue = self._receive[priority]
        if queue.sources:
            self.kernel.at(when, self._freed, priority)
        else:
            queue.freeing.append(when)
        return queue.queue.popleft()

    def _freed(self, priority: int) -> None:
        """A place is free: the source that has waited longest gets it."""
        queue = self._receive[priority]
        queue.free += 1
        if queue.sources:
            queue.free -= 1
            queue.sources.popleft().place_given(priority)

    def statistics(self, priority: int) -> NiuStatistics:
        """Return what the queues of a priority have done so far."""
        transmit, receive = self._transmit[priority], self._receive[priority]
        return NiuStatistics(transmit.sent, receive.received, transmit.held, transmit.most, receive.most)
