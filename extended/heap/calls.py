"""The calls on the symmetric heap."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import conduit
from extended import checks
from extended.calls import public
from extended.heap.combining import HeapCallKind

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex

    from extended.heap.combining import HeapCalls

MOST = 1 << 62
"""No size, offset or alignment is as large as that."""


def _number(call: str, name: str, value: object) -> int:
    number = checks.count(call, name, value)
    if number >= MOST:
        raise conduit.BadRequest(f"{call}: {name}={checks.shown(number)} is more than any segment has; give less")
    return number


def _for_alloc(call: str) -> Callable[..., None]:
    def check(x: SymmetricHeap, nbytes: object, align: object = 64, *, called: str = "", alike: str = "") -> None:
        _number(call, "nbytes", nbytes)
        multiple = _number(call, "align", align)
        if not multiple or multiple & (multiple - 1):
            raise conduit.BadRequest(f"{call}: align={multiple} is no power of two; give 1, 2, 4, 8 and so on")

    return check


def _for_free(call: str) -> Callable[..., None]:
    def check(x: SymmetricHeap, offset: object, *, called: str = "") -> None:
        _number(call, "offset", offset)

    return check


class SymmetricHeap:
    """Memory at the same offset of every rank's segment, from the segment's top down.

    The program owns the segment from offset 0 up to `heap_low`; nothing keeps it from using more, or the heap from
    growing towards it.
    """

    _heap: HeapCalls

    @public(_for_alloc("all_alloc"))
    async def all_alloc(
        self, nbytes: SupportsIndex, align: SupportsIndex = 64, *, called: str = "", alike: str = ""
    ) -> int:
        """Allocate the same bytes of every rank's segment; collective, returns when all ranks have called it.

        What is in them is what was there before: zeros where nothing has used them yet.

        Args:
            nbytes: how many bytes on each rank; none give an offset of its own as well.
            align: power of two that the offset is to be a multiple of.
            called: of a front end: the call that its user made, as "pe.zeros(shape=4)", which errors are to name.
            alike: of a front end: what else of that call is to be the same on all ranks.

        Returns:
            the offset, the same on all ranks.

        Raises:
            conduit.BadRequest: a wrong argument; or, on all ranks, arguments that differ between ranks, or too little
                room, with what is left.
            conduit.ConduitError: an earlier call was cancelled on this rank.
        """
        name = called or "all_alloc"
        return await self._heap.call(name, HeapCallKind.ALLOCATE, index(nbytes), index(align), alike)

    @public(_for_free("free"))
    async def free(self, offset: SupportsIndex, *, called: str = "") -> None:
        """Free what `all_alloc` gave; collective, returns when all ranks have called it.

        Args:
            offset: what it returned.
            called: as of `all_alloc`.

        Raises:
            conduit.BadRequest: no integer; or, on all ranks, one that differs between ranks or is no block's.
            conduit.ConduitError: an earlier call was cancelled on this rank.
        """
        await self._heap.call(called or "free", HeapCallKind.FREE, index(offset), 0)

    @public(_for_alloc("global_alloc"))
    async def global_alloc(self, nbytes: SupportsIndex, align: SupportsIndex = 64, *, called: str = "") -> int:
        """Allocate the same bytes of every rank's segment, by this rank alone; rank 0 is asked, which must poll.

        The others learn of the block from this rank.  What is in it is what was there before.

        Args:
            nbytes: how many bytes on each rank; none give an offset of its own as well.
            align: power of two that the offset is to be a multiple of.
            called: as of `all_alloc`.

        Returns:
            the offset, the same on all ranks.

        Raises:
            conduit.BadRequest: a wrong argument, or too little room, with what is left.

        Source: UPC Language Specifications 1.3, 7.2.4.2, `upc_global_alloc`.
        """
        return await self._heap.call_alone(called or "global_alloc", HeapCallKind.ALLOCATE, index(nbytes), index(align))

    @public(_for_free("global_free"))
    async def global_free(self, offset: SupportsIndex) -> None:
        """Free what `global_alloc` or `all_alloc` gave, by this rank alone, once for all ranks.

        Args:
            offset: what it returned, on whichever rank.

        Raises:
            conduit.BadRequest: no integer, or one that is no block's.
        """
        await self._heap.call_alone("global_free", HeapCallKind.FREE, index(offset), 0)

    @property
    def heap_low(self) -> int:
        """Offset of the heap's lowest byte, as of this rank's last call; the segment's size while it is empty."""
        return self._heap.low
