"""The tests by SHMEM: gets and puts of symmetric arrays, the tree by puts, fences and flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from extended import shmem
from extended.scaling.library import Array, OneSidedLibrary
from extended.scaling.tree import children, is_leaf

if TYPE_CHECKING:
    from extended.scaling.library import Form

NO, YES = 0, 1


class ByShmem(OneSidedLibrary):
    """SHMEM's side of a PE; `made` makes it."""

    name = "shmem"
    closes_together = False

    def __init__(self, pe: shmem.PE, arrays: Array, flag: Any) -> None:
        super().__init__(pe, arrays)
        self._pe, self._flag = pe, flag
        self._yes = np.array([YES], flag.dtype)

    @classmethod
    async def made(cls, pe: shmem.PE, arrays: Array) -> ByShmem:
        """Make this side; collective, arguments as of the class."""
        return cls(pe, arrays, await pe.zeros(1, "i8"))

    async def get(self, count: int, pe: int, taken: int = 0, placed: int = 0) -> None:
        """As `OneSidedLibrary.get`."""
        await self._pe.get(self.target[placed : placed + count], self.source[taken : taken + count], pe)

    async def put(self, count: int, pe: int) -> None:
        """As `OneSidedLibrary.put`."""
        await self._pe.put(self.target[:count], self.source[:count], pe)

    async def forward(self, count: int, pe: int) -> None:
        """As `OneSidedLibrary.forward`."""
        await self._pe.put(self.target[:count], self.target[:count], pe)

    async def close(self) -> None:
        """Nothing: gets are complete, and the times of puts are those of their senders (`sh.m.timed.shmem`)."""

    async def barrier(self) -> None:
        """As `OneSidedLibrary.barrier`."""
        await self._pe.barrier_all()

    async def open_tree(self, form: Form) -> None:
        """Nothing."""

    async def broadcast(self, count: int, form: Form) -> None:
        """Hand on by put, fence and flag; leaves below an inner PE get no flag, the barrier completes their put."""
        rank, size = self.rank, self.size
        if rank and not is_leaf(rank, size):
            await self._pe.wait_until(self._flag, shmem.CMP_NE, NO)
            self._flag[0] = NO
        for child in children(rank, size):
            await self.forward(count, child)
            if rank == 0 or child != rank + 1:
                await self._pe.fence()
                await self._pe.put(self._flag, self._yes, child)
        await self._pe.barrier_all()

    async def close_tree(self) -> None:
        """Nothing: its barrier is a part of the tree."""

    def reset(self) -> None:
        """Take back flags that their PEs ignored."""
        self._flag[0] = NO
