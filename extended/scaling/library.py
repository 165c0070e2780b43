"""What a test needs of a one-sided library: two arrays on every PE, and moves between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import conduit
    from extended import shmem

Array: TypeAlias = npt.NDArray[np.float64]
Form: TypeAlias = Literal["get", "put"]

FLUSH = "cache_flush"
"""The name of its cost in a conduit's table of libraries' calls."""


def numbers(rank: int, count: int, first: int = 0) -> Array:
    """Return what the source of a PE holds from an index on: no zeros, and no two alike."""
    found = np.arange(first, first + count, dtype=np.float64)
    found += (rank + 1) * 1e9
    return found


class OneSidedLibrary(ABC):
    """One PE's side of a library.

    Args:
        pe: SHMEM's; both libraries use its symmetric memory.
        arrays: symmetric; the first half is the source, the second the target.

    Attributes:
        name: of the library, as on the command line.
        closes_together: whether `close` waits for all PEs.
        source: what gets take and puts send; a test does not change it.
        target: what arrives, and what the tree hands on.
    """

    name: str
    closes_together: bool

    def __init__(self, pe: shmem.PE, arrays: Array) -> None:
        self.x = pe.extended
        self.ep: conduit.Endpoint = pe.ep
        self.rank, self.size = pe.my_pe(), pe.n_pes()
        self.half = arrays.size // 2
        self._arrays = arrays
        self.source = self.target = arrays[:0]

    def use(self, count: int) -> None:
        """Give a test `count` numbers of either array, those of the target zero."""
        self.source, self.target = self._arrays[:count], self._arrays[self.half :][:count]
        self.source[:] = numbers(self.rank, count)
        self.target[:] = 0

    def flush(self) -> None:
        """Charge what the flush of the caches costs: a read and a write of an array as large as the last one.

        Nothing is moved: simulated gets always find cold caches (`sh.gap.cold`).
        """
        self.ep.charge(self.ep.library_cost(FLUSH))

    @abstractmethod
    async def get(self, count: int, pe: int, taken: int = 0, placed: int = 0) -> None:
        """Get numbers from the source of another PE into the own target.

        Args:
            count: how many.
            pe: the PE.
            taken: index in the source.
            placed: index in the target.
        """

    @abstractmethod
    async def put(self, count: int, pe: int) -> None:
        """Put the first numbers of the own source into the target of another PE."""

    @abstractmethod
    async def forward(self, count: int, pe: int) -> None:
        """Put the first numbers of the own target into the target of another PE."""

    @abstractmethod
    async def close(self) -> None:
        """Do what ends the timed part of a test other than the tree."""

    @abstractmethod
    async def barrier(self) -> None:
        """Wait for all PEs; what was begun is complete."""

    @abstractmethod
    async def open_tree(self, form: Form) -> None:
        """Do what the tree's listing begins with."""

    @abstractmethod
    async def broadcast(self, count: int, form: Form) -> None:
        """Bring the root's target to all targets by the tree."""

    @abstractmethod
    async def close_tree(self) -> None:
        """Do what the tree's listing ends with."""

    @abstractmethod
    def reset(self) -> None:
        """Forget what a broadcast has left behind."""
