"""The code under test of four of the five tests; the tree is each library's own.

Every function moves `count` numbers and returns when the paper's listing ends, before what closes the timed part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from extended.scaling.library import Form, OneSidedLibrary


async def distant(library: OneSidedLibrary, count: int, partner: int) -> None:
    """PE 0 gets from one other PE; all others are idle."""
    if library.rank == 0:
        await library.get(count, partner)


async def shift(library: OneSidedLibrary, count: int, form: Form) -> None:
    """Every PE gets from its left neighbour, or puts to its right one, all at once."""
    if form == "get":
        await library.get(count, (library.rank - 1) % library.size)
    else:
        await library.put(count, (library.rank + 1) % library.size)


async def naive(library: OneSidedLibrary, count: int) -> None:
    """Every PE but 0 gets from PE 0, all at once."""
    if library.rank:
        await library.get(count, 0)


async def alltoall(library: OneSidedLibrary, count: int, *, stagger: bool) -> None:
    """Every PE gets its block from every other PE.

    Args:
        library: of this PE.
        count: numbers in a block.
        stagger: whether it begins at its left neighbour and goes on from there, so that no two PEs are at one source
            at once; otherwise all go from PE 0 up.
    """
    rank, size = library.rank, library.size
    for step in range(size):
        pe = (rank - step) % size if stagger else step
        if pe != rank:
            await library.get(count, pe, rank * count, pe * count)
