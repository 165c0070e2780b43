"""What an index selects: any index that numpy takes, as flattened indices of elements.

The array itself is nowhere in one piece.  Its axes are: each is a short array of numbers that is stretched, without
memory, to the array's shape, and indexed there by numpy itself.
"""

from __future__ import annotations

from operator import index as as_index
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from conduit.words import is_a, many
from extended.upc.errors import WrongIndex

if TYPE_CHECKING:
    from extended.upc.layout import Indices


@attrs.frozen(eq=False)
class Selection:
    """Some elements.

    Attributes:
        flat: their flattened indices, of one dimension, in the order of the result.
        shape: of the result.
        single: whether the result is one number and no array.
    """

    flat: Indices
    shape: tuple[int, ...]
    single: bool


def single(name: str, shape: tuple[int, ...], index: Any) -> int | None:
    """Return the flattened index where an index is plain integers for all dimensions, else None.

    Raises:
        WrongIndex: one is out of range.
    """
    if type(index) is int:
        if len(shape) != 1:
            return None
        size = shape[0]
        if not -size <= index < size:
            raise _outside(name, shape, index, 0, index)
        return index if index >= 0 else index + size
    if type(index) is not tuple or len(index) != len(shape):
        return None
    flat = 0
    for axis, (each, size) in enumerate(zip(index, shape, strict=True)):
        if type(each) is not int:
            return None
        if not -size <= each < size:
            raise _outside(name, shape, index, axis, each)
        flat = flat * size + (each if each >= 0 else each + size)
    return flat


def select(name: str, shape: tuple[int, ...], index: Any) -> Selection:
    """Return what an index selects.

    Args:
        name: what messages call the array.
        shape: of the array.
        index: anything that numpy takes.

    Raises:
        WrongIndex: numpy does not take it for an array of that shape.
    """
    if len(shape) == 1:
        chosen = _of_one_dimension(shape[0], index)
        if chosen is not None:
            return chosen
    try:
        total: Any = np.broadcast_to(np.int64(0), shape)[index]
        stride = 1
        for axis in range(len(shape) - 1, -1, -1):
            size = shape[axis]
            numbers = np.arange(size).reshape([size if each == axis else 1 for each in range(len(shape))])
            total = total + np.broadcast_to(numbers, shape)[index] * stride
            stride *= size
    except (IndexError, ValueError) as error:
        raise WrongIndex(
            f"{name}[{_shown(index)}]: {error}; the array has shape {shape}, and takes what numpy takes: integers, "
            "slices, ..., index arrays and masks"
        ) from None
    # Numpy gives a number for integers alone, an array of no dimension where `...` is among them.
    alone = not np.ndim(total) and not _has_ellipsis(index)
    return Selection(np.ascontiguousarray(total, np.int64).reshape(-1), np.shape(total), alone)


def _has_ellipsis(index: Any) -> bool:
    return index is ... or (isinstance(index, tuple) and any(each is ... for each in index))


def _of_one_dimension(size: int, index: Any) -> Selection | None:
    # Slices and index arrays of what programs use most, without the detour.
    if type(index) is slice:
        try:
            flat = np.arange(*index.indices(size), dtype=np.int64)
        except (TypeError, ValueError):
            return None
        return Selection(flat, flat.shape, False)
    if type(index) is np.ndarray and index.dtype.kind in "iu" and index.ndim:
        if not index.size:
            return Selection(np.empty(0, np.int64), index.shape, False)
        if index.min() < -size or index.max() >= size:
            return None  # numpy says what is wrong with it
        flat = index.astype(np.int64).reshape(-1)
        if flat.min() < 0:
            flat[flat < 0] += size
        return Selection(flat, index.shape, False)
    return None


def one(call: str, name: str, shape: tuple[int, ...], index: Any) -> int:
    """Return the flattened index of the one element that an index names.

    Raises:
        WrongIndex: it names none, or several.
    """
    flat = single(name, shape, index)
    if flat is not None:
        return flat
    chosen = select(name, shape, index)
    if not chosen.single:
        raise WrongIndex(
            f"{call}: {name}[{_shown(index)}] is {many(chosen.flat.size, 'element')} of shape {chosen.shape}; give "
            "the index of one: an integer, or a tuple of one for each dimension"
        )
    return int(chosen.flat[0])


def whole(call: str, name: str, value: Any) -> int:
    """Return an integer argument as an int.

    Raises:
        WrongIndex: it is none.
    """
    try:
        return as_index(value)
    except TypeError:
        raise WrongIndex(f"{call}: {name}={_shown(value)} {is_a(value)}; give an integer") from None


def _outside(name: str, shape: tuple[int, ...], index: Any, axis: int, each: int) -> WrongIndex:
    size = shape[axis]
    allowed = f"{-size} to {size - 1}" if size else "nothing, for it is empty"
    return WrongIndex(
        f"{name}[{_shown(index)}]: index {each} is out of range for axis {axis} of an array of shape {shape}, which "
        f"takes {allowed}"
    )


def _shown(index: Any) -> str:
    try:
        text = repr(index)
    except Exception:
        return f"a {type(index).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}..."
