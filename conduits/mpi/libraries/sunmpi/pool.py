"""The free list of a pool of blocks in another host's memory, kept by the only one who writes there.

Source: SIS 3.1, Q IV-B.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

from conduits.mpi.libraries.sunmpi.layout import BufferPoolShape


class BufferPool:
    """The free list.

    Args:
        shape: how the pool is cut.

    Attributes:
        shape: as given.
        free_bytes: bytes of the free blocks.
    """

    __slots__ = ("_larges", "_smalls", "free_bytes", "shape")

    def __init__(self, shape: BufferPoolShape) -> None:
        self.shape = shape
        self.free_bytes = shape.nbytes
        self._larges = deque(range(shape.larges))
        self._smalls = deque(range(shape.larges, shape.blocks))

    def allocate(self, sizes: Sequence[int], keep: int = 0) -> list[tuple[int, ...]] | None:
        """Return blocks for pieces of these sizes, None where not all of them fit.

        Large blocks first, a small one for a rest that fits it; where one kind runs out the other serves.

        Args:
            sizes: bytes of each piece.
            keep: bytes that must be left.
        """
        taken: list[tuple[int, ...]] = []
        for size in sizes:
            if size > self.free_bytes:
                break
            taken.append(tuple(self._choose(size)))
        if len(taken) == len(sizes) and self.free_bytes >= keep:
            return taken
        for each in taken:
            self.free(each)
        return None

    def free(self, blocks: Iterable[int]) -> None:
        """Take blocks back."""
        for block in blocks:
            (self._larges if block < self.shape.larges else self._smalls).append(block)
            self.free_bytes += self.shape.size(block)

    def _choose(self, nbytes: int) -> Iterator[int]:
        while nbytes > 0:
            larges = self._larges and (nbytes > self.shape.small or not self._smalls)
            block = (self._larges if larges else self._smalls).popleft()
            size = self.shape.size(block)
            self.free_bytes -= size
            nbytes -= size
            yield block
