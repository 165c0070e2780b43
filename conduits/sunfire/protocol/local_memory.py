"""The memory on this host that others write: areas and pairs, cut up as `layout` says.

What lands in a queue is given to its reader in the same call, since one more for every line would cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from conduit.sim import Memory
from conduit.sim.memory import Buffer
from conduits.sunfire.hardware import WatchfulMemory
from conduits.sunfire.protocol.inbox import Inbox
from conduits.sunfire.protocol.layout import PostboxLayout
from conduits.sunfire.protocol.lines import put_lines, read_lines
from conduits.sunfire.wire import LINE


class AreaReader(Protocol):
    """A rank that has queues in areas of its host."""

    def make_inbox(self, source: int) -> Inbox:
        """Return this rank's queue in the area of rank `source`, in which lines are landing for the first time."""


class LocalArea(WatchfulMemory):
    """An area on this host.

    Args:
        writer: the rank that writes it.
        layout: of areas.
        readers: the host's ranks by their place there.
    """

    __slots__ = ("_pool", "_pool_at", "_queue_bytes", "_queues", "_readers", "_writer")

    def __init__(self, writer: int, layout: PostboxLayout, readers: Mapping[int, AreaReader]) -> None:
        self._writer = writer
        self._readers = readers
        self._queue_bytes = layout.queue_bytes
        self._pool_at = layout.pool_at
        self._queues: list[Inbox | None] = [None] * layout.receivers
        self._pool = Memory(layout.pool.nbytes)

    def write(self, address: int, data: Buffer) -> None:
        """Take lines that land: in a queue, tell the rank whose it is; blocks of the pool concern none yet."""
        if address >= self._pool_at:
            self._pool.write(address - self._pool_at, data)
            return
        place, start = divmod(address, self._queue_bytes)
        queue = self._queues[place]
        if queue is None:
            queue = self._queues[place] = self._readers[place].make_inbox(self._writer)
        if len(data) == LINE and type(data) is bytes:  # nearly always
            queue.land(start >> 6, data)
        else:
            queue.land_run(start >> 6, data)

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`, of one queue or of blocks."""
        if address >= self._pool_at:
            return self._pool.read(address - self._pool_at, nbytes)
        place, start = divmod(address, self._queue_bytes)
        queue = self._queues[place]
        return bytes(nbytes) if queue is None else read_lines(queue.lines, start, nbytes)


class PairOwner(Protocol):
    """The rank that has set a pair aside.

    Attributes:
        short: whether a task of it waits for postboxes or blocks.
    """

    short: bool

    def freed(self) -> None:
        """Postboxes or blocks are free: let a task that waits for them look again."""


class LocalPair(WatchfulMemory):
    """A pair on this host.

    Args:
        owner: the rank that has set it aside.
        replies: the queue of replies in it.
        layout: of pairs.

    Attributes:
        acknowledgements: its first lines, as far as they were written.
    """

    __slots__ = ("_blocks", "_blocks_at", "_nbytes", "_owner", "_replies", "_replies_at", "acknowledgements")

    def __init__(self, owner: PairOwner, replies: Inbox, layout: PostboxLayout) -> None:
        self._owner = owner
        self._replies = replies
        self._replies_at = layout.replies_at
        self._blocks_at = layout.reply_blocks_at
        self._nbytes = layout.pair_bytes
        self._blocks: Memory | None = None  # made when one lands, which is seldom
        self.acknowledgements: list[bytes] = []

    def write(self, address: int, data: Buffer) -> None:
        """Take lines that land: acknowledgements, replies, or blocks, which concern nobody yet."""
        if len(data) != LINE or type(data) is not bytes or address >= self._blocks_at:
            self._write_several(address, data)
            return
        start = address - self._replies_at
        if start >= 0:
            self._replies.land(start >> 6, data)
            return
        index, lines = address >> 6, self.acknowledgements
        if index == len(lines):
            lines.append(data)
        elif index < len(lines):
            lines[index] = data
        else:
            put_lines(lines, index, data)
        owner = self._owner
        if owner.short:
            owner.freed()

    def _write_several(self, address: int, data: Buffer) -> None:
        """Take any number of lines."""
        start = address - self._replies_at
        if address >= self._blocks_at:
            if self._blocks is None:
                self._blocks = Memory(self._nbytes - self._blocks_at)
            self._blocks.write(address - self._blocks_at, data)
        elif start >= 0:
            self._replies.land_run(start >> 6, data)
        else:
            put_lines(self.acknowledgements, address >> 6, data)
            if self._owner.short:
                self._owner.freed()

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`, of acknowledgements, of replies or of blocks."""
        start = address - self._replies_at
        if address >= self._blocks_at:
            return bytes(nbytes) if self._blocks is None else self._blocks.read(address - self._blocks_at, nbytes)
        if start >= 0:
            return read_lines(self._replies.lines, start, nbytes)
        return read_lines(self.acknowledgements, address, nbytes)
