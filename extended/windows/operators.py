"""The operations of accumulates, and the types of numbers that they are on.

Source: MPI: A Message-Passing Interface Standard 3.1, 5.9.2 and 11.3.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

import conduit
from extended.front_ends import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    Array = npt.NDArray[Any]

_INTEGERS, _REALS, _NUMBERS, _ANY = "iu", "iuf", "iufc", "iufcb"
_LOGICAL = "iub"


@attrs.frozen(eq=False, repr=False)
class AccumulateOp:
    """An operation of accumulates; the module's constants are all that there are.

    Attributes:
        name: of the constant.
        code: which it is, in messages.
        kinds: of the dtypes that it is for, as numpy calls them.
        combine: makes the new elements out of those before and those given.
    """

    name: str
    code: int
    kinds: str
    combine: Callable[[Any, Any], Any]

    def __repr__(self) -> str:
        return self.name


def _logical(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda there, given: function(there, given).astype(there.dtype)


SUM = AccumulateOp("SUM", 0, _NUMBERS, np.add)
PROD = AccumulateOp("PROD", 1, _NUMBERS, np.multiply)
MAX = AccumulateOp("MAX", 2, _REALS, np.maximum)
MIN = AccumulateOp("MIN", 3, _REALS, np.minimum)
LAND = AccumulateOp("LAND", 4, _LOGICAL, _logical(np.logical_and))
LOR = AccumulateOp("LOR", 5, _LOGICAL, _logical(np.logical_or))
LXOR = AccumulateOp("LXOR", 6, _LOGICAL, _logical(np.logical_xor))
BAND = AccumulateOp("BAND", 7, _INTEGERS, np.bitwise_and)
BOR = AccumulateOp("BOR", 8, _INTEGERS, np.bitwise_or)
BXOR = AccumulateOp("BXOR", 9, _INTEGERS, np.bitwise_xor)
REPLACE = AccumulateOp("REPLACE", 10, _ANY, lambda there, given: given)
NO_OP = AccumulateOp("NO_OP", 11, _ANY, lambda there, given: there)

OPS = (SUM, PROD, MAX, MIN, LAND, LOR, LXOR, BAND, BOR, BXOR, REPLACE, NO_OP)
"""All of them, at their codes."""

COMPARE_AND_SWAP = len(OPS)
"""What stands in the place of an operation's code for Compare_and_swap, which is none that a program can give."""

DTYPES = tuple(
    np.dtype(name)
    for name in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "g", "F", "D", "G")
)
"""The types of numbers; an index into them travels in messages."""

_INDEX = {(dtype.kind, dtype.itemsize): number for number, dtype in enumerate(DTYPES)}


def operator(call: str, op: Any) -> AccumulateOp:
    """Return an operation.

    Raises:
        conduit.BadRequest: none of this module's.
    """
    if not isinstance(op, AccumulateOp):
        names = ", ".join(one.name for one in OPS)
        if type(op).__module__.partition(".")[0] == "mpi4py":
            raise conduit.BadRequest(
                f"{call}: op is of mpi4py itself; write `from extended.windows import SUM`, and op=SUM; there are "
                f"{names}"
            )
        raise conduit.BadRequest(
            f"{call}: op={shown(op)} is no operation of extended.windows; give one of {names}, as by `from "
            "extended.windows import SUM`"
        )
    return op


def kind(call: str, op: AccumulateOp | None, dtype: np.dtype[Any]) -> int:
    """Return which of `DTYPES` a dtype is.

    Args:
        call: for the message.
        op: what is done with it; None for Compare_and_swap.
        dtype: of the elements.

    Raises:
        conduit.BadRequest: none of them, or one that the operation is not for.
    """
    number = _INDEX.get((dtype.kind, dtype.itemsize))
    if number is None or not dtype.isnative:
        raise conduit.BadRequest(
            f"{call}: dtype {dtype} is no type of number in this machine's order of bytes; give f8, i4 and so on"
        )
    if dtype.kind not in ("iub" if op is None else op.kinds):
        what = "Compare_and_swap is" if op is None else f"op={op.name} is"
        kinds = {"i": "integers", "u": "unsigned integers", "f": "floats", "c": "complex numbers", "b": "bools"}
        allowed = ", ".join(kinds[each] for each in ("iub" if op is None else op.kinds))
        raise conduit.BadRequest(f"{call}: {what} not for dtype {dtype}; it is for {allowed}")
    return number


def apply(code: int, there: Array, given: Array) -> None:
    """Apply an operation to elements in place; `given` has what is compared, then what is stored, for a swap."""
    if code == COMPARE_AND_SWAP:
        if there[0] == given[0]:
            there[0] = given[1]
    elif code != NO_OP.code:
        with np.errstate(all="ignore"):
            there[...] = OPS[code].combine(there, given)
