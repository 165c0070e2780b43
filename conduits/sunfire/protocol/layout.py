"""Where everything lies: the area of a process on a host, and the space of a pair of processes.

*Area* of process s on host H: on H, written by s alone, for all receivers there.

    for each rank on H     its queue of request postboxes
    the pool               large blocks, then small ones

*Pair* of requester s and replier d: on the host of s, written by d alone; set aside before the first request.

    acknowledgements       a line for each request postbox from s to d; one byte of it counts
    reply postboxes        for as many of the largest reply as requests may be outstanding
    reply blocks           a region of the largest medium payload for each of these
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from conduit.simnet import header
from conduits.sunfire import constants as c
from conduits.sunfire import wire
from conduits.sunfire.protocol.pool import BlockPoolShape
from conduits.sunfire.wire import LINE


@attrs.frozen
class PostboxLayout:
    """Sizes and places; all offsets and sizes in bytes.

    Attributes:
        short_limit: largest payload that goes inline.
        max_medium: largest medium payload.
        postboxes: of a request queue.
        outstanding: requests from one process to another that may be without their reply.
        pool: how a pool is cut.
        receivers: ranks on a host, at most.
        page: segments are multiples of it.
        largest: postboxes of the largest message.
        queue_bytes: size of a request queue.
        queues_at: where each receiver's queue begins in an area.
        pool_at: where the pool begins there.
        area_bytes: size of an area.
        replies_at: where the reply postboxes begin in a pair.
        reply_postboxes: postboxes of a reply queue.
        reply_blocks_at: where the reply blocks begin in a pair.
        pair_bytes: size of a pair.
    """

    short_limit: int
    max_medium: int
    postboxes: int
    outstanding: int
    pool: BlockPoolShape
    receivers: int
    page: int
    largest: int = attrs.field(init=False)
    queue_bytes: int = attrs.field(init=False)
    queues_at: tuple[int, ...] = attrs.field(init=False)
    pool_at: int = attrs.field(init=False)
    area_bytes: int = attrs.field(init=False)
    replies_at: int = attrs.field(init=False)
    reply_postboxes: int = attrs.field(init=False)
    reply_blocks_at: int = attrs.field(init=False)
    pair_bytes: int = attrs.field(init=False)

    # What follows from the options, once: every pair of ranks holds some of it, which so is the same objects.

    @largest.default
    def _largest(self) -> int:
        return wire.count(header.MAX_SIZE + max(self.short_limit, 2 * LINE))

    @queue_bytes.default
    def _queue_bytes(self) -> int:
        return self.postboxes * LINE

    @queues_at.default
    def _queues_at(self) -> tuple[int, ...]:
        return tuple(place * self.queue_bytes for place in range(self.receivers))

    @pool_at.default
    def _pool_at(self) -> int:
        return self.receivers * self.queue_bytes

    @area_bytes.default
    def _area_bytes(self) -> int:
        return self._pages(self.pool_at + self.pool.nbytes)

    @replies_at.default
    def _replies_at(self) -> int:
        return self.queue_bytes

    @reply_postboxes.default
    def _reply_postboxes(self) -> int:
        return self.outstanding * self.largest

    @reply_blocks_at.default
    def _reply_blocks_at(self) -> int:
        return self.replies_at + self.reply_postboxes * LINE

    @pair_bytes.default
    def _pair_bytes(self) -> int:
        return self._pages(self.reply_block_at(self.outstanding))

    def block_at(self, block: int) -> int:
        """Return where a block begins in its area."""
        return self.pool_at + self.pool.address(block)

    def reply_block_at(self, region: int) -> int:
        """Return where a region of reply blocks begins in a pair."""
        return self.reply_blocks_at + region * self.max_medium

    def segment_bytes(self, nbytes: int) -> int:
        """Return the size as which a rank's own segment is exported."""
        return self._pages(nbytes)

    def _pages(self, nbytes: int) -> int:
        return -(-nbytes // self.page) * self.page


@attrs.frozen
class LibraryVersion:
    """How a version of the library cuts up messages.

    Attributes:
        short_limit: largest payload that goes in postboxes, bytes.
        small, large: bytes of the two kinds of blocks.
        smalls, larges: how many of each a pool has.
    """

    short_limit: int
    small: int
    large: int
    smalls: int
    larges: int


LIBRARIES: Mapping[str, LibraryVersion] = {
    "sis": LibraryVersion(*map(c.whole, (c.SIS_SHORT, c.SIS_SMALL, c.SIS_LARGE, c.SIS_SMALLS, c.SIS_LARGES))),
    "q": LibraryVersion(c.whole(c.Q_SHORT), c.whole(c.Q_BLOCK), c.whole(c.Q_BLOCK), c.whole(c.Q_BLOCKS), 0),
}
