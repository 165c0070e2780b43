"""Vector transfers: pieces of any size and place there, one buffer or several here."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from extended.calls import public
from extended.vis import places
from extended.vis.base import NonContiguous
from extended.vis.local import buffers, check_buffers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import SupportsIndex, TypeVar

    import numpy.typing as npt

    from extended.buffers import Source, Target
    from extended.events import Handle
    from extended.vis.places import Pieces, Wide
    from extended.vis.runs import Runs

    Arguments = tuple[Any, ...]
    Bytes = npt.NDArray[np.uint8]
    Out = TypeVar("Out", bound=Target | Sequence[Target])


def _checked(call: str, x: Vector, dest: object, pieces: object) -> tuple[int, Wide, int]:
    listed = places.pieces(call, pieces)
    starts, lengths = listed[:, 0], listed[:, 1]
    owner = places.check_runs(x.bounds, call, "pieces", dest, starts, lengths)
    return owner, listed, int(lengths.sum())


def _for_put(call: str) -> Callable[..., Arguments]:
    def check(x: Vector, dest: object, pieces: object, data: object) -> Arguments:
        owner, listed, total = _checked(call, x, dest, pieces)
        places.check_total(call, "data", total, check_buffers(call, "data", data))
        return x, owner, listed, data

    return check


def _for_get(call: str) -> Callable[..., Arguments]:
    def check(x: Vector, dest: object, pieces: object, out: object = None) -> Arguments:
        owner, listed, total = _checked(call, x, dest, pieces)
        if out is not None:
            places.check_total(call, "out", total, check_buffers(call, "out", out, writable=True))
        return x, owner, listed, out

    return check


def _for_implicit_get(x: Vector, dest: object, pieces: object, out: object) -> Arguments:
    owner, listed, total = _checked("get_vector_nbi", x, dest, pieces)
    places.check_total("get_vector_nbi", "out", total, check_buffers("get_vector_nbi", "out", out, writable=True))
    return x, owner, listed, out


class Vector(NonContiguous):
    """Puts and gets of pieces of any sizes.

    `pieces` is a list of (offset, nbytes), or an array of integers of shape (n, 2), which may be changed once the call
    has been made.  Here the bytes lie one after the other in a buffer, or in a list of buffers, whose sizes need not be
    those of the pieces.  Pieces of a get may overlap; where those of a put do, any of them may stay.
    """

    @public(_for_put("put_vector"))
    async def put_vector(self, dest: SupportsIndex, pieces: Pieces, data: Source | Sequence[Source]) -> None:
        """Put bytes into pieces of a rank's segment; return when they are there.

        Args:
            dest: rank that receives.
            pieces: (offset, nbytes) in its segment.
            data: C-contiguous buffer, or a list of them, of as many bytes; in use until the call has returned.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._put_scattered("put_vector", index(dest), _runs(pieces), buffers(data))

    @overload
    def get_vector(self, dest: SupportsIndex, pieces: Pieces, out: None = None) -> Coroutine[Any, Any, Bytes]: ...
    @overload
    def get_vector(self, dest: SupportsIndex, pieces: Pieces, out: Out) -> Coroutine[Any, Any, Out]: ...
    @public(_for_get("get_vector"))
    async def get_vector(
        self, dest: SupportsIndex, pieces: Pieces, out: Target | Sequence[Target] | None = None
    ) -> Any:
        """Get pieces of a rank's segment.

        Args:
            dest: rank that is read.
            pieces: (offset, nbytes) in its segment.
            out: C-contiguous writable buffer, or a list of them, of as many bytes; None for a new array.

        Returns:
            a new array of dtype uint8 with all the bytes, or `out` itself.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        result, where = _destination(pieces, out), _runs(pieces)
        await self._get_scattered("get_vector", index(dest), where, buffers(result))
        return result

    @public(_for_put("put_vector_nb"))
    async def put_vector_nb(self, dest: SupportsIndex, pieces: Pieces, data: Source | Sequence[Source]) -> Handle[None]:
        """Begin a vector put; arguments as `put_vector`, `data` in use until the handle is done.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        where = _runs(pieces)
        return await self._put_scattered_nb("put_vector_nb", index(dest), where, buffers(data))

    @overload
    def get_vector_nb(
        self, dest: SupportsIndex, pieces: Pieces, out: None = None
    ) -> Coroutine[Any, Any, Handle[Bytes]]: ...
    @overload
    def get_vector_nb(self, dest: SupportsIndex, pieces: Pieces, out: Out) -> Coroutine[Any, Any, Handle[Out]]: ...
    @public(_for_get("get_vector_nb"))
    async def get_vector_nb(
        self, dest: SupportsIndex, pieces: Pieces, out: Target | Sequence[Target] | None = None
    ) -> Handle[Any]:
        """Begin a vector get; arguments as `get_vector`.

        Returns:
            the handle, which gives what `get_vector` returns; until it is done the contents are undefined.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        result, where = _destination(pieces, out), _runs(pieces)
        return await self._get_scattered_nb("get_vector_nb", index(dest), where, buffers(result), result)

    @public(_for_put("put_vector_nbi"))
    async def put_vector_nbi(self, dest: SupportsIndex, pieces: Pieces, data: Source | Sequence[Source]) -> None:
        """Begin a vector put that `sync_puts` or `sync` waits for; arguments as `put_vector`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._put_scattered_nbi("put_vector_nbi", index(dest), _runs(pieces), buffers(data))

    @public(_for_implicit_get)
    async def get_vector_nbi(self, dest: SupportsIndex, pieces: Pieces, out: Target | Sequence[Target]) -> None:
        """Begin a vector get that `sync_gets` or `sync` waits for; arguments as `get_vector`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._get_scattered_nbi("get_vector_nbi", index(dest), _runs(pieces), buffers(out))


# The check of each call hands on the pieces as an array of its own.


def _runs(pieces: Pieces) -> Runs:
    return places.of_pieces(np.asarray(pieces))


def _destination(pieces: Pieces, out: Target | Sequence[Target] | None) -> Any:
    return np.empty(int(np.asarray(pieces)[:, 1].sum()), np.uint8) if out is None else out
