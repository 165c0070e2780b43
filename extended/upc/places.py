"""Bytes from a place on: memput, memget, memcpy and memset.

A place is an array and the index of an element; in UPC it is a pointer-to-shared.  Bytes are those that lie behind one
another in the memory of the thread that the element has affinity to, from the element on: not those of the next
indices, which may be other threads'.

Source: UPC Language Specifications 1.3, 7.2.5 (`upc_memput`, `upc_memget`, `upc_memcpy`, `upc_memset`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

import conduit
from conduit.words import is_a
from extended.front_ends import integer, public, shown
from extended.upc import arguments, selection
from extended.upc.array import SharedArray, refuse_read

if TYPE_CHECKING:
    import numpy.typing as npt

    from extended.upc.runtime import Runtime

    Place = tuple[SharedArray, Any]


@attrs.frozen(eq=False)
class Spot:
    """Some bytes of the array in one thread's memory.

    Attributes:
        array: the array.
        owner: the thread.
        offset: of the bytes in its segment.
        nbytes: how many.
    """

    array: SharedArray
    owner: int
    offset: int
    nbytes: int


def check_array(call: str, runtime: Runtime, name: str, a: Any) -> SharedArray:
    """Return an array of this thread that was not freed.

    Raises:
        conduit.BadRequest: it is none.
    """
    if not isinstance(a, SharedArray):
        raise conduit.BadRequest(
            f"{call}: {name}={shown(a)} {is_a(a)}; give a shared array, as the allocations return it"
        )
    if a.memory.x is not runtime.x:
        raise conduit.BadRequest(
            f"{call}: {name} was opened by another thread; open it here by its key, t.array(a.key)"
        )
    a.check_alive(call)
    return a


def spot(call: str, runtime: Runtime, name: str, place: Any, nbytes: int) -> Spot:
    """Return the bytes from a place on.

    Raises:
        conduit.BadRequest: no place, or the part of its owner ends before the bytes do.
    """
    if not isinstance(place, tuple) or len(place) != 2:
        raise conduit.BadRequest(
            f"{call}: {name}={shown(place)} is no place; give an array and the index of an element, (a, i)"
        )
    array = check_array(call, runtime, f"{name}[0]", place[0])
    refuse_read(place[1])
    flat = selection.one(call, "a", array.shape, place[1])
    owner, offset = array.memory.place(flat)
    left = array.memory.offset + array.memory.part_bytes(owner) - offset
    if nbytes > left:
        raise conduit.BadRequest(
            f"{call}: {nbytes} bytes from {name}=(a, {shown(place[1])}) on are more than the {left} that "
            f"thread {owner} has from there; give at most these, and the rest by a call for each thread"
        )
    return Spot(array, owner, offset, nbytes)


def size(call: str, nbytes: Any) -> int:
    """Return a number of bytes.

    Raises:
        conduit.BadRequest: it is none.
    """
    return integer(call, "nbytes", nbytes, 0, arguments.MOST, "a number of bytes, 0 or more")


def _for_memput(t: Bytes, dst: Any, data: Any) -> tuple[Any, ...]:
    refuse_read(data)
    if isinstance(data, np.ndarray | np.generic):
        if data.dtype.hasobject:
            raise conduit.BadRequest(f"t.memput: data has dtype {data.dtype}, which has no bytes of its own")
        given = np.ascontiguousarray(data).reshape(-1).view(np.uint8) if data.nbytes else np.empty(0, np.uint8)
    else:
        try:
            given = np.frombuffer(data, np.uint8) if memoryview(data).nbytes else np.empty(0, np.uint8)
        except (TypeError, ValueError, BufferError) as error:
            raise conduit.BadRequest(
                f"t.memput: data {is_a(data)}, which offers no bytes ({error}); give bytes, a bytearray "
                "or a numpy array"
            ) from None
    return t, spot("t.memput", t.runtime, "dst", dst, given.nbytes), given


def _for_memget(t: Bytes, src: Any, nbytes: Any) -> tuple[Any, ...]:
    return t, spot("t.memget", t.runtime, "src", src, size("t.memget", nbytes)), None


def _for_memcpy(t: Bytes, dst: Any, src: Any, nbytes: Any) -> tuple[Any, ...]:
    number = size("t.memcpy", nbytes)
    return (
        t,
        spot("t.memcpy", t.runtime, "dst", dst, number),
        spot("t.memcpy", t.runtime, "src", src, number),
        number,
    )


def _for_memset(t: Bytes, dst: Any, byte: Any, nbytes: Any) -> tuple[Any, ...]:
    place = spot("t.memset", t.runtime, "dst", dst, size("t.memset", nbytes))
    return t, place, integer("t.memset", "byte", byte, 0, 255, "0 to 255"), None


class Bytes:
    """The calls on bytes; each first completes this thread's writes to the arrays that it touches.

    Attributes:
        runtime: what the thread's arrays and calls share.
    """

    runtime: Runtime

    @public("t", _for_memput)
    async def memput(self, dst: Any, data: Any) -> None:
        """Copy bytes from here to a place; complete when it returns.

        Args:
            dst: the place, ``(a, i)``.
            data: a buffer or numpy array, in use until then.

        Raises:
            conduit.BadRequest: a wrong argument, or more bytes than the owner of the element has from there.
        """
        await self.runtime.writes.settle(dst.array)
        await self.runtime.writes.left.begun(self.runtime.x.put(dst.owner, dst.offset, data))

    @public("t", _for_memget)
    async def memget(self, src: Any, nbytes: Any) -> npt.NDArray[np.uint8]:
        """Copy bytes from a place to here.

        Args:
            src: the place, ``(a, i)``.
            nbytes: how many.

        Returns:
            a new array of dtype uint8.

        Raises:
            conduit.BadRequest: a wrong argument, or more bytes than the owner of the element has from there.
        """
        await self.runtime.writes.settle(src.array)
        return await self.runtime.x.get(src.owner, src.offset, src.nbytes)

    @public("t", _for_memcpy)
    async def memcpy(self, dst: Any, src: Any, nbytes: Any) -> None:
        """Copy bytes from one place to another, on whichever threads; complete when it returns.

        They pass through this thread where it has neither.  Of places that overlap the result is what was there before.

        Args:
            dst: the place that is written, ``(a, i)``.
            src: the place that is read, ``(b, j)``.
            nbytes: how many.

        Raises:
            conduit.BadRequest: a wrong argument, or more bytes than the owner of an element has from there.
        """
        await self.runtime.writes.settle(src.array)
        if dst.array is not src.array:
            await self.runtime.writes.settle(dst.array)
        data = await self.runtime.x.get(src.owner, src.offset, nbytes)
        await self.runtime.writes.left.begun(self.runtime.x.put(dst.owner, dst.offset, data))

    @public("t", _for_memset)
    async def memset(self, dst: Any, byte: Any, nbytes: Any) -> None:
        """Set bytes from a place on; complete when it returns.

        Args:
            dst: the place, ``(a, i)``.
            byte: 0 to 255.
            nbytes: how many.

        Raises:
            conduit.BadRequest: a wrong argument, or more bytes than the owner of the element has from there.
        """
        await self.runtime.writes.settle(dst.array)
        await self.runtime.writes.left.begun(self.runtime.x.memset(dst.owner, dst.offset, byte, dst.nbytes))
