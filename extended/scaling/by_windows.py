"""The tests by MPI-2: gets and puts between two fences, the tree by tokens or by looking at the last element.

The tree's listing looks at its own window inside an epoch, which a checker of epochs would refuse, and rightly: so the
window has none.  Tokens are short Active Messages, since the extended layer has no two-sided ones; beside these they
are charged what a send and a receive of the vendor's library add.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from extended.scaling.library import Array, OneSidedLibrary
from extended.scaling.tree import children, parent
from extended.windows import Win

if TYPE_CHECKING:
    import conduit
    from extended import shmem
    from extended.scaling.library import Form

ITEM = 8
SEND, RECV = "mpi_send", "mpi_recv"
"""The names of their costs in a conduit's table of libraries' calls."""

LOOKS = 64
"""In vain, after which a PE sleeps: while a megabyte goes down the tree there would be thousands to simulate."""


class ByWindows(OneSidedLibrary):
    """MPI-2's side of a PE; `made` makes it."""

    name = "mpi2"
    closes_together = True

    def __init__(self, pe: shmem.PE, arrays: Array, window: Win) -> None:
        super().__init__(pe, arrays)
        self._window = window
        self._tokens = 0
        self._last = np.zeros(1)

    @classmethod
    async def made(cls, pe: shmem.PE, arrays: Array) -> ByWindows:
        """Make the window over the arrays, and its first fence; collective, arguments as of the class."""
        window = await Win.Create(arrays, ITEM, comm=pe.extended, checks=False)
        made = cls(pe, arrays, window)
        await pe.ep.attach(made.token)
        await window.Fence()
        return made

    def token(self, token: conduit.Token) -> None:
        """Take note of a token; a handler."""
        self._tokens += 1

    async def get(self, count: int, pe: int, taken: int = 0, placed: int = 0) -> None:
        """As `OneSidedLibrary.get`."""
        await self._window.Get(self.target[placed : placed + count], pe, (taken, count))

    async def put(self, count: int, pe: int) -> None:
        """As `OneSidedLibrary.put`."""
        await self._window.Put(self.source[:count], pe, (self.half, count))

    async def forward(self, count: int, pe: int) -> None:
        """As `OneSidedLibrary.forward`."""
        await self._window.Put(self.target[:count], pe, (self.half, count))

    async def close(self) -> None:
        """One fence, inside the clock (`sh.m.timed.mpi2`)."""
        await self._window.Fence()

    async def barrier(self) -> None:
        """As `OneSidedLibrary.barrier`."""
        await self.x.barrier()

    async def open_tree(self, form: Form) -> None:
        """Wait for all, where tokens take the place of fences afterwards."""
        if form == "get":
            await self.barrier()
            await self._window.Fence()

    async def broadcast(self, count: int, form: Form) -> None:
        """Hand on by gets that tokens allow, or by puts; who waits looks at the last element of its own window."""
        if form == "get":
            await self._fetched(count)
        else:
            await self._pushed(count)

    async def close_tree(self) -> None:
        """Complete all and wait for all."""
        await self._window.Fence()
        await self.barrier()

    async def _fetched(self, count: int) -> None:
        if self.rank:
            before = parent(self.rank)
            await self.ep.block_until(lambda: self._tokens, what="the token", ranks=(before,))
            self._tokens -= 1
            self._charge(RECV)
            await self._window.Get(self.target[:count], before, (self.half, count))
            await self._arrived(count)
        for child in children(self.rank, self.size):
            self._charge(SEND)
            await self.ep.request_short(child, self.token)

    def _charge(self, call: str) -> None:
        self.ep.charge_library(self.ep.library_cost(call))

    async def _pushed(self, count: int) -> None:
        if self.rank:
            await self._arrived(count)
        for child in children(self.rank, self.size):
            await self.forward(count, child)

    async def _arrived(self, count: int) -> None:
        """Get the last element of the own window until it is there, as the listing does.

        After `LOOKS` in vain the PE sleeps until the element is there, and then until the look would be over that it
        would be in: looks in vain take the same time each.
        """
        place, looks = (self.half + count - 1, 1), 0
        began = took = 0.0
        self._last[0] = 0
        while not self._last[0]:
            if looks == LOOKS:
                await self.ep.block_until(
                    lambda: bool(self.target[count - 1]), what="the last element", ranks=(parent(self.rank),)
                )
                await self.ep.compute((began - self.ep.now) % took)
                return
            began = self.ep.now
            await self._window.Get(self._last, self.rank, place)
            await self.ep.poll()
            took, looks = self.ep.now - began, looks + 1

    def reset(self) -> None:
        """Nothing is left of a trial but the data."""
