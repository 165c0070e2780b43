"""Shared memory: arrays that all threads allocate together, or one alone, and the end of them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from zlib import crc32

import conduit
from extended import BarrierMismatch
from extended.upc import arguments
from extended.upc.array import SharedArray
from extended.upc.calls import public
from extended.upc.keys import Description

if TYPE_CHECKING:
    from extended.upc.runtime import Runtime

_ALIGN = 64


def _for_alloc(call: str, t: Allocation, shape: Any, dtype: Any, block: Any) -> tuple[Any, ...]:
    sizes = arguments.shape_of(call, shape)
    made = arguments.dtype_of(call, dtype)
    return t, sizes, made, arguments.block_of(call, block, prod(sizes), t.runtime.ep.size)


def _for_all_alloc(t: Allocation, shape: Any, dtype: Any = "f8", block: Any = None) -> tuple[Any, ...]:
    return _for_alloc("t.all_alloc", t, shape, dtype, block)


def check_array(call: str, t: Allocation, a: Any) -> None:
    """Refuse what is no array of this thread, or was freed.

    Raises:
        conduit.BadRequest: so it is.
    """
    if not isinstance(a, SharedArray):
        raise conduit.BadRequest(
            f"{call}: a={arguments.shown(a)} is a {type(a).__name__}; give a shared array, as the allocations return it"
        )
    if a.memory.x is not t.runtime.x:
        raise conduit.BadRequest(f"{call}: the array belongs to another thread; open it here by its key, t.array(key)")
    a.check_alive(call)


def _for_all_free(t: Allocation, a: Any) -> None:
    check_array("t.all_free", t, a)


class Allocation:
    """The calls that make arrays and end them.

    Attributes:
        runtime: what the thread's arrays and calls share.
    """

    runtime: Runtime
    _arrays = 0
    """Arrays that all threads have made together."""

    @public("t", _for_all_alloc)
    async def all_alloc(self, shape: Any, dtype: Any = "f8", block: Any = None) -> SharedArray:
        """Allocate an array of zeros; collective, and a fence.

        Args:
            shape: an integer, or a tuple of them.
            dtype: any of numpy's with a fixed size.
            block: elements of a block; None: one block for each thread; "indefinite": all on thread 0.

        Returns:
            the array.

        Raises:
            conduit.BadRequest: a wrong argument; on all threads, arguments that differ, or too little room, with what
                is needed.
        """
        runtime = self.runtime
        await runtime.fence()
        number = self._arrays
        self._arrays += 1
        made = Description(number * (runtime.ep.size + 1), 0, shape, dtype, block, 0)
        nbytes = made.layout(runtime.ep.size).most() * dtype.itemsize
        try:
            offset = await runtime.x.all_alloc(nbytes, _ALIGN)
        except conduit.BadRequest as error:
            raise self._no_room("t.all_alloc", made, nbytes, error) from None
        array = SharedArray(runtime, made.at(offset))
        array.memory.clear()
        try:
            # Nobody writes into memory that its owner has still to clear; and threads that disagree find out.
            await runtime.x.barrier(crc32(made.key()))
        except BarrierMismatch:
            raise conduit.BadRequest(
                f"t.all_alloc: thread {runtime.ep.rank} called it with shape={shape}, dtype={dtype}, block={block}, "
                "another thread with other arguments; call it with the same ones on every thread"
            ) from None
        return array

    def _no_room(self, call: str, made: Description, nbytes: int, error: Exception) -> conduit.BadRequest:
        segment = self.runtime.ep.segment.nbytes
        used = segment - self.runtime.x.heap_low
        return conduit.BadRequest(
            f"{call}: an array of shape {made.shape} and dtype {made.dtype} needs {nbytes} bytes of each thread's "
            f"segment, beside {used} of other arrays; start the job with segment={used + nbytes + _ALIGN} or more if "
            f"that is too little ({error})"
        )

    @public("t", _for_all_free)
    async def all_free(self, a: SharedArray) -> None:
        """Free an array; collective, and a fence.

        Args:
            a: the array, the same on every thread.

        Raises:
            conduit.BadRequest: no array, one that was freed, or another one than on other threads.
        """
        await self.runtime.fence()
        await self.runtime.x.free(a.description.offset)
        self.runtime.freed[a.description.id] = "by t.all_free"
