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
    """

    short_limit: int
    max_medium: int
    postboxes: int
    outstanding: int
    pool: BlockPoolShape
    receivers: int
    page: int

    @property
    def largest(self) -> int:
        """Postboxes of the largest message."""
        return wire.count(header.MAX_SIZE + max(self.short_limit, 2 * LINE))

    @property
    def queue_bytes(self) -> int:
        """Size of a request queue."""
        return self.postboxes * LINE

    @property
    def pool_at(self) -> int:
        """Where the pool begins in an area."""
        return self.receivers * self.queue_bytes

    @property
    def area_bytes(self) -> int:
        """Size of an area."""
        return self._pages(self.pool_at + self.pool.nbytes)

    def block_at(self, block: int) -> int:
        """Return where a block begins in its area."""
        return self.pool_at + self.pool.address(block)

    @property
    def replies_at(self) -> int:
        """Where the reply postboxes begin in a pair."""
        return self.queue_bytes

    @property
    def reply_postboxes(self) -> int:
        """Postboxes of a reply queue."""
        return self.outstanding * self.largest

    def reply_block_at(self, region: int) -> int:
        """Return where a region of reply blocks begins in a pair."""
        return self.replies_at + self.reply_postboxes * LINE + region * self.max_medium

    @property
    def pair_bytes(self) -> int:
        """Size of a pair."""
        return self._pages(self.reply_block_at(self.outstanding))

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
