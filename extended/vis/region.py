"""Places at regular distances: what a strided transfer reads or writes."""

from __future__ import annotations

import struct
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from extended.vis.items import Items, items_of
from extended.vis.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import numpy.typing as npt


class StridedRegion:
    """Runs of bytes of one length, run [i, j, ...] from ``base + i*strides[0] + j*strides[1] + ...`` on.

    Attributes:
        base: offset of the first run.
        counts: the runs along each dimension, each above 1; none for a single run.
        strides: bytes from one to the next along each dimension, of any sign.
        run: bytes of a run.
        nbytes: bytes in all.
    """

    __slots__ = ("base", "counts", "nbytes", "run", "strides")

    def __init__(self, base: int, counts: tuple[int, ...], strides: tuple[int, ...], run: int) -> None:
        self.base = base
        self.counts = counts
        self.strides = strides
        self.run = run
        self.nbytes = prod(counts) * run

    @classmethod
    def of(cls, base: int, shape: Sequence[int], strides: Sequence[int], itemsize: int) -> StridedRegion:
        """Return the strided section of an array's elements, with as few dimensions and as long runs as possible.

        Args:
            base: offset of the first element.
            shape: of the array; with a 0 in it the section is empty.
            strides: in bytes.
            itemsize: bytes of an element.
        """
        if 0 in shape:
            return cls(base, (), (), 0)
        counts: list[int] = []
        steps: list[int] = []
        for count, stride in zip(shape, strides, strict=True):
            if count == 1:
                continue
            if counts and steps[-1] == count * stride:  # the rows lie one after the other: one longer row
                counts[-1] *= count
                steps[-1] = stride
            else:
                counts.append(count)
                steps.append(stride)
        if counts and steps[-1] == itemsize:
            itemsize *= counts.pop()
            steps.pop()
        return cls(base, tuple(counts), tuple(steps), itemsize)

    def extent(self) -> tuple[int, int]:
        """Return the offsets of the first byte and behind the last, of a section that has any."""
        reach = [(count - 1) * stride for count, stride in zip(self.counts, self.strides, strict=True)]
        return self.base + sum(min(0, far) for far in reach), self.base + sum(max(0, far) for far in reach) + self.run

    def overlaps(self) -> bool:
        """Say whether two of its runs, which lie in a segment, have a byte in common."""
        reach = self.run
        for stride, count in sorted(zip(map(abs, self.strides), self.counts, strict=True)):
            if stride < reach:  # they may still lie between each other
                return bool((np.diff(np.sort(self.runs().starts)) < self.run).any())
            reach += (count - 1) * stride
        return False

    def items(self, memory: memoryview) -> Items:
        """Return what lies at these places of a segment."""
        return Items(np.ndarray(self.counts, f"V{self.run}", memory, self.base, self.strides))

    def read(self, memory: memoryview) -> bytes:
        """Return a copy of what lies at these places of a segment."""
        return self.items(memory).read(0, self.nbytes)

    def write(self, memory: memoryview, data: bytes) -> None:
        """Store bytes at these places of a segment."""
        self.items(memory).write(0, data)

    def only(self) -> int | None:
        """Return where all lies together, None where it does not."""
        return None if self.counts else self.base

    def runs(self) -> Runs:
        """Return the list of its runs."""
        starts = np.array(self.base, np.int64)
        for count, stride in zip(self.counts, self.strides, strict=True):
            starts = starts[..., None] + np.arange(count, dtype=np.int64) * stride
        listed = starts.reshape(-1)
        return Runs(listed, np.full(len(listed), self.run, np.int64))

    @property
    def packed_bytes(self) -> int:
        """Bytes that `pack` makes."""
        return 8 * (2 + 2 * len(self.counts))

    def pack(self) -> bytes:
        """Return the section as the bytes in which it travels."""
        return struct.pack(f"<{2 + 2 * len(self.counts)}q", self.base, self.run, *self.counts, *self.strides)

    @classmethod
    def unpack(cls, data: memoryview) -> StridedRegion:
        """Return the section that `pack` made these bytes of."""
        base, run, *rest = struct.unpack(f"<{len(data) // 8}q", data)
        dimensions = len(rest) // 2
        return cls(base, tuple(rest[:dimensions]), tuple(rest[dimensions:]), run)


def local_items(array: npt.NDArray[Any]) -> Items:
    """Return the elements of an array that has some, in C order."""
    region = StridedRegion.of(0, array.shape, array.strides, array.itemsize)
    return items_of(array, region.counts, region.strides, region.run)
