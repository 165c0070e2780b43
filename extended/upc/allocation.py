"""Shared memory: arrays that all threads allocate together, or one alone, and the end of them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import trio

import conduit
from extended import BarrierMismatch
from extended.front_ends import public
from extended.program_lines import made_here
from extended.upc import arguments
from extended.upc.agreement import two_that_differ
from extended.upc.array import SharedArray
from extended.upc.keys import Description, number_of
from extended.upc.places import check_array

if TYPE_CHECKING:
    from extended.upc.runtime import Runtime

_ALIGN = 64


def _for_alloc(call: str, t: UpcAllocation, shape: Any, dtype: Any, block: Any) -> tuple[Any, ...]:
    sizes = arguments.shape_of(call, shape)
    made = arguments.dtype_of(call, dtype)
    return t, sizes, made, arguments.block_of(call, block, prod(sizes), t.runtime.ep.size)


def _for_all_alloc(t: UpcAllocation, shape: Any, dtype: Any = "f8", block: Any = None) -> tuple[Any, ...]:
    return _for_alloc("t.all_alloc", t, shape, dtype, block)


def _for_global_alloc(t: UpcAllocation, shape: Any, dtype: Any = "f8", block: Any = None) -> tuple[Any, ...]:
    return _for_alloc("t.global_alloc", t, shape, dtype, block)


def _for_own_alloc(t: UpcAllocation, shape: Any, dtype: Any = "f8") -> tuple[Any, ...]:
    return _for_alloc("t.alloc", t, shape, dtype, "indefinite")[:-1]


def _for_free(t: UpcAllocation, a: Any) -> None:
    check_array("t.free", t.runtime, "a", a)


def _for_all_free(t: UpcAllocation, a: Any) -> None:
    check_array("t.all_free", t.runtime, "a", a)


class UpcAllocation:
    """The calls that make arrays and end them.

    Attributes:
        runtime: what the thread's arrays and calls share.
    """

    runtime: Runtime
    _together = 0
    """Arrays that all threads have made together."""
    _alone = 0
    """Arrays that this thread has made alone."""

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
        await self.runtime.fence()
        self.runtime.x.refuse_between("t.all_alloc")  # its barrier would be refused, with the memory taken
        with trio.CancelScope(shield=True):  # the others are to come out of it together with this one
            array = await self._all_alloc(shape, dtype, block)
        return array

    async def _all_alloc(self, shape: Any, dtype: Any, block: Any) -> SharedArray:
        runtime = self.runtime
        number = self._together
        self._together += 1
        made = Description(number_of(None, number, runtime.ep.size), 0, shape, dtype, block, 0)
        nbytes = made.layout(runtime.ep.size).most() * dtype.itemsize
        called = f"t.all_alloc(shape={shape}, dtype={dtype}, block={'indefinite' if block is None else block})"
        made = made.at(await runtime.x.all_alloc(nbytes, _ALIGN, called=called))
        array = runtime.arrays[made.id] = SharedArray(runtime, made, made_here(called))
        array.memory.clear()
        try:
            # No thread may write into memory that its owner has still to clear.  Threads that disagree find out here.
            await runtime.x.barrier(made.checksum(), called="t.all_alloc")
        except BarrierMismatch:
            calls = await two_that_differ(runtime, "t.all_alloc", called)
            await runtime.x.free(made.offset, called="t.all_alloc")
            raise conduit.BadRequest(
                f"t.all_alloc: {calls}; make the same calls with the same arguments in the same order on every thread"
            ) from None
        return array

    @public("t", _for_all_free)
    async def all_free(self, a: SharedArray) -> None:
        """Free an array; collective, and a fence.

        Args:
            a: the array, the same on every thread.

        Raises:
            conduit.BadRequest: no array, one that was freed, or another one than on other threads.
        """
        await self.runtime.fence()
        maker = a.description.maker(self.runtime.ep.size)
        whose = "" if maker is None else f", an array that thread {maker} made"
        try:
            await self.runtime.x.free(a.description.offset, called=f"t.all_free(what {a.made} gave{whose})")
        except conduit.BadRequest as error:
            if maker is None:
                raise
            raise conduit.BadRequest(
                f"{error}; an array of each thread's own is freed by that thread alone: `await t.free(a)`"
            ) from None
        self.runtime.note_freed(a.description.id, "by t.all_free")

    @public("t", _for_global_alloc)
    async def global_alloc(self, shape: Any, dtype: Any = "f8", block: Any = None) -> SharedArray:
        """Allocate an array of zeros over all threads, by this thread alone; others open it by its key.

        Args:
            shape: an integer, or a tuple of them.
            dtype: any of numpy's with a fixed size.
            block: as for `all_alloc`.

        Returns:
            the array.

        Raises:
            conduit.BadRequest: a wrong argument, or too little room, with what is needed.
        """
        return await self._allocate("t.global_alloc", shape, dtype, block, 0)

    @public("t", _for_own_alloc)
    async def alloc(self, shape: Any, dtype: Any = "f8") -> SharedArray:
        """Allocate an array of zeros whose elements are all this thread's, by this thread alone.

        The room is taken in every thread's segment, as there is one map of the memory for all.

        Args:
            shape: an integer, or a tuple of them.
            dtype: any of numpy's with a fixed size.

        Returns:
            the array.

        Raises:
            conduit.BadRequest: a wrong argument, or too little room, with what is needed.
        """
        return await self._allocate("t.alloc", shape, dtype, None, self.runtime.ep.rank)

    async def _allocate(self, call: str, shape: Any, dtype: Any, block: int | None, first: int) -> SharedArray:
        runtime, rank, threads = self.runtime, self.runtime.ep.rank, self.runtime.ep.size
        await runtime.writes.make_room()
        self._alone += 1
        made = Description(number_of(rank, self._alone, threads), 0, shape, dtype, block, first)
        nbytes = made.layout(threads).most() * dtype.itemsize
        called = f"{call}(shape={shape}, dtype={dtype})"
        offset = await runtime.x.global_alloc(nbytes, _ALIGN, called=called)
        made = made.at(offset)
        array = SharedArray(runtime, made, made_here(called))
        try:
            await array.memory.clear_all(call)
        except BaseException:
            with trio.CancelScope(shield=True):
                await runtime.x.sync()  # what clears the memory must not come later than its next owner
                await runtime.x.global_free(offset)
            raise
        runtime.arrays[made.id] = array
        return array

    @public("t", _for_free)
    async def free(self, a: SharedArray) -> None:
        """Free an array, by one thread, once for all; a fence.  Every thread's later use of it is refused.

        Args:
            a: the array, however it was allocated.

        Raises:
            conduit.BadRequest: no array, or one that was freed.
        """
        await self.runtime.fence()
        a.check_alive("t.free")
        await self.runtime.free(a.description.id, a.description.offset)

    def array(self, key: bytes) -> SharedArray:
        """Open an array that another thread has allocated; plain.

        Args:
            key: its ``a.key``.

        Returns:
            the array; the same object as long as this thread has it open.

        Raises:
            conduit.BadRequest: no key, or that of an array that was freed.
        """
        made = Description.of_key(key)
        what = f"the array of shape {made.shape} and dtype {made.dtype}"
        self.runtime.check_alive(made.id, what, "t.array")
        found = self.runtime.arrays.get(made.id)
        if found is None:
            found = self.runtime.arrays[made.id] = SharedArray(self.runtime, made, made_here("t.array(key)"))
        return found
