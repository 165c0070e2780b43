"""Connections: one for each direction between two ranks, made at the first message, and kept.

Rank s writes messages as entries of *postboxes*, lines of 64 bytes, into queues of its *area* on the reader's host.
The id of a segment says what it is, with n ranks in the job:

    s                the area of rank s, one on each host, exported by that host's service process
    n * (1 + s) + d  the acknowledgements of rank d to rank s, exported by s

An area serves all ranks of its host and belongs to none of them, so the host's *service process* makes it, on a CPU of
its own, and tells the ranks through the host's shared memory which queues there are.

Source: SIS 3.1 and 3.3; who exports an area, and the ids, are assumed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import attrs

from conduit.sim import Store
from conduit.sim.memory import Buffer
from conduit.simnet.chain import Done
from conduits.mpi.engine.device import BEGIN, UntakenMessage
from conduits.mpi.engine.transfer import Send
from conduits.mpi.engine.worker import LineStore
from conduits.mpi.libraries.sunmpi import wire
from conduits.mpi.libraries.sunmpi.layout import AreaLayout
from conduits.mpi.libraries.sunmpi.pool import BufferPool
from conduits.mpi.libraries.sunmpi.wire import (
    ALONE,
    INLINE,
    LINE,
    MODE,
    SEQUENCES,
    SINGLE,
    PostboxHeader,
    pack_single,
    unpack_single,
)
from conduits.rsm import Controller, Permission
from conduits.rsm.safe import SafeImport, Stores
from conduits.sunfire.constants import SERVICE_PS
from conduits.sunfire.machine import SunfireCluster

_FREED = wire.ACKS[wire.FREED]


class PostboxReader(Protocol):
    """A rank that has queues in areas of its host."""

    def landed(self, source: int, memory: Store, offset: int, data: Buffer) -> None:
        """Take note that lines of rank `source` have landed in this rank's queue, at `offset` of its area.

        Called as the last act of an event.
        """


class AreaService:
    """One host's service process.

    Args:
        controller: of the service process.
        layout: of areas.
        readers: the host's ranks by their place there.
    """

    def __init__(self, controller: Controller, layout: AreaLayout, readers: Mapping[int, PostboxReader]) -> None:
        self._controller = controller
        self._layout = layout
        self._pool_at = layout.pool_at
        self._queue_bytes = layout.queue_bytes
        self._readers = readers

    def make_area(self, writer: int, host: int, done: Done) -> None:
        """Export an area for rank `writer` of `host`; `done(when)` when it can be connected to."""
        cpu, kernel = self._controller.provider.cpu, self._controller.provider.kernel
        cpu.charge(SERVICE_PS)
        made = self._controller.export_create(self._layout.area_bytes)
        made.publish(writer, {host: Permission.READ_WRITE})
        made.landing = partial(self._landed, writer, made.memory)
        kernel.at(cpu.free, done, cpu.free)

    def _landed(self, writer: int, memory: Store, offset: int, data: Buffer) -> None:
        """Lines have landed: in a queue, tell its rank; blocks of the pool count once a postbox names them."""
        if offset < self._pool_at:
            self._readers[offset // self._queue_bytes].landed(writer, memory, offset, data)


@attrs.frozen
class DeviceConfig:
    """What a device needs to know of the job and its options.

    Attributes:
        cluster: the machine, and where ranks are on it.
        layout: of areas and acknowledgements.
        services: by host.
        readers: by host, and by place there.
    """

    cluster: SunfireCluster
    layout: AreaLayout
    services: Mapping[int, AreaService]
    readers: Mapping[int, dict[int, Any]]


class PostboxArea:
    """A rank's area on another host.

    Args:
        host: where it is.
        pool: its blocks.

    Attributes:
        host, pool: as given.
        remote: the import; None until connected.
        ways: the connections that go through it.
    """

    __slots__ = ("host", "pool", "remote", "ways")

    def __init__(self, host: int, pool: BufferPool) -> None:
        self.host = host
        self.pool = pool
        self.remote: SafeImport | None = None
        self.ways: list[Outward] = []


@attrs.define(eq=False)
class PiecewiseSend:
    """A matched message (rendezvous): its data go, or go on, in pieces.

    Attributes:
        send: what sends it.
        wanted: bytes that go.
        stored: bytes that are away.
        blocks: what was set aside for each piece, in order; empty where blocks are found piece by piece.
    """

    send: Send
    wanted: int
    stored: int = 0
    blocks: deque[tuple[int, ...]] = attrs.Factory(deque)


@attrs.frozen(eq=False)
class UnacknowledgedEntry:
    """An entry of one or more postboxes that is not acknowledged.

    Attributes:
        count: how many it has.
        blocks: what they point to.
        short: bytes of a short message in them.
    """

    count: int
    blocks: tuple[int, ...]
    short: int


_SINGLES = [UnacknowledgedEntry(1, (), nbytes) for nbytes in range(SINGLE + 1)]
"""Of each size of a message that fits one postbox."""
_RUN = 64
"""Lines of acknowledgements that are read together, at most."""


class Looks(NamedTuple):
    """What a rank has looked at of another's acknowledgements.

    Attributes:
        looks: how many lines.
        come: of these, lines that the other's NI has written since the look before: no cache holds them.
        runs: of how many runs of consecutive lines these are.
    """

    looks: int
    come: int
    runs: int


class Outward:
    """A rank's connection to one other: the writer's end of a queue there.

    Args:
        peer: the other.
        place: its place among the ranks of its host.
        area: this rank's there.
        layout: sizes.
        keep: whether to keep what was written last into each postbox, so that it can be written again.

    Attributes:
        peer, area: as given.
        acks: the other's acknowledgements, here; None until connected.
        store: stores lines into the area; None until connected.
        room: postboxes that are free and not reserved.
        waiting: sends, and headers of other entries, for which there is no room yet, in order.
        large: messages that are under way in pieces; they take turns.
        sent: entries that are not known to be acknowledged, in order.
        kept: blocks with data that the other keeps as unexpected, by the number of the first postbox of their entry.
        short: bytes of short messages, since the beginning, that the other may have kept.
        taken: how many of these it has taken, as far as was looked.
    """

    __slots__ = (
        "_base", "_first", "_keep", "_layout", "_lines", "_short_pool", "_size", "_tail", "acks", "area", "kept",
        "large", "peer", "room", "sent", "short", "store", "taken", "waiting",
    )  # fmt: skip

    def __init__(self, peer: int, place: int, area: PostboxArea, layout: AreaLayout, *, keep: bool) -> None:
        self.peer = peer
        self.area = area
        self.acks: Store | None = None
        self.store: LineStore | None = None
        self.room = layout.postboxes
        self.waiting: deque[Send | PostboxHeader] = deque()
        self.large: deque[PiecewiseSend] = deque()
        self.sent: deque[UnacknowledgedEntry] = deque()
        self.kept: dict[int, tuple[int, ...]] = {}
        self.short = self.taken = 0
        self._layout = layout
        self._short_pool = layout.short_pool
        self._size = layout.postboxes
        self._base = place * layout.queue_bytes
        self._keep = keep
        self._lines: dict[int, bytes] = {}
        self._first = 0  # number of the first postbox of `sent`
        self._tail = 0  # and of the first behind them
        area.ways.append(self)

    def place(self, header: PostboxHeader, rest: bytes, blocks: tuple[int, ...]) -> Stores:
        """Put an entry behind the last one; return the stores of its postboxes."""
        first, size = self._tail, self._size
        lines = wire.entry(header, rest, first)
        count = len(lines) // LINE
        if self._keep:
            for each in range(count):
                self._lines[(first + each) % size] = lines[each * LINE : (each + 1) * LINE]
        self._tail = first + count
        self.sent.append(UnacknowledgedEntry(count, blocks, header.nbytes if header.kind == wire.INLINE else 0))
        start = first % size
        if start + count <= size:
            return [(self._base + start * LINE, lines)]
        before = (size - start) * LINE  # what comes before the queue's end
        return [(self._base + start * LINE, lines[:before]), (self._base, lines[before:])]

    def is_open(self, nbytes: int) -> bool:
        """Return whether a short message that fits one postbox may go, as far as is known without a look."""
        return self.room > 0 and not self.waiting and self.short + nbytes <= self._short_pool

    def place_single(
        self, mode: int, context: int, source: int, tag: int, send: int, data: memoryview
    ) -> tuple[int, bytes]:
        """Put a message of one postbox, which is free, behind the last one; return its store."""
        postbox, nbytes = self._tail, len(data)
        self._tail = postbox + 1
        self.room -= 1
        self.short += nbytes
        line = pack_single(
            ALONE, postbox % SEQUENCES, INLINE | mode << MODE, context, source, tag, nbytes, send, 0, bytes(data)
        )
        place = postbox % self._size
        if self._keep:
            self._lines[place] = line
        self.sent.append(_SINGLES[nbytes])
        return self._base + place * LINE, line

    def again(self) -> Stores:
        """Return the stores that write all postboxes again that are not acknowledged."""
        size = self._size
        return [(self._base + each % size * LINE, self._lines[each % size]) for each in range(self._first, self._tail)]

    def acknowledged(self) -> bool:
        """Return whether all that was sent is acknowledged; free of cost."""
        return self._acknowledged(range(self._first, self._tail))

    def _acknowledged(self, postboxes: Sequence[int]) -> bool:
        """Return whether all of some postboxes are acknowledged."""
        size, acks = self._size, self.acks
        if acks is None:
            return not postboxes
        return all(acks.read(each % size * LINE, 1)[0] == wire.ack_byte(each, size) for each in postboxes)

    def reclaim(self) -> Looks:
        """Take back what the other has acknowledged; return what was looked at.

        The last look, at an entry that is not acknowledged yet, is not counted.
        """
        acks, before = self.acks, self._first
        if acks is None:
            return Looks(0, 0, 0)
        self._reclaim_postboxes(acks)
        size, looks = self._size, self._first - before
        come = looks
        runs = (self._first - 1) // size - before // size + 1 if come else 0  # the end of the queue cuts one in two
        single = 0  # lines that have come by themselves
        for number, blocks in list(self.kept.items()):
            looks += 1
            if wire.NUMBER.unpack(acks.read(self._layout.release_at(blocks[0]), 8))[0] == number + 1:
                self.area.pool.free(blocks)
                del self.kept[number]
                single += 1
        return Looks(looks, come + single, runs + single)

    def _reclaim_postboxes(self, acks: Store) -> None:
        """Take back the postboxes of entries that are acknowledged, in order."""
        size, sent, short, first = self._size, self.sent, self.short, self._first
        end, use, lines = first, 0, b""
        while sent:
            if first >= end:  # lines are read together, as far as the queue's end
                use, place = divmod(first, size)
                use, end = use % 255 + 1, first + min(_RUN, size - place, self._tail - first)
                lines = acks.read(place * LINE, (end - first) * LINE)
            entry, at = sent[0], (first - end) * LINE
            if lines[at] != use or (entry.count > 1 and not self._acknowledged(range(first, first + entry.count))):
                break
            del sent[0]
            blocks = entry.blocks
            if lines[at + 1] != wire.KEPT:
                short -= entry.short
                if blocks:
                    self.area.pool.free(blocks)
            elif blocks:
                self.kept[first] = blocks
            first += entry.count
        self.short = short
        self.room += first - self._first
        self._first = first

    def look_taken(self) -> bool:
        """Look how many bytes the other has taken; return whether it has said so since the last look."""
        if self.acks is None:
            return False
        before = self.taken
        self.taken = wire.NUMBER.unpack(self.acks.read(self._layout.taken_at, 8))[0]
        return self.taken != before

    def may_keep(self, nbytes: int) -> bool:
        """Return whether the other can keep `nbytes` more of unexpected short messages, as far as was looked."""
        return self.short + nbytes - self.taken <= self._short_pool


class Inward:
    """The connection of one other rank to this one: the reader's end of a queue here.

    Args:
        peer: the other.
        memory: the other's area on this host.
        base: where the queue begins in it.
        layout: sizes.
        keep: whether to keep what was written last into each line of acknowledgements.

    Attributes:
        peer, memory, layout: as given.
        head: number of the first postbox that was not taken.
        landed: how many lines have landed; as many as `head`: there is nothing to take.
        last: where in the area the last of them have landed, and what.
        remote: the acknowledgements, at the other; None until connected.
        store: stores lines there; None until connected.
        taken: bytes of short messages that were kept, and were taken since.
        told: how many of these the other has been told.
        written: lines of acknowledgements that may be lost, by offset.
    """

    __slots__ = (
        "_base", "_keep", "_size", "head", "landed", "last", "layout", "memory", "peer", "remote", "store", "taken",
        "told", "written",
    )  # fmt: skip

    def __init__(self, peer: int, memory: Store, base: int, layout: AreaLayout, *, keep: bool) -> None:
        self.peer = peer
        self.memory = memory
        self.head = self.landed = self.taken = self.told = 0
        self.last: tuple[int, Buffer] = -1, b""
        self.remote: SafeImport | None = None
        self.store: LineStore | None = None
        self.written: dict[int, bytes] = {}
        self._base = base
        self.layout = layout
        self._size = layout.postboxes
        self._keep = keep

    def peek_single(self) -> tuple[Any, ...]:
        """Return the fields of the postbox at the head, as if it were a message by itself (`wire.unpack_single`)."""
        wanted = self._base + self.head % self._size * LINE
        offset, data = self.last
        return unpack_single(data if offset == wanted else self.memory.read(wanted, LINE))

    def peek(self) -> list[bytes]:
        """Return the postboxes of the entry at the head; none where it has not come, or not all of it."""
        number = self.head
        line = self._line(number)
        count = wire.postboxes(line, number)
        if count == 1:  # nearly always
            return [line]
        return self._entry(number) if count else []

    def untaken(self) -> list[UntakenMessage]:
        """Return the messages in the queue of which all postboxes have come."""
        found: list[UntakenMessage] = []
        number = self.head
        while lines := self._entry(number):
            header, rest = wire.decode(lines)
            if header.kind in wire.MESSAGES:
                found.append(UntakenMessage(self.peer, header.context, self._begin(header, rest)))
            number += len(lines)
        return found

    def _begin(self, header: PostboxHeader, rest: bytes) -> bytes:
        """Return with what a message begins whose entry this is."""
        size = min(header.nbytes, BEGIN)
        if header.kind == wire.EAGER:
            return self.memory.read(self.layout.block_at(wire.blocks_of(header, rest)[0]), size)
        return rest[:size] if header.kind == INLINE else b""

    def acknowledge_single(self, number: int) -> tuple[int, bytes]:
        """Return the store that acknowledges one postbox, whose data were taken."""
        use, place = divmod(number, self._size)
        offset, line = place * LINE, _FREED[use % 255]
        if self._keep:
            self.written[offset] = line
        return offset, line

    def acknowledge(self, first: int, count: int, state: int) -> Stores:
        """Return the stores that acknowledge postboxes."""
        size = self._size
        start = first % size
        if count == 1:
            stores: Stores = [(start * LINE, wire.ack(first, size, state))]
        else:
            lines = [wire.ack(number, size, state) for number in range(first, first + count)]
            before = size - start
            stores = [(start * LINE, b"".join(lines[:before]))]
            if count > before:
                stores.append((0, b"".join(lines[before:])))
        return self.remember(stores) if self._keep else stores

    def remember(self, stores: Stores) -> Stores:
        """Keep what is written into lines of acknowledgements, where that can be lost; return the same."""
        if self._keep:
            for offset, lines in stores:
                for start in range(0, len(lines), LINE):
                    self.written[offset + start] = bytes(lines[start : start + LINE])
        return stores

    def _entry(self, number: int) -> list[bytes]:
        """Return the postboxes of the entry whose first has that number; none where not all of it has come."""
        lines = [self._line(number)]
        count = wire.postboxes(lines[0], number)
        for place in range(number + 1, number + count):
            lines.append(self._line(place))
            if not wire.is_further(lines[-1], place):
                return []
        return lines if count else []

    def _line(self, number: int) -> bytes:
        return self.memory.read(self._base + number % self._size * LINE, LINE)
