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
from extended.front_ends import shown
from extended.upc.errors import WrongIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def select(name: str, shape: tuple[int, ...], index: Any, fields: Sequence[str] = ()) -> Selection:
    """Return what an index selects.

    Args:
        name: what messages call the array.
        shape: of the array.
        index: anything that numpy takes.
        fields: of the array's elements.

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
    except (IndexError, ValueError, TypeError) as error:
        raise _wrong(name, shape, index, fields, error) from None
    # Numpy gives a number for integers alone, an array of no dimension where `...` is among them.
    alone = not np.ndim(total) and not _has_ellipsis(index)
    return Selection(np.ascontiguousarray(total, np.int64).reshape(-1), np.shape(total), alone)


def _wrong(name: str, shape: tuple[int, ...], index: Any, fields: Sequence[str], error: Exception) -> WrongIndex:
    """Return the error of an index that numpy does not take."""
    named = index if isinstance(index, list) and index else [index]
    if fields and all(isinstance(each, str) for each in named):
        return _field(name, index, next((each for each in named if each not in fields), ""), fields)
    here = f"{name}[{_shown(index)}]: {_no_index(index) or error}; the array has shape {shape}"
    if str(error).startswith("index "):  # which has the index, the axis and its size
        return WrongIndex(here)
    return WrongIndex(f"{here}, and takes what numpy takes: integers, slices, ..., index arrays and masks")


def _field(name: str, index: Any, unknown: str, fields: Sequence[str]) -> WrongIndex:
    """Return the error of who asks for fields of all elements."""
    of_each = "these are fields" if isinstance(index, list) else f"{index!r} is a field"
    what = (
        f"{unknown!r} is none of the elements' fields {', '.join(fields)}" if unknown else f"{of_each} of each element"
    )
    field = fields[0] if unknown else index
    return WrongIndex(
        f"{name}[{index!r}]: {what}, and an index chooses whole elements; write `(await {name}[:])[{field!r}]` for "
        f"all, or `{name}.local[{field!r}]`, which can be assigned to, for this thread's"
    )


def _no_index(index: Any) -> str:
    """Return which part of an index is none at all, "" where each could be one."""
    for each in index if isinstance(index, tuple) else (index,):
        for part in (each.start, each.stop, each.step) if isinstance(each, slice) else ():
            if part is not None and not hasattr(part, "__index__"):
                return f"{_shown(part)} {is_a(part)}"
        if each is None or each is ... or isinstance(each, slice):
            continue
        try:
            found = np.asarray(each)
        except ValueError:
            return f"{_shown(each)} has parts of different lengths"
        if found.dtype.kind not in "iub":
            return f"{_shown(each)} {is_a(each)}" + (f" of dtype {found.dtype}" if found.ndim else "")
    return ""


def _has_ellipsis(index: Any) -> bool:
    return index is ... or (isinstance(index, tuple) and any(each is ... for each in index))


def _of_one_dimension(size: int, index: Any) -> Selection | None:
    # Slices and index arrays of what programs use most, without the detour.
    if type(index) is slice:
        try:
            flat = np.arange(*index.indices(size), dtype=np.int64)
        except (TypeError, ValueError, OverflowError):  # the last of a step that is wider than 64 bits
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
        f"{name}[{_shown(index)}]: index {_shown(each)} is out of range for axis {axis} of an array of shape {shape}, "
        f"which takes {allowed}"
    )


def _shown(index: Any) -> str:
    """Return an index as a program has it."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(_shown, index)) + "," * (len(index) == 1)
    if isinstance(index, slice):
        ends = ["" if each is None else _shown(each) for each in (index.start, index.stop, index.step)]
        return ":".join(ends if ends[2] else ends[:2])
    if index is ...:
        return "..."
    if isinstance(index, int):
        return shown(index)
    try:
        text = repr(index)
    except Exception:
        return f"a {type(index).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}..."
