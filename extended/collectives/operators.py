"""What reductions combine with: numpy's operations by name, any binary ufunc, any associative function."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from conduit.words import is_a
from extended.checks import shown
from extended.mistaken_operations import refuse_reduction, write_instead
from extended.numpy_warnings import warn_at

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from extended.program_lines import SourceLine

    Array = npt.NDArray[Any]

NAMED: dict[str, np.ufunc] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


_BY_NAME = frozenset(NAMED.values())
_COMBINE: set[tuple[np.dtype[Any], np.ufunc]] = set()
"""Numbers that have been found to combine by an operation with a name: each call asks anew."""


def _waits(function: object) -> bool:
    return (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    )


class Operator:
    """Combines flat arrays of one dtype, the left operand from the lower ranks.

    Attributes:
        name: for signatures and messages.
        elementwise: whether it may be applied in pieces.
        line: of the program, which makes the call; for warnings.

    Args:
        call: the public call.
        op: what the user gave.
        dtype: of the operands.
        shape: of the whole operands, which a function gets.

    Raises:
        conduit.BadRequest: `op` is none of the three, or cannot combine this dtype.
    """

    def __init__(self, call: str, op: object, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        function: Any = NAMED.get(op) if isinstance(op, str) else op
        if isinstance(op, np.ndarray | list | bytearray | memoryview):
            raise conduit.BadRequest(
                f"{call}: op {is_a(op)} and no operation; the call returns the result, and fills memory that is given "
                "by name: out="
            )
        if not callable(function):
            raise conduit.BadRequest(
                f"{call}: op={shown(op)} is no operation; {write_instead(op, NAMED)}give one of {', '.join(NAMED)}, "
                "a binary ufunc of numpy, or an associative function of two arrays"
            )
        refuse_reduction(call, function, numbers=math.prod(shape) == 1)
        if not isinstance(function, np.ufunc) and (_waits(function) or _waits(type(function).__call__)):
            raise conduit.BadRequest(
                f"{call}: op={getattr(function, '__name__', op)} is async or a generator function, whose result is no "
                "array; give an ordinary function of two arrays"
            )
        self.elementwise = isinstance(function, np.ufunc) and function.signature is None
        self.name = op if isinstance(op, str) else getattr(function, "__name__", type(function).__name__)
        self.line: SourceLine = "an unknown line", 0
        self._call = call
        self._function: Callable[..., Any] = function
        self._dtype = dtype
        self._shape = shape
        if isinstance(function, np.ufunc):
            self._check_ufunc(function)

    def _check_ufunc(self, ufunc: np.ufunc) -> None:
        if (ufunc.nin, ufunc.nout) != (2, 1):
            raise conduit.BadRequest(
                f"{self._call}: op={self.name} takes {ufunc.nin} and gives {ufunc.nout} arrays; give an operation that "
                "makes one of two"
            )
        if not self.elementwise or (self._dtype, ufunc) in _COMBINE:
            return
        operand = np.zeros(1, self._dtype)
        try:
            with np.errstate(all="ignore"):
                ufunc(operand, operand, out=np.zeros(1, self._dtype), casting="same_kind")
        except TypeError as error:
            why = "" if "did not contain a loop" in str(error) else f" ({error})"  # which has the dtype twice more
            raise conduit.BadRequest(
                f"{self._call}: op={self.name} cannot combine arrays of dtype {self._dtype} into one of that "
                f"dtype{why}; convert the array or give another operation"
            ) from None
        if self._dtype.kind in "SU" and ufunc(operand, operand).dtype.itemsize > self._dtype.itemsize:
            raise conduit.BadRequest(
                f"{self._call}: op={self.name} makes longer strings than dtype {self._dtype} holds; give another "
                "operation, or a function that keeps the dtype"
            )
        if ufunc in _BY_NAME and self._dtype.isbuiltin == 1:
            _COMBINE.add((self._dtype, ufunc))

    def combine(self, left: Array, right: Array, out: Array) -> None:
        """Set `out`, which may be either operand, to ``left op right``; all flat, of one size.

        Raises:
            conduit.BadRequest: a function gave an array of another shape or kind.
        """
        if self.elementwise:
            try:
                self._function(left, right, out=out, casting="same_kind")
            except RuntimeWarning as warning:  # numpy raises it when `out` is set
                warn_at(warning, self.line)
            return
        made = self._made(left, right)
        if made.shape != self._shape or not np.can_cast(made.dtype, self._dtype, "same_kind"):
            raise conduit.BadRequest(
                f"{self._call}: op={self.name} made an array of shape {made.shape} and dtype {made.dtype} out of two "
                f"of shape {self._shape} and dtype {self._dtype}; it must keep both"
            )
        try:
            out[:] = made.reshape(-1)
        except RuntimeWarning as warning:
            warn_at(warning, self.line)
            with np.errstate(all="ignore"):
                out[:] = made.reshape(-1)

    def _made(self, left: Array, right: Array) -> Array:
        """Return what a function makes of two operands."""
        try:
            return np.asarray(self._function(self._shown(left), self._shown(right)))
        except Exception as error:
            if isinstance(error, ValueError) and str(error).endswith("is read-only"):
                error.add_note("an op must not change its arguments: let it return a new array, such as `a + b`")
            elif error.__traceback__ is not None and error.__traceback__.tb_next is None:
                if not isinstance(error, RuntimeWarning):
                    raise self._of_c(error) from None
                warn_at(error, self.line)
                with np.errstate(all="ignore"):
                    return np.asarray(self._function(self._shown(left), self._shown(right)))
            raise

    def _of_c(self, error: Exception) -> conduit.BadRequest:
        """Return what is raised for the error of a function in C, which leaves no line: what it was given."""
        return conduit.BadRequest(
            f"{self._call}: op={self.name} fails on two arrays of shape {self._shape} and dtype {self._dtype}: "
            f"{type(error).__name__}: {error}; give a function that makes one array of two"
        )

    def _shown(self, operand: Array) -> Array:
        # The caller's own array, or what is on its way to others: a function must not change it.
        view = operand.reshape(self._shape)
        view.flags.writeable = False
        return view
