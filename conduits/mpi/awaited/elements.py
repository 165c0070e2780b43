"""What of the elements in buffers is compared between the ranks of a collective call.

Of operands all: MPI wants one datatype everywhere.  Of data that are only moved, integers are told from numbers with a
point, where both are certain: bytes may stand for anything, and so may elements that the program gives another datatype
than their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from conduits.mpi.awaited.buffers import Span, VectorBuffer
from conduits.mpi.awaited.same_calls import ANY_ELEMENTS, Elements
from conduits.mpi.errors import ErrorClass, MpiError

_INTEGER, _FLOATING = "integer", "floating point"
# Complex numbers may be received as the pairs of numbers that they are.
_OF_DTYPES = {"i": _INTEGER, "u": _INTEGER, "f": _FLOATING, "c": _FLOATING}
_OF_GROUPS = {"integer": _INTEGER, "floating point": _FLOATING, "complex": _FLOATING}


def combined(operand: Span) -> Elements:
    """Return what is compared of operands: MPI.INT and MPI.INT32_T are the same, and none are as any."""
    if not operand.count:
        return ANY_ELEMENTS
    datatype = operand.datatype
    return Elements(datatype.name if datatype.is_pair else datatype.dtype.str, datatype.name)


def moved(buffer: Span | VectorBuffer | None) -> Elements:
    """Return what is compared of data that are only moved; of no data it does not matter what they are."""
    if buffer is None or not (buffer.count if isinstance(buffer, Span) else any(buffer.counts)):
        return ANY_ELEMENTS
    datatype = buffer.datatype
    kind = _OF_GROUPS.get(datatype.group)
    if kind is None or datatype.extent == 1 or kind != _own(buffer.source):
        return ANY_ELEMENTS
    return Elements(kind, datatype.name)


def _own(source: Any) -> str | None:
    """Return what the elements of an object are by themselves."""
    dtype = (source if isinstance(source, np.ndarray) else np.asarray(memoryview(source))).dtype
    return None if dtype.itemsize == 1 else _OF_DTYPES.get(dtype.kind)


def of_both(call: str, sent: Span | VectorBuffer | None, received: Span | VectorBuffer | None) -> Elements:
    """Return what is compared of data of which a rank sends its own and receives them too, or others like them.

    Args:
        call: of the communicator.
        sent: where they lie, None where that is in place.
        received: where they go, likewise.

    Raises:
        MpiError: these two differ already.
    """
    out, into = moved(sent), moved(received)
    if out.differ(into):
        raise MpiError(
            ErrorClass.ERR_TYPE,
            f"Comm.{call}: sendbuf has elements of {out.name}, recvbuf of {into.name}; give the same",
        )
    return into if into.kind else out
