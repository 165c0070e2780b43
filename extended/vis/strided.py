"""Strided transfers: arrays whose elements lie at regular distances, here and there."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

from extended import checks
from extended.calls import public
from extended.vis import places
from extended.vis.base import NonContiguous
from extended.vis.local import array, check_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import SupportsIndex, TypeVar

    import numpy as np
    import numpy.typing as npt

    from extended.events import Handle
    from extended.vis.places import Strides
    from extended.vis.region import StridedRegion

    Arguments = tuple[Any, ...]
    T = TypeVar("T", bound=np.generic)


def _for_put(call: str) -> Callable[..., Arguments]:
    def check(x: Strided, dest: object, offset: object, strides: object, data: object) -> Arguments:
        array = check_array(call, "data", data)
        start = checks.integer(call, "offset", offset)
        steps = places.strides(call, strides, "data", array)
        region = places.of_strides(array, start, steps)
        owner = places.check_lattice(x.bounds, call, dest, region)
        places.check_apart(call, "data", array, steps, region)
        return x, owner, start, steps, array

    return check


def _for_get(call: str) -> Callable[..., Arguments]:
    def check(x: Strided, dest: object, offset: object, strides: object, out: object) -> Arguments:
        array = check_array(call, "out", out, writable=True)
        start = checks.integer(call, "offset", offset)
        steps = places.strides(call, strides, "out", array)
        return (
            x,
            places.check_lattice(x.bounds, call, dest, places.of_strides(array, start, steps)),
            start,
            steps,
            array,
        )

    return check


class Strided(NonContiguous):
    """Puts and gets of arrays whose elements lie at regular distances.

    Here the array has any strides: a transpose, a slice, a face of a block, reversed.  There, element [i, j, ...] is at
    ``offset + i*strides[0] + j*strides[1] + ...``; `strides` has a number of bytes for each dimension, of any sign.
    Elements of a get may overlap there; those of a put must not.
    """

    @public(_for_put("put_strided"))
    async def put_strided(
        self, dest: SupportsIndex, offset: SupportsIndex, strides: Strides, data: npt.NDArray[Any]
    ) -> None:
        """Put an array at regular distances into a rank's segment; return when it is there.

        Args:
            dest: rank that receives.
            offset: of element [0, 0, ...] in its segment, bytes.
            strides: bytes from one element to the next there, for each dimension.
            data: array of any strides and any dtype without objects, in use until the call has returned.

        Raises:
            conduit.BadRequest: a wrong argument, or elements that overlap there.
        """
        await self._put_scattered("put_strided", index(dest), _lattice(data, offset, strides), array(data))

    @public(_for_get("get_strided"))
    async def get_strided(
        self, dest: SupportsIndex, offset: SupportsIndex, strides: Strides, out: npt.NDArray[T]
    ) -> npt.NDArray[T]:
        """Get an array from regular distances in a rank's segment.

        Args:
            dest: rank that is read.
            offset: of element [0, 0, ...] in its segment, bytes.
            strides: bytes from one element to the next there, for each dimension.
            out: array of any strides and any dtype without objects, which is filled.

        Returns:
            `out` itself.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._get_scattered("get_strided", index(dest), _lattice(out, offset, strides), array(out))
        return out

    @public(_for_put("put_strided_nb"))
    async def put_strided_nb(
        self, dest: SupportsIndex, offset: SupportsIndex, strides: Strides, data: npt.NDArray[Any]
    ) -> Handle[None]:
        """Begin a strided put; arguments as `put_strided`, `data` in use until the handle is done.

        Returns:
            the handle, which gives None.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        return await self._put_scattered_nb("put_strided_nb", index(dest), _lattice(data, offset, strides), array(data))

    @public(_for_get("get_strided_nb"))
    async def get_strided_nb(
        self, dest: SupportsIndex, offset: SupportsIndex, strides: Strides, out: npt.NDArray[T]
    ) -> Handle[npt.NDArray[T]]:
        """Begin a strided get; arguments as `get_strided`.

        Returns:
            the handle, which gives `out`; until it is done the contents are undefined.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        return await self._get_scattered_nb(
            "get_strided_nb", index(dest), _lattice(out, offset, strides), array(out), out
        )

    @public(_for_put("put_strided_nbi"))
    async def put_strided_nbi(
        self, dest: SupportsIndex, offset: SupportsIndex, strides: Strides, data: npt.NDArray[Any]
    ) -> None:
        """Begin a strided put that `sync_puts` or `sync` waits for; arguments as `put_strided`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._put_scattered_nbi("put_strided_nbi", index(dest), _lattice(data, offset, strides), array(data))

    @public(_for_get("get_strided_nbi"))
    async def get_strided_nbi(
        self, dest: SupportsIndex, offset: SupportsIndex, strides: Strides, out: npt.NDArray[Any]
    ) -> None:
        """Begin a strided get that `sync_gets` or `sync` waits for; arguments as `get_strided`.

        Raises:
            conduit.BadRequest: a wrong argument.
        """
        await self._get_scattered_nbi("get_strided_nbi", index(dest), _lattice(out, offset, strides), array(out))


def _lattice(values: npt.NDArray[Any], offset: SupportsIndex, strides: Strides) -> StridedRegion:
    # The check of each call hands on the strides as a tuple of its own.
    return places.of_strides(values, offset, tuple(map(index, strides)))
