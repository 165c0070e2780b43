"""What reductions combine elements with, within a thread's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from extended.front_ends import shown
from extended.mistaken_operations import refuse_reduction, write_instead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Values = npt.NDArray[Any]

NAMED: dict[str, np.ufunc] = {
    "sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip
"""The operations that have names, as in the collectives of `extended`."""


class UpcOperator:
    """An associative operation on elements of one dtype.

    Args:
        function: combines two arrays, element by element.
        dtype: of the elements, which the result keeps.

    Attributes:
        any_order: whether operands may be combined in any order.
        failed: what ended it: raised by the function, or for what it has made; None where nothing did.
    """

    def __init__(self, function: Callable[[Values, Values], Any], dtype: np.dtype[Any]) -> None:
        self._function = function
        self._dtype = dtype
        self.any_order = isinstance(function, np.ufunc)
        self.failed: Exception | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        named = next((repr(name) for name, function in NAMED.items() if function is self._function), "")
        code = getattr(self._function, "__code__", None)
        line = "" if code is None else f" of line {code.co_firstlineno}"
        return named or f"{getattr(self._function, '__name__', type(self._function).__name__)}{line}"

    def combine(self, first: Values, second: Values) -> Values:
        """Return the combination of two arrays, element by element.

        Raises:
            conduit.BadRequest: the function gives something else.
        """
        try:
            return self._combined(first, second)
        except Exception as error:
            self.failed = error
            raise

    def _combined(self, first: Values, second: Values) -> Values:
        with np.errstate(all="ignore"):
            found = np.asarray(self._function(first, second))
        if found.shape != first.shape:
            raise conduit.BadRequest(
                f"op: the function made shape {found.shape} of two arrays of shape {first.shape}; it combines them "
                "element by element"
            )
        return found.astype(self._dtype, copy=False)

    def fold(self, values: Values) -> Values:
        """Return the combination along the last axis, in order; of one or more."""
        while values.shape[-1] > 1:
            even = values.shape[-1] // 2 * 2
            joined = self.combine(values[..., 0:even:2], values[..., 1:even:2])
            values = _joined([joined, values[..., even:]], self._dtype)
        return values

    def scan(self, values: Values) -> Values:
        """Return the combinations of all up to each place along the last axis."""
        values, step = values.copy(), 1
        while step < values.shape[-1]:
            values[..., step:] = self.combine(values[..., :-step].copy(), values[..., step:].copy())
            step *= 2
        return values


def operator(call: str, op: Any, dtype: np.dtype[Any]) -> UpcOperator:
    """Return an operation that a program has named or given.

    Raises:
        conduit.BadRequest: none, or one that numpy does not have for the dtype.
    """
    function = NAMED.get(op) if isinstance(op, str) else op
    if function is None or not callable(function):
        raise conduit.BadRequest(
            f"{call}: op={shown(op)} is none; {write_instead(op, NAMED)}give one of {' '.join(NAMED)}, a binary "
            "ufunc, or a function of two arrays"
        )
    refuse_reduction(call, function)
    if isinstance(function, np.ufunc):
        try:
            with np.errstate(all="ignore"):
                made = function(np.zeros(1, dtype), np.zeros(1, dtype))
        except Exception:
            made = None
        if not isinstance(made, np.ndarray) or not np.can_cast(made.dtype, dtype, "same_kind"):
            raise conduit.BadRequest(
                f"{call}: op={op!r} does not make one {dtype} of two; choose another, or an array of another dtype"
            )
        if dtype.kind in "SU" and made.dtype.itemsize > dtype.itemsize:
            raise conduit.BadRequest(
                f"{call}: op={op!r} makes longer strings than dtype {dtype} holds; give another operation, or a "
                "function that keeps the dtype"
            )
    return UpcOperator(function, dtype)


def _joined(parts: Sequence[Values], dtype: np.dtype[Any]) -> Values:
    """Return arrays of one dtype one behind the other, along the last axis, in that dtype's order of bytes too."""
    return np.concatenate(parts, axis=-1, dtype=dtype) if parts else np.empty(0, dtype)


def _blocks(values: Values, block: int) -> tuple[Values, Values]:
    """Return whole blocks as rows, and the rest."""
    whole = len(values) // block * block
    return values[:whole].reshape(-1, block), values[whole:]


def totals(op: UpcOperator, values: Values, block: int) -> Values:
    """Return the combination of the elements of each block, in order; the last may be shorter."""
    rows, rest = _blocks(values, block)
    found = [op.fold(rows)[:, 0]] if len(rows) else []
    if len(rest):
        found.append(op.fold(rest))
    return _joined(found, values.dtype)


def continued(op: UpcOperator, values: Values, block: int, before: Values, numbers: npt.NDArray[Any]) -> Values:
    """Return the scan of a thread's elements, each block continuing what is before it.

    Args:
        op: the operation.
        values: the thread's elements.
        block: elements of a block.
        before: the scan of all blocks' combinations.
        numbers: which of these blocks the thread's are.
    """
    rows, rest = _blocks(values, block)
    parts = [row for row in (op.scan(rows).reshape(-1), op.scan(rest)) if len(row)]
    scanned = _joined(parts, values.dtype)
    owner = np.arange(len(values)) // block
    later = numbers[owner] > 0
    scanned[later] = op.combine(before[numbers[owner[later]] - 1], scanned[later])
    return scanned
