"""What calls ask of numbers, arrays and dtypes, and the words in which they say no."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import conduit
from conduit.words import is_a, many
from extended.as_meant import as_number
from extended.front_ends import integer, shown

Array: TypeAlias = npt.NDArray[Any]

MOST = 1 << 62
"""No array has as many bytes."""


def pe_number(call: str, pe: Any, size: int, name: str = "pe") -> int:
    """Return the number of a PE of a team of `size`."""
    return integer(call, name, pe, 0, size - 1, f"a PE, 0 to {size - 1}")


def shape_of(call: str, shape: Any) -> tuple[int, ...]:
    """Return a shape as a tuple.

    Raises:
        conduit.BadRequest: no integer, and no sequence of them, of 0 or more.
    """
    sizes = list(shape) if isinstance(shape, tuple | list) else [shape]
    what = "the size of each dimension, 0 or more: 1000, or (20, 50)"
    made = tuple(integer(call, "shape", size, 0, MOST, what) for size in sizes)
    if len(made) > 32 or prod(made) >= MOST:
        raise conduit.BadRequest(f"{call}: shape={shown(shape)} is larger than any array; give a smaller one")
    return made


def dtype_of(call: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype whose elements have a fixed size above 0.

    Raises:
        conduit.BadRequest: another, or none that numpy knows.
    """
    try:
        made: np.dtype[Any] = np.dtype(dtype)
    except Exception:
        raise conduit.BadRequest(
            f'{call}: dtype={shown(dtype)} is no dtype that numpy knows; give "f8", "i4" and so on'
        ) from None
    if made.hasobject or made.itemsize == 0 or made.subdtype is not None:
        raise conduit.BadRequest(
            f"{call}: dtype={shown(dtype)} has no fixed size, refers to objects or has a shape; "
            'give a plain one, such as "f8"'
        )
    return made


def array_of(call: str, name: str, value: Any, *, writable: bool = False) -> Array:
    """Return an array that is local to this PE.

    Raises:
        conduit.BadRequest: no array of numpy, of objects, or read-only where it is written.
    """
    if isinstance(value, np.generic):
        raise conduit.BadRequest(
            f"{call}: {name}={shown(value)} is the value of an element, and says no more where that lies; give a part "
            "of the array, a[3:4] for a[3]"
        )
    if not isinstance(value, np.ndarray):
        raise conduit.BadRequest(f"{call}: {name}={shown(value)} {is_a(value)}; give an array of numpy")
    if value.dtype.hasobject or value.dtype.itemsize == 0:
        raise conduit.BadRequest(
            f"{call}: {name} has dtype {value.dtype}; give one whose elements are bytes of a fixed size"
        )
    if writable and not value.flags.writeable:
        raise conduit.BadRequest(f"{call}: {name} is read-only; give an array that may be written")
    return np.asarray(value)  # of a matrix every view has two dimensions


def flat(array: Array) -> Array | None:
    """Return the elements of a contiguous array in the order of memory, as a view; None of another array."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if array.flags.f_contiguous:
        return array.T.reshape(-1)
    return None


def in_fortran_order(array: Array) -> bool:
    """Say whether the first index of an array is the one that runs fastest in memory."""
    return array.flags.f_contiguous and not array.flags.c_contiguous


def beside(array: Array, symmetric: Array) -> Array:
    """Return an array whose elements, row by row, go with those of a symmetric one in the order of memory."""
    return array.T if in_fortran_order(symmetric) else array


def rows(array: Array) -> Array | None:
    """Return the elements of an array row by row, as a view; None where they do not lie so."""
    return array.reshape(-1) if array.flags.c_contiguous else None


def same_dtype(call: str, target: Array, source: Array) -> None:
    """Refuse arrays of different types.

    Raises:
        conduit.BadRequest: they differ.
    """
    if target.dtype != source.dtype:
        raise conduit.BadRequest(
            f"{call}: target has dtype {target.dtype} and source {source.dtype}; give two arrays of one dtype"
        )


def same_or_apart(call: str, target: Array, source: Array) -> None:
    """Refuse contiguous arrays of one size that overlap, and do not begin at the same element.

    Raises:
        conduit.BadRequest: they do.

    Source: OpenSHMEM specification 1.5, `shmem_reductions`.
    """
    begins = [each.__array_interface__["data"][0] for each in (target, source)]
    if begins[0] != begins[1] and np.may_share_memory(target, source):
        shift = abs(begins[0] - begins[1]) / source.itemsize
        raise conduit.BadRequest(
            f"{call}: target and source overlap, {shift:g} of {many(source.size, 'element')} apart; give the same "
            "array, or two that have no element in common"
        )


def strided(length: int, step: int) -> int:
    """Return how many elements an array has at every `step`-th place."""
    return -(-length // step)


def elements(call: str, size: Any, rooms: dict[str, int], times: int = 1) -> int:
    """Return how many elements a call is about.

    Args:
        call: for the message.
        size: as given; None for as many as there is room for.
        rooms: how many elements each array has room for, by its name.
        times: how often `size` elements must fit.

    Raises:
        conduit.BadRequest: too many for one of the arrays.
    """
    if size is None:
        return min(rooms.values()) // times
    count = integer(call, "size", size, 0, MOST, "a number of elements, 0 or more")
    for name, room in rooms.items():
        if count * times > room:
            needed = f"{count}" if times == 1 else f"{times} times {count}"
            raise conduit.BadRequest(
                f"{call}: size={count} is too much: {name} has room for {many(room, 'element')}, and {needed} are "
                "needed; give less, or a longer array"
            )
    return count


def number_for(call: str, name: str, value: Any, dtype: np.dtype[Any]) -> int | float:
    """Return an operand of an atomic operation or a comparison.

    Raises:
        conduit.BadRequest: no number of the type.
    """
    if dtype.kind == "f":
        try:
            if isinstance(value, str | bytes | bytearray):  # which Python would read
                raise TypeError
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise conduit.BadRequest(f"{call}: {name}={shown(value)} is no number of type {dtype}") from None
    try:
        return index(as_number(value))
    except TypeError:
        raise conduit.BadRequest(
            f"{call}: {name}={shown(value)} {is_a(value)}; give an integer, for dtype {dtype}"
        ) from None
