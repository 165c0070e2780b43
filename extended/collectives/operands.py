"""Arguments and results of collectives: what numpy makes of them, as flat memory that can be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from conduit.words import is_a, many
from extended import checks
from extended.buffers import check_writable, flat

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
    Bytes = npt.NDArray[np.uint8]


def taken(call: str, array: object) -> tuple[Array, bool]:
    """Return an argument as numpy takes it, and whether it is a number.

    Bytes are an array of them, as a bytearray is: of numpy's own kind of bytes zeros at the end would be lost.

    Raises:
        conduit.BadRequest: not an array of plain elements.
    """
    try:
        found = np.frombuffer(array, np.uint8) if isinstance(array, bytes) else np.asarray(array)
    except conduit.BadRequest as error:  # of what is no array and says so itself
        raise conduit.BadRequest(f"{call}: array: {error}") from None
    except (TypeError, ValueError) as error:
        ragged = "inhomogeneous shape" in str(error)
        why = "its rows differ in length; pad them to the longest, and exchange the lengths first" if ragged else error
        raise conduit.BadRequest(f"{call}: array {is_a(array)} that is no array: {why}") from None
    if found.dtype.hasobject or not found.dtype.itemsize:
        what = "holds Python objects" if found.dtype.hasobject else "has elements of no bytes"
        what = "is too large for 64 bits" if isinstance(array, int) else what
        raise conduit.BadRequest(
            f"{call}: array of type {type(array).__name__} and dtype {found.dtype} {what}; give numbers or an array of "
            "a dtype with plain bytes"
        )
    return found, found.ndim == 0 and not isinstance(array, np.ndarray)


def check_rows(call: str, array: Array, size: int) -> None:
    """Refuse an array that does not have one row for each rank.

    Raises:
        conduit.BadRequest: its first axis has another length.
    """
    if array.ndim == 0 or array.shape[0] != size:
        raise conduit.BadRequest(
            f"{call}: array of shape {array.shape} must have one row for each of the {many(size, 'rank')} of the "
            f"team: its first axis must be {size}"
        )


def check_out(call: str, out: object, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Refuse an `out` that cannot hold a result of this dtype and shape.

    Raises:
        conduit.BadRequest: read-only, no buffer, or of another shape, dtype or size.
    """
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype != dtype:
            raise conduit.BadRequest(
                f"{call}: out of shape {out.shape} and dtype {out.dtype}, but the result has shape {shape} and dtype "
                f"{dtype}; give numpy.empty({shape}, {_spelled(dtype)}) or leave it out"
            )
        check_writable_out(call, out)
        return
    nbytes = check_writable(call, "out", out)
    needed = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
    if nbytes != needed:
        raise conduit.BadRequest(
            f"{call}: out has {nbytes} bytes, but the result has {needed}; give a buffer of that size"
        )


def _spelled(dtype: np.dtype[Any]) -> str:
    # As an expression that gives this very dtype.
    return repr(dtype.str) if dtype.fields is None else str(dtype)


def check_writable_out(call: str, out: object) -> None:
    """Refuse an `out` that cannot be written, where its size is not known yet or does not matter.

    Raises:
        conduit.BadRequest: read-only, or no buffer.
    """
    if not isinstance(out, np.ndarray):
        check_writable(call, "out", out)
    elif not out.flags.writeable:
        raise conduit.BadRequest(f"{call}: out is a read-only array; give a writable one")


def check_root(call: str, root: object, size: int) -> int:
    """Return a root as an int.

    Raises:
        conduit.BadRequest: no rank of the team.
    """
    number = checks.integer(call, "root", root)
    if not 0 <= number < size:
        raise conduit.BadRequest(
            f"{call}: root={checks.shown(number)} is no rank of this team; its ranks are 0 to {size - 1} (rank_of "
            "translates ranks of the job)"
        )
    return number


def contiguous(array: Array) -> Array:
    """Return an array in C-contiguous memory, itself if it is; gaps between fields are then zero.

    Whatever happened to be there would be sent too, and the same program would not do the same twice.
    """
    if array.flags.c_contiguous:
        return array
    copy = np.zeros(array.shape, array.dtype)
    copy[...] = array
    return copy


def as_bytes(array: Array) -> Bytes:
    """Return the memory of a C-contiguous array as flat bytes."""
    return array.reshape(-1).view(np.uint8)


class ResultBuffer:
    """Where the result of a call is made, and what its caller gets.

    Attributes:
        array: C-contiguous memory in the result's shape and dtype: the caller's own where it can be.
        copied: bytes that `deliver` copies.

    Args:
        dtype: of the result.
        shape: of the result.
        out: what the caller gave, checked; None for a new array.
        number: whether the caller is to get a scalar.
    """

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], out: Any, *, number: bool) -> None:
        self._out = out
        self._number = number and out is None
        if isinstance(out, np.ndarray) and out.flags.c_contiguous and out.flags.aligned:
            self.array: Array = np.asarray(out)  # of a matrix every view has two dimensions
            self.copied = 0
        else:
            self.array = np.empty(shape, dtype)
            self.copied = 0 if out is None else self.array.nbytes

    def deliver(self) -> Any:
        """Return what the call gives, `out` filled."""
        if self.copied:
            if isinstance(self._out, np.ndarray):
                self._out[...] = self.array
            else:
                flat(self._out)[:] = as_bytes(self.array).data
        if self._out is not None:
            return self._out
        return self.array[()] if self._number else self.array
