"""Functions that are taken for operations of reductions and are none: they do not make one array of two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import conduit
from conduit.words import closest, other_head, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_MEANT = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "amin": "min", "amax": "max"}
_MEANS = ("mean", "average", "nanmean")
_OF_ONE = (*_MEANS, "median", "std", "var", "ptp", "any", "all", "nansum", "cumsum", "argmax", "argmin")
"""Functions of numpy that take one array; of two they would take the second for an axis."""
_ALSO = {
    **dict.fromkeys(("add", "plus", "+", "addition", "total"), "sum"),
    **dict.fromkeys(("mul", "mult", "multiply", "product", "times", "*"), "prod"),
    **dict.fromkeys(("minimum", "least"), "min"),
    **dict.fromkeys(("maximum", "most", "largest"), "max"),
    **dict.fromkeys(("band", "bitwise_and", "land", "&"), "and"),
    **dict.fromkeys(("bor", "bitwise_or", "lor", "|"), "or"),
    **dict.fromkeys(("bxor", "bitwise_xor", "lxor", "^"), "xor"),
}
"""What others call the operations, in small letters."""


def write_instead(op: object, known: Collection[str]) -> str:
    """Return what to write for an operation that is meant: ``write 'sum', or ``; "" where none is like it.

    Args:
        op: what a program has given: a word, or an operation of MPI's, which says its name.
        known: the names that there are.
    """
    name = op if isinstance(op, str) else getattr(op, "name", None)
    if not isinstance(name, str):
        return ""
    plain_name = name.casefold().removeprefix("mpi_").removeprefix("upc_").removesuffix("_")
    meant = _ALSO.get(plain_name, "") or closest(plain_name, known)
    return f"write {meant!r}, or " if meant in known else ""


def refuse_reduction(call: str, function: Callable[..., object], *, numbers: bool = True) -> None:
    """Refuse Python's `sum` and numpy's reductions, which may give a wrong result of two arrays, and what takes others.

    Args:
        call: the public call.
        function: what a program has given as an operation.
        numbers: whether the operands are numbers, of which Python's `min` and `max` make one.

    Raises:
        conduit.BadRequest: it is one of these.
    """
    numpys = getattr(function, "__module__", "") == "numpy" and not isinstance(function, np.ufunc)
    pythons = function is sum or (function in (min, max) and not numbers)
    name = getattr(function, "__name__", "")
    if numpys and name in _OF_ONE:
        instead = "op='sum', and divide by how many there are" if name in _MEANS else "a function of two arrays"
        raise conduit.BadRequest(
            f"{call}: op={name} reduces a single array, and an operation makes one of two; write {instead}"
        )
    if (numpys or pythons) and (meant := _MEANT.get(name)):
        takes = "compares whole arrays" if function in (min, max) else "reduces a single array"
        raise conduit.BadRequest(f"{call}: op={name} {takes}, and an operation makes one of two; write op={meant!r}")
    if not isinstance(function, np.ufunc) and (head := other_head(function, 2)):
        raise conduit.BadRequest(
            f"{call}: op={plain(function)} takes {head}, and an operation makes one array of two; write `def op(left, "
            "right)`, which returns it"
        )
