"""Where everything lies.

*Area* of process s on host H: on H, written by s alone, for all receivers there.

    for each rank on H     its queue of postboxes
    the pool               large blocks, then small ones

*Acknowledgements* of receiver d to sender s: on the host of s, written by d alone.

    for each postbox       a line, of which two bytes count
    for each block         a line: the data in blocks that were kept, of which this was the first, were taken
    taken                  a line: how many bytes of short messages that were kept have been taken
"""

from __future__ import annotations

import attrs

from conduits.mpi.libraries.sunmpi import wire
from conduits.mpi.libraries.sunmpi.wire import LINE


@attrs.frozen
class BufferPoolShape:
    """How a pool is cut into blocks.  Small blocks have the numbers behind the large ones.

    Attributes:
        small, large: bytes of the two kinds of blocks; equal where all blocks are alike.
        smalls, larges: how many of each there are.
    """

    small: int
    large: int
    smalls: int
    larges: int

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.larges + self.smalls

    @property
    def nbytes(self) -> int:
        """Bytes of the whole pool."""
        return self.larges * self.large + self.smalls * self.small

    def size(self, block: int) -> int:
        """Return the bytes of a block."""
        return self.large if block < self.larges else self.small

    def address(self, block: int) -> int:
        """Return where a block begins in the pool."""
        if block < self.larges:
            return block * self.large
        return self.larges * self.large + (block - self.larges) * self.small


@attrs.frozen
class AreaLayout:
    """Sizes and places; all in bytes.

    Attributes:
        short: the largest message whose data are in its postboxes.
        rendezvous: the smallest message that waits for its receive; None: none does for its size alone.
        piece: what one entry with blocks carries at most, a multiple of the large blocks.
        postboxes: of a queue.
        short_pool: bytes of short messages that a receiver may keep of one sender.
        pool: how a pool is cut.
        reserve: bytes of a pool that only matched messages may take.
        receivers: ranks on a host, at most.
        page: segments are multiples of it.
    """

    short: int
    rendezvous: int | None
    piece: int
    postboxes: int
    short_pool: int
    pool: BufferPoolShape
    reserve: int
    receivers: int
    page: int

    @property
    def queue_bytes(self) -> int:
        """Size of a queue."""
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

    def release_at(self, block: int) -> int:
        """Return where a block's line is among the acknowledgements."""
        return self.queue_bytes + block * LINE

    @property
    def taken_at(self) -> int:
        """Where the last line of the acknowledgements is."""
        return self.release_at(self.pool.blocks)

    @property
    def acks_bytes(self) -> int:
        """Size of a segment of acknowledgements."""
        return self._pages(self.taken_at + LINE)

    @property
    def piece_postboxes(self) -> int:
        """Postboxes of the largest entry with blocks."""
        return wire.count(wire.POINTER * -(-self.piece // self.pool.small))

    def _pages(self, nbytes: int) -> int:
        return -(-nbytes // self.page) * self.page
