"""Buffers and targets as mpi4py has them: what a call reads or fills here, and which elements it is about there."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import conduit
from conduit.words import is_a, many
from extended.front_ends import integer, shown

Array = npt.NDArray[Any]

MOST = 1 << 62
"""No memory has as many bytes."""

_FORMS = "an array, [array, dtype], [array, count] or [array, count, dtype]"
_TARGETS = "None, a displacement, (disp, count) or (disp, count, dtype)"


def dtype_of(call: str, name: str, dtype: Any) -> np.dtype[Any]:
    """Return a dtype whose elements are bytes of a fixed size above 0.

    Raises:
        conduit.BadRequest: another, or none that numpy knows.
    """
    if _is_of_mpi(dtype):
        raise conduit.BadRequest(
            f"{call}: {name} has {shown(dtype)} for a dtype, which is a datatype of MPI; windows take those of numpy, "
            'give "f8", "i4" and so on'
        )
    try:
        made: np.dtype[Any] = np.dtype(dtype)
    except Exception:
        raise conduit.BadRequest(
            f'{call}: {name} has {shown(dtype)} for a dtype, which numpy does not know; give "f8", "i4" and so on'
        ) from None
    if made.hasobject or made.itemsize == 0 or made.subdtype is not None:
        raise conduit.BadRequest(
            f'{call}: {name} has dtype {made}, whose elements are no bytes of a fixed size; give "f8", "i4" and so on'
        )
    return made


def _is_dtype(value: Any) -> bool:
    return isinstance(value, str | type | np.dtype) or _is_of_mpi(value)


def _is_of_mpi(value: Any) -> bool:
    """Say whether something is a datatype of MPI, of whatever package."""
    return hasattr(value, "Get_extent")


def elements(call: str, name: str, spec: Any, *, writable: bool = False) -> Array:
    """Return the elements that a buffer stands for, in one dimension and not copied.

    Raises:
        conduit.BadRequest: no buffer in mpi4py's forms, not contiguous, read-only where it is filled, or too short.
    """
    data, count, first, dtype = spec, None, 0, None
    if isinstance(spec, list | tuple):
        _refuse_numbers(call, name, spec)
        data, count, dtype = _parts(call, name, spec)
        if isinstance(count, tuple | list):
            if len(count) != 2:
                raise conduit.BadRequest(f"{call}: {name} has {shown(count)} for a count; give one, or (count, displ)")
            count, first = count[0], integer(call, name, count[1], 0, MOST, "a displacement of elements, 0 or more")
        if count is not None:
            count = integer(call, name, count, 0, MOST, "a number of elements, 0 or more")
    flat = _flat(call, name, data, writable=writable)
    kind = flat.dtype if dtype is None else dtype_of(call, name, dtype)
    if count is None and first == 0 and kind == flat.dtype:
        return flat
    # Elements of a dtype without a size cannot be; those of another dtype are the same bytes.
    raw = flat.view(np.uint8)
    room = raw.nbytes // kind.itemsize - first
    if count is None:
        count = max(room, 0)
    if count > room:
        raise conduit.BadRequest(
            f"{call}: {name} stands for {many(count, 'element')} of dtype {kind} from element {first} on, but the "
            f"array has {raw.nbytes} bytes; give a smaller count, or a longer array"
        )
    return raw[first * kind.itemsize : (first + count) * kind.itemsize].view(kind)


def _refuse_numbers(call: str, name: str, spec: Any) -> None:
    """Refuse a list that is meant as the elements themselves, not as an array with its count and dtype."""
    scalar = len(spec) > 1 and isinstance(spec[0], np.generic) and isinstance(spec[1], int | tuple)
    if spec and not scalar and all(isinstance(each, int | float | complex | list | tuple) for each in spec):
        raise conduit.BadRequest(
            f"{call}: {name}={shown(spec)} is a {type(spec).__name__} of numbers, which has no bytes to send or to "
            f"receive into; give an array: numpy.array({shown(spec)})"
        )


def _parts(call: str, name: str, spec: Any) -> tuple[Any, Any, Any]:
    if len(spec) == 2:
        return (spec[0], None, spec[1]) if _is_dtype(spec[1]) else (spec[0], spec[1], None)
    if len(spec) == 3:
        return spec[0], spec[1], spec[2]
    raise conduit.BadRequest(f"{call}: {name} is a list of {len(spec)}; give {_FORMS}")


def array_of(data: Any) -> Array:
    """Return what offers a buffer as a plain array: of a numpy.matrix every view has two dimensions.

    Raises:
        TypeError, ValueError, BufferError: it offers none.
    """
    return np.asarray(data if isinstance(data, np.ndarray) else memoryview(data))


def _flat(call: str, name: str, data: Any, *, writable: bool) -> Array:
    """Return all elements of what offers a buffer, in the order of memory."""
    try:
        array = array_of(data)
    except (TypeError, ValueError, BufferError):
        raise conduit.BadRequest(
            f"{call}: {name}={shown(data)} {is_a(data)}, which is no buffer; give {_FORMS}"
        ) from None
    dtype_of(call, name, array.dtype)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        array = array.T
    if not array.flags.c_contiguous:
        instead = "give numpy.ascontiguousarray of it"
        if writable:  # a copy of it would be filled in its place
            instead = "fill a contiguous array, and copy from that"
        raise conduit.BadRequest(f"{call}: {name} is not contiguous (strides {array.strides}); {instead}")
    if writable and not array.flags.writeable:
        raise conduit.BadRequest(f"{call}: {name} is read-only, and is to be filled; give an array that may be written")
    flat: Array = array.reshape(-1)
    return flat


@attrs.frozen
class Target:
    """Elements of a rank's part of a window.

    Attributes:
        disp: of the first, in the units of that rank.
        count: of them.
        dtype: of them.
    """

    disp: int
    count: int
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Bytes in all."""
        return self.count * self.dtype.itemsize


def target(call: str, spec: Any, given: Array) -> Target:
    """Return the elements that a target stands for, as many and of the type that `given` has where it does not say.

    Raises:
        conduit.BadRequest: not in mpi4py's forms, or not as many bytes as `given`.
    """
    disp, count, dtype = 0, given.size, given.dtype
    if spec is not None:
        said = list(spec) if isinstance(spec, list | tuple) else [spec]
        if not 1 <= len(said) <= 3:
            raise conduit.BadRequest(f"{call}: target={shown(spec)} has {len(said)} parts; give {_TARGETS}")
        what = f"a displacement, 0 or more; a target is {_TARGETS}"
        disp = integer(call, "target", said[0], 0, MOST, what)
        if len(said) > 1:
            count = integer(
                call, "target", said[1], 0, MOST, f"a number of elements, 0 or more; a target is {_TARGETS}"
            )
        if len(said) > 2 and said[2] is not None:  # which numpy takes for f8
            dtype = dtype_of(call, "target", said[2])
    made = Target(disp, count, dtype)
    if made.nbytes != given.nbytes:
        raise conduit.BadRequest(
            f"{call}: target={shown(spec)} is {many(count, 'element')} of dtype {dtype}, which are {made.nbytes} "
            f"bytes, but the buffer here has {given.size} of dtype {given.dtype}, which are {given.nbytes}; give as "
            "many"
        )
    if dtype != given.dtype and "u1" not in (dtype.str[1:], given.dtype.str[1:]):
        raise conduit.BadRequest(
            f"{call}: target={shown(spec)} has dtype {dtype} and the buffer here {given.dtype}; give one dtype, or u1 "
            "for bytes"
        )
    return made
