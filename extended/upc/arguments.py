"""What calls ask of shapes, dtypes and block sizes, and the words in which they say no."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from extended.dtypes import dtype_text
from extended.front_ends import integer, shown

if TYPE_CHECKING:
    from typing import TypeAlias

    Shape: TypeAlias = Any

MOST = 1 << 62
"""No array has as many bytes."""


def shape_of(call: str, shape: Shape) -> tuple[int, ...]:
    """Return a shape as a tuple.

    Raises:
        conduit.BadRequest: no integer, and no sequence of them, of 0 or more.
    """
    sizes = list(shape) if isinstance(shape, tuple | list) else [shape]
    if len(sizes) > 32:
        raise conduit.BadRequest(f"{call}: shape has {len(sizes)} dimensions; give at most 32")
    what = "the size of each dimension, 0 or more: 1000, or (20, 50)"
    made = tuple(integer(call, "shape", size, 0, MOST, what) for size in sizes)
    if prod(made) >= MOST:
        raise conduit.BadRequest(f"{call}: shape={shown(shape)} has more elements than any memory; give a smaller one")
    return made


def dtype_of(call: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype whose elements have a fixed size above 0.

    Raises:
        conduit.BadRequest: another, or none that numpy knows.
    """
    try:
        made: np.dtype[Any] | None = None if dtype is None else np.dtype(dtype)
    except Exception:
        made = None
    advice = 'give one of a fixed size, such as "f8", "i4", "c16", "S10" or a structured one'
    if made is None:
        raise conduit.BadRequest(f"{call}: dtype={shown(dtype)} is no dtype that numpy knows; {advice}")
    if made.hasobject or made.itemsize == 0 or made.kind == "T":
        why = "has no fixed size" if made.itemsize == 0 else "refers to objects, which mean nothing to other threads"
        raise conduit.BadRequest(f"{call}: dtype={shown(dtype)} {why}; {advice}")
    if made.subdtype is not None:
        raise conduit.BadRequest(
            f"{call}: dtype={shown(dtype)} has a shape of its own; give dtype={made.base.str!r} and put "
            f"{made.shape} at the end of shape="
        )
    try:
        dtype_text(made)
    except ValueError as error:
        raise conduit.BadRequest(
            f"{call}: {error}, so that other threads could not be told of it; give a dtype without it"
        ) from None
    return made


def block_of(call: str, block: Any, size: int, threads: int) -> int | None:
    """Return a block size as a number, None for one without end.

    Args:
        call: for the message.
        block: as given: None for one block a thread, "indefinite", or a number.
        size: elements of the array.
        threads: of the job.

    Raises:
        conduit.BadRequest: anything else.
    """
    if block is None:
        return max(-(-size // threads), 1)
    if isinstance(block, str) and block == "indefinite":
        return None
    what = '1 or more; None for one block a thread, or "indefinite" for all on thread 0'
    if isinstance(block, str):
        raise conduit.BadRequest(f"{call}: block={block!r} is no block size; give {what}")
    return integer(call, "block", block, 1, MOST, what)
