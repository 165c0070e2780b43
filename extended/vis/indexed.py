"""Indexed transfers: elements of one size at any offsets there, one after the other here."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from extended.buffers import check_readable, check_writable, flat
from extended.calls import public
from extended.vis import places
from extended.vis.base import NonContiguous
from extended.vis.local import Whole

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import SupportsIndex, TypeVar

    import numpy.typing as npt

    from extended.buffers import Source, Target
    from extended.events import Handle
    from extended.vis.places import Offsets, Wide
    from extended.vis.runs import Runs

    Arguments = tuple[Any, ...]
    Bytes = npt.NDArray[np.uint8]
    Out = TypeVar("Out", bound=Target)


def _checked(call: str, x: Indexed, dest: object, offsets: object, nbytes: object) -> tuple[int, Wide, int]:
    size = places.element_size(call, nbytes)
    starts = places.offsets(call, offsets)
    return places.check_runs(x.bounds, call, "offsets", dest, starts, size), starts, size


def _for_put(call: str) -> Callable[..., Arguments]:
    def check(x: Indexed, dest: object, offsets: object, nbytes: object, data: object) -> Arguments:
        owner, starts, size = _checked(call, x, dest, offsets, nbytes)
        places.check_total(call, "data", len(starts) * size, check_readable(call, "data", data))
        return x, owner, starts, size, data

    return check


def _for_get(call: str) -> Callable[..., Arguments]:
    def check(x: Indexed, dest: object, offsets: object, nbytes: object, out: object = None) -> Arguments:
        owner, starts, size = _checked(call, x, dest, offsets, nbytes)
        if out is not None:
            places.check_total(call, "out", len(starts) * size, check_writable(call, "out", out))
        return x, owner, starts, size, out

    return check


def _for_implicit_get(x: Indexed, dest: object, offsets: object, nbytes: object, out: object) -> Arguments:
    owner, starts, size = _checked("get_indexed_nbi", x, dest, offsets, nbytes)
    places.check_total("get_indexed_nbi", "out", len(starts) * size, check_writable("get_indexed_nbi", "out", out))
    return x, owner, starts, size, out


class Indexed(NonContiguous):
    """Puts and gets of elements at a list of offsets.

    `offsets` is a list or an array of integers, in any order, which may be changed once the call has been made; each is
    where an element of `nbytes` bytes begins in the segment of `dest`.  Elements of a get may overlap; where those of a
    put do, any of them may stay.
    """

    @public(_for_put("put_indexed"))
    async def put_indexed(self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, data: Source) -> None:
        """Put elements at offsets of a rank's segment; return when they are there.

        Args:
            dest: rank that receives.
            offsets: in its segment, bytes; one for each element.
            nbytes: size of an element.
            data: C-contiguous buffer of ``len(offsets) * nbytes`` bytes, in use until the call has returned.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._put_scattered("put_indexed", index(dest), _runs(offsets, nbytes), Whole(flat(data)))

    @overload
    def get_indexed(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: None = None
    ) -> Coroutine[Any, Any, Bytes]: ...
    @overload
    def get_indexed(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: Out
    ) -> Coroutine[Any, Any, Out]: ...
    @public(_for_get("get_indexed"))
    async def get_indexed(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: Target | None = None
    ) -> Any:
        """Get elements at offsets of a rank's segment.

        Args:
            dest: rank that is read.
            offsets: in its segment, bytes; one for each element.
            nbytes: size of an element.
            out: C-contiguous writable buffer of ``len(offsets) * nbytes`` bytes, or None for a new array.

        Returns:
            a new array of dtype uint8 and shape (len(offsets), nbytes), or `out` itself.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        result, where = _destination(offsets, nbytes, out), _runs(offsets, nbytes)
        await self._get_scattered("get_indexed", index(dest), where, Whole(flat(result)))
        return result

    @public(_for_put("put_indexed_nb"))
    async def put_indexed_nb(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, data: Source
    ) -> Handle[None]:
        """Begin an indexed put; arguments as `put_indexed`, `data` in use until the handle is done.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        where = _runs(offsets, nbytes)
        return await self._put_scattered_nb("put_indexed_nb", index(dest), where, Whole(flat(data)))

    @overload
    def get_indexed_nb(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: None = None
    ) -> Coroutine[Any, Any, Handle[Bytes]]: ...
    @overload
    def get_indexed_nb(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: Out
    ) -> Coroutine[Any, Any, Handle[Out]]: ...
    @public(_for_get("get_indexed_nb"))
    async def get_indexed_nb(
        self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: Target | None = None
    ) -> Handle[Any]:
        """Begin an indexed get; arguments as `get_indexed`.

        Returns:
            the handle, which gives what `get_indexed` returns; until it is done the contents are undefined.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        result, where = _destination(offsets, nbytes, out), _runs(offsets, nbytes)
        return await self._get_scattered_nb("get_indexed_nb", index(dest), where, Whole(flat(result)), result)

    @public(_for_put("put_indexed_nbi"))
    async def put_indexed_nbi(self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, data: Source) -> None:
        """Begin an indexed put that `sync_puts` or `sync` waits for; arguments as `put_indexed`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._put_scattered_nbi("put_indexed_nbi", index(dest), _runs(offsets, nbytes), Whole(flat(data)))

    @public(_for_implicit_get)
    async def get_indexed_nbi(self, dest: SupportsIndex, offsets: Offsets, nbytes: SupportsIndex, out: Target) -> None:
        """Begin an indexed get that `sync_gets` or `sync` waits for; arguments as `get_indexed`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._get_scattered_nbi("get_indexed_nbi", index(dest), _runs(offsets, nbytes), Whole(flat(out)))


# The check of each call hands on the offsets as an array of its own.


def _runs(offsets: Offsets, nbytes: SupportsIndex) -> Runs:
    return places.of_offsets(np.asarray(offsets), index(nbytes))


def _destination(offsets: Offsets, nbytes: SupportsIndex, out: Target | None) -> Any:
    return np.empty((len(np.asarray(offsets)), index(nbytes)), np.uint8) if out is None else out
