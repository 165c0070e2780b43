"""Which bytes of a segment are allocated: the one map of a job's heap.

It is plain and asks no other rank, so that a handler can use it.  An allocation, by one rank or by all, is done by
rank 0.
"""

from __future__ import annotations

from bisect import insort


class HeapMap:
    """Blocks of a segment, the first of them at its top.

    Args:
        nbytes: size of the segment.
    """

    __slots__ = ("_blocks", "_gaps", "_nbytes")

    def __init__(self, nbytes: int) -> None:
        self._nbytes = nbytes
        self._gaps = [(0, nbytes)] if nbytes else []  # start and stop of what is free, ascending
        self._blocks: dict[int, int] = {}  # offset to size

    def allocate(self, nbytes: int, align: int) -> int | None:
        """Take the highest place that has room.

        Args:
            nbytes: how many bytes; none take one, so that every block has an offset of its own.
            align: what the offset is to be a multiple of.

        Returns:
            the offset, or None where no gap is large enough.
        """
        size = max(nbytes, 1)
        for number in range(len(self._gaps) - 1, -1, -1):
            start, stop = self._gaps[number]
            offset = (stop - size) // align * align
            if offset >= start:
                rest = ((start, offset), (offset + size, stop))
                self._gaps[number : number + 1] = [gap for gap in rest if gap[0] < gap[1]]
                self._blocks[offset] = size
                return offset
        return None

    def free(self, offset: int) -> bool:
        """Give a block back; say whether there was one at that offset."""
        size = self._blocks.pop(offset, None)
        if size is None:
            return False
        insort(self._gaps, (offset, offset + size))
        joined: list[tuple[int, int]] = []
        for start, stop in self._gaps:
            if joined and joined[-1][1] == start:
                joined[-1] = (joined[-1][0], stop)
            else:
                joined.append((start, stop))
        self._gaps = joined
        return True

    @property
    def low(self) -> int:
        """Offset of the lowest byte of the lowest block; the size of the segment where there is none."""
        return min(self._blocks, default=self._nbytes)

    def left(self) -> tuple[int, int]:
        """Return the bytes that are free, and those of the largest gap."""
        sizes = [stop - start for start, stop in self._gaps]
        return sum(sizes), max(sizes, default=0)
