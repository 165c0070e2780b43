"""The calls on the symmetric heap."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import conduit
from extended import checks
from extended.calls import public
from extended.heap.meeting import Kind

if TYPE_CHECKING:
    from typing import SupportsIndex

    from extended.heap.meeting import Meeting

MOST = 1 << 62
"""No size, offset or alignment is as large as that."""


def _number(call: str, name: str, value: object) -> int:
    number = checks.count(call, name, value)
    if number >= MOST:
        raise conduit.BadRequest(f"{call}: {name}={checks.shown(number)} is more than any segment has; give less")
    return number


def _for_all_alloc(x: SymmetricHeap, nbytes: object, align: object = 64) -> None:
    _number("all_alloc", "nbytes", nbytes)
    multiple = _number("all_alloc", "align", align)
    if not multiple or multiple & (multiple - 1):
        raise conduit.BadRequest(f"all_alloc: align={multiple} is no power of two; give 1, 2, 4, 8 and so on")


def _for_free(x: SymmetricHeap, offset: object) -> None:
    _number("free", "offset", offset)


class SymmetricHeap:
    """Memory at the same offset of every rank's segment, from the segment's top down.

    The program owns the segment from offset 0 up to `heap_low`; nothing keeps it from using more, or the heap from
    growing towards it.
    """

    _heap: Meeting

    @public(_for_all_alloc)
    async def all_alloc(self, nbytes: SupportsIndex, align: SupportsIndex = 64) -> int:
        """Allocate the same bytes of every rank's segment; collective, returns when all ranks have called it.

        What is in them is what was there before: zeros where nothing has used them yet.

        Args:
            nbytes: how many bytes on each rank; none give an offset of its own as well.
            align: power of two that the offset is to be a multiple of.

        Returns:
            the offset, the same on all ranks.

        Raises:
            conduit.BadRequest: a wrong argument; or, on all ranks, arguments that differ between ranks, or too little
                room, with what is left.
            conduit.ConduitError: an earlier call was cancelled on this rank.
        """
        return await self._heap.call("all_alloc", Kind.ALLOCATE, index(nbytes), index(align))

    @public(_for_free)
    async def free(self, offset: SupportsIndex) -> None:
        """Free what `all_alloc` gave; collective, returns when all ranks have called it.

        Args:
            offset: what it returned.

        Raises:
            conduit.BadRequest: no integer; or, on all ranks, one that differs between ranks or is no block's.
            conduit.ConduitError: an earlier call was cancelled on this rank.
        """
        await self._heap.call("free", Kind.FREE, index(offset), 0)

    @property
    def heap_low(self) -> int:
        """Offset of the heap's lowest byte, as of this rank's last call; the segment's size while it is empty."""
        return self._heap.low
