"""Any C-contiguous buffer as a flat view of its bytes, and where such a view lies.

Nothing here copies: what is handed on is the caller's memory, so that a long message can leave straight from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import conduit
from conduit.words import as_bytes, is_a

if TYPE_CHECKING:
    import numpy.typing as npt
    from _typeshed import ReadableBuffer, WriteableBuffer

    # Arrays are buffers, but say so to type checkers from Python 3.12 on only.
    Source: TypeAlias = ReadableBuffer | npt.NDArray[Any] | np.generic
    Target: TypeAlias = WriteableBuffer | npt.NDArray[Any]

EMPTY = memoryview(bytearray())


def flat(data: Source) -> memoryview:
    """Return the bytes of a C-contiguous buffer as a one-dimensional view of format ``B``."""
    view = _view(data)
    if view.ndim == 1 and view.format == "B":
        return view
    if not view.nbytes:
        return EMPTY
    try:
        return view.cast("B")
    except TypeError:
        # memoryview casts native single-character formats only; records and foreign byte orders are bytes as well.
        return np.frombuffer(view, np.uint8).data


def fill(view: memoryview, byte: int) -> None:
    """Set all bytes of a non-empty flat view."""
    np.frombuffer(view, np.uint8)[:] = byte


def check_readable(call: str, name: str, data: object) -> int:
    """Refuse what is no C-contiguous buffer of plain bytes; return its size in bytes.

    Args:
        call: the public call that was given `data`.
        name: the argument's name there.
        data: the argument.

    Raises:
        conduit.BadRequest: `data` has no buffer, is not C-contiguous, or holds references to objects.
    """
    if type(data) is bytes:
        return len(data)
    return _checked_view(call, name, data, f"give numpy.ascontiguousarray({name})").nbytes


def check_writable(call: str, name: str, out: object) -> int:
    """Refuse what is no writable C-contiguous buffer; return its size in bytes.

    Raises:
        conduit.BadRequest: as `check_readable`, and for a read-only buffer.
    """
    view = _checked_view(call, name, out, "give a new array and copy from it, or use get_strided")
    if view.readonly:
        raise conduit.BadRequest(
            f"{call}: {name} is a read-only {type(out).__name__}; give a writable buffer, such as a bytearray or a "
            "numpy array"
        )
    return view.nbytes


def _checked_view(call: str, name: str, data: object, instead: str) -> memoryview:
    if isinstance(data, np.ndarray) and data.dtype.hasobject:
        raise conduit.BadRequest(
            f"{call}: {name} is an array of dtype {data.dtype}, whose elements are references that mean nothing on "
            "another rank; convert it to a dtype without objects"
        )
    try:
        view = _view(data)
    except (TypeError, ValueError, BufferError) as error:
        why = f" ({error})" if isinstance(data, np.ndarray) else ""
        advice = "a bytearray or a numpy array" if name == "out" else as_bytes(data)
        raise conduit.BadRequest(f"{call}: {name} {is_a(data)}, which offers no bytes{why}; give {advice}") from None
    if not view.c_contiguous:
        raise conduit.BadRequest(f"{call}: {name} {is_a(data)} that is not C-contiguous; {instead}")
    return view


def _view(data: Any) -> memoryview:
    """Return a view of a buffer, and of arrays that numpy does not export: dates, fields that overlap or are reordered.

    Raises:
        TypeError, ValueError, BufferError: what is wrong with anything else, as `memoryview` says it.
    """
    try:
        return memoryview(data)
    except (TypeError, ValueError, BufferError):
        if not isinstance(data, np.ndarray | np.generic):
            raise
    array = np.asarray(data)
    array = array.view(f"V{array.itemsize}")
    if isinstance(data, np.generic):  # which is not to be written to, while this is a copy
        array.flags.writeable = False
    return memoryview(array)  # type: ignore[arg-type]


def offset_in(segment: npt.NDArray[np.uint8], view: memoryview) -> int | None:
    """Return where a non-empty flat view starts in the segment, or None when it does not lie wholly inside."""
    start = _address(np.frombuffer(view, np.uint8)) - _address(segment)
    return start if 0 <= start <= segment.nbytes - view.nbytes else None


def _address(array: npt.NDArray[np.uint8]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address
