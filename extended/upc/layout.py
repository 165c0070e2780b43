"""The block-cyclic layout: which thread an element belongs to, and where it lies there.

Elements are counted by their flattened index.  Blocks of equal size go to the threads in turn.  All functions take one
index or an array of them, and work on whole arrays at once.

Source: UPC Language Specifications 1.3, 6.5.2 (shared arrays) and 7.2.3 (`upc_threadof`, `upc_phaseof`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    import numpy.typing as npt

    Indices = npt.NDArray[np.int64]

I = TypeVar("I", int, "npt.NDArray[Any]")  # noqa: E741 - one index, or many


class Layout:
    """Elements in blocks that threads take in turn.

    Args:
        size: number of elements.
        block: elements of a block; None: all of them, which is UPC's indefinite block size.
        threads: number of threads.
        first: the thread that has element 0.

    Attributes:
        size, block, threads, first: as given, `block` as a number.
        indefinite: whether there is one block without end.
    """

    __slots__ = ("_round", "block", "first", "indefinite", "size", "threads")

    def __init__(self, size: int, block: int | None, threads: int, first: int = 0) -> None:
        self.size = size
        self.indefinite = block is None
        self.block = max(size, 1) if block is None else block
        self.threads = threads
        self.first = first
        self._round = self.block * threads

    def owner(self, flat: I) -> I:
        """Return the thread that an element belongs to."""
        if self.indefinite:
            return flat * 0 + self.first
        return (flat // self.block + self.first) % self.threads

    def phase(self, flat: I) -> I:
        """Return the place of an element in its block; 0 where the block has no end."""
        return flat * 0 if self.indefinite else flat % self.block

    def local(self, flat: I) -> I:
        """Return the place of an element among those of its thread."""
        if self.indefinite:
            return flat
        local: I = flat // self._round * self.block + flat % self.block
        return local

    def count(self, thread: int) -> int:
        """Return how many elements a thread has."""
        turn = (thread - self.first) % self.threads
        rounds, rest = divmod(self.size, self._round)
        return rounds * self.block + min(max(rest - turn * self.block, 0), self.block)

    def most(self) -> int:
        """Return how many elements the thread has that has most."""
        return self.count(self.first)

    def indices(self, thread: int) -> Indices:
        """Return the flattened indices of a thread's elements, ascending; element k of it lies at place k."""
        return self.indices_at(thread, np.arange(self.count(thread), dtype=np.int64))

    def indices_at(self, thread: int, local: I) -> I:
        """Return the flattened index of the element at a place among those of a thread."""
        turn = (thread - self.first) % self.threads
        flat: I = local // self.block * self._round + turn * self.block + local % self.block
        return flat

    def by_owner(self, flat: Indices) -> list[tuple[int, Indices | slice]]:
        """Part indices by thread.

        Args:
            flat: flattened indices, of one dimension.

        Returns:
            each thread that has some, ascending, with the positions of those in `flat`.
        """
        if not len(flat):
            return []
        if self.indefinite or self.threads == 1:
            return [(self.first, slice(None))]
        owners = self.owner(flat)
        if (owners == owners[0]).all():
            return [(int(owners[0]), slice(None))]
        # Small keys are sorted by digits, in linear time.
        order = np.argsort(owners.astype(np.min_scalar_type(self.threads)), kind="stable")
        counts = np.bincount(owners, minlength=self.threads)
        ends = np.cumsum(counts)
        return [(int(owner), order[ends[owner] - counts[owner] : ends[owner]]) for owner in np.flatnonzero(counts)]
