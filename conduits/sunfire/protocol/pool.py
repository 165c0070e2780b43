"""The pool of blocks that a process keeps on another host: who may write where, known to the writer alone.

A pool serves all receivers on its host.  Its one writer allocates without asking anybody, and gets a block back
when the receiver acknowledges the postbox that pointed to it.

A block whose writing failed is *withdrawn*: what was on its way to it may still land, so it is not given out before a
memory barrier was good.

Source: SIS 3 (small and large blocks); sizes sf.sis.block_small, sf.sis.block_large, sf.q.buffer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import attrs

from conduit.errors import BadRequest


@attrs.frozen
class BlockPoolShape:
    """How a pool is cut into blocks.  Small blocks have the numbers behind the large ones.

    Attributes:
        small: bytes of a small block.
        large: bytes of a large block, a multiple of `small`; equal where all blocks are alike.
        smalls: number of small blocks.
        larges: number of large blocks.
    """

    small: int
    large: int
    smalls: int
    larges: int

    def __attrs_post_init__(self) -> None:
        """Check the sizes."""
        if self.small < 64 or self.small % 64 or self.large % self.small:
            raise BadRequest(
                f"blocks of {self.small} and {self.large} bytes: a small block is whole lines of 64 bytes, a large one "
                "whole small ones"
            )
        if self.smalls + self.larges < 1:
            raise BadRequest(f"{self.larges} large and {self.smalls} small blocks: a pool has at least one block")

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
        """Return where a block begins in the pool: the large ones, then the small ones."""
        if block < self.larges:
            return block * self.large
        return self.larges * self.large + (block - self.larges) * self.small


class Grant:
    """Blocks given to one message.

    Attributes:
        blocks: their numbers, in the order in which the message fills them.
        open: whether they are still the message's.
    """

    __slots__ = ("blocks", "open")

    def __init__(self, blocks: tuple[int, ...]) -> None:
        self.blocks = blocks
        self.open = True


class BlockPool:
    """The free list of one pool, kept by its writer.

    Invariants: every block is in one place, the free list, an open grant or the withdrawn ones.  `free_bytes` is the
    sum of the free blocks, and `reserved` is never more than that.  So a message that has reserved blocks gets them.

    Args:
        shape: how it is cut.

    Attributes:
        shape: as given.
        free_bytes: bytes of the free blocks.
        reserved: bytes of them that are promised to messages which have not taken their blocks yet.
    """

    __slots__ = ("_larges", "_smalls", "_withdrawn", "free_bytes", "reserved", "shape")

    def __init__(self, shape: BlockPoolShape) -> None:
        self.shape = shape
        self.free_bytes = shape.nbytes
        self.reserved = 0
        self._larges = deque(range(shape.larges))
        self._smalls = deque(range(shape.larges, shape.blocks))
        self._withdrawn: list[int] = []

    def reserve(self, nbytes: int) -> bool:
        """Promise blocks for `nbytes`, whole large ones; False where that many are not free now."""
        if self.free_bytes - self.reserved < nbytes:
            return False
        self.reserved += nbytes
        return True

    def allocate(self, nbytes: int) -> Grant | None:
        """Return blocks that hold `nbytes`, None where there are not enough.

        Large blocks first, a small one for a rest that fits it; where one kind runs out the other serves.
        """
        if nbytes > self.free_bytes:
            return None
        taken = tuple(self._choose(nbytes))
        self.free_bytes -= sum(map(self.shape.size, taken))
        return Grant(taken)

    def _choose(self, nbytes: int) -> Iterator[int]:
        small, large = self.shape.small, self.shape.large
        while nbytes > 0:
            if self._larges and (nbytes > small or not self._smalls):
                yield self._larges.popleft()
                nbytes -= large
            else:
                yield self._smalls.popleft()
                nbytes -= small

    def acknowledge(self, grant: Grant) -> None:
        """Take the blocks of a message back, which its receiver has emptied; once, however often it is told."""
        if grant.open:
            grant.open = False
            self._put_back(grant.blocks)

    def fail(self, grant: Grant) -> None:
        """Withdraw the blocks of a message that could not be written, until `settle`."""
        if grant.open:
            grant.open = False
            self._withdrawn.extend(grant.blocks)

    def settle(self) -> None:
        """A barrier was good, so nothing can land in withdrawn blocks any more: they are free."""
        if self._withdrawn:
            withdrawn, self._withdrawn = self._withdrawn, []
            self._put_back(withdrawn)

    @property
    def free(self) -> int:
        """Number of free blocks."""
        return len(self._larges) + len(self._smalls)

    @property
    def withdrawn(self) -> int:
        """Number of withdrawn blocks."""
        return len(self._withdrawn)

    def _put_back(self, blocks: tuple[int, ...] | list[int]) -> None:
        shape = self.shape
        for block in blocks:
            (self._larges if block < shape.larges else self._smalls).append(block)
            self.free_bytes += shape.size(block)
