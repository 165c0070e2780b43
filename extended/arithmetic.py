"""The numbers of atomic operations, and what each operation makes of them.

Everything is done on Python's numbers, which are exact: integers are taken modulo 2**bits afterwards, and a float of 32
bits is the sum, difference or product in 64 bits rounded once, which IEEE 754 arithmetic in 32 bits gives as well
(64 bits hold more than twice the digits of 32).
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from enum import IntEnum
from math import copysign, inf, isfinite, isnan, nextafter
from numbers import Real
from operator import add, and_, index, mul, or_, sub, xor
from typing import TYPE_CHECKING, Any

import numpy as np

import conduit
from conduit.words import is_a
from extended.as_meant import as_number
from extended.checks import integer, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Number = int | float


class Op(IntEnum):
    """What an atomic operation does; the values fit four bits of an argument."""

    GET = 0
    SET = 1
    COMPARE_SWAP = 2
    ADD = 3
    SUB = 4
    MUL = 5
    MIN = 6
    MAX = 7
    AND = 8
    OR = 9
    XOR = 10


BITWISE = frozenset((Op.AND, Op.OR, Op.XOR))


def _least(old: float, operand: float) -> float:
    """Return the smaller number; not a number where one is none, and -0.0 below 0.0 (IEEE 754-2019, minimum)."""
    if isnan(old) or isnan(operand):
        return old + operand
    if old == operand:
        return old if copysign(1.0, old) < 0 else operand
    return min(old, operand)


def _greatest(old: float, operand: float) -> float:
    """Return the larger number, with the same care (IEEE 754-2019, maximum)."""
    return -_least(-old, -operand)


def _odd(nearest: float, exact: Any) -> float:
    """Return which of the two floats around a number has an odd last bit; it is rounded as the number itself would be.

    Source: S. Boldo and G. Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd (2008).
    """
    if struct.unpack("<q", struct.pack("<d", nearest))[0] & 1:
        return nearest
    return nextafter(nearest, inf if exact > nearest else -inf)


class NumberType(ABC):
    """One type of number as it lies in a segment, little-endian.

    Attributes:
        name: as numpy calls it: i4, u4, i8, u8, f4, f8.
        size: in bytes.
        floating: whether it has no bitwise operations.
    """

    floating: bool
    _functions: Mapping[int, Callable[[Any, Any], Any]]

    def __init__(self, name: str, format: str) -> None:
        self.name = name
        self._item = struct.Struct("<" + format)
        self.size = self._item.size
        self._words = {count: struct.Struct(f"<{count * self.size // 4}i") for count in (0, 1, 2)}

    @abstractmethod
    def number(self, call: str, name: str, value: object) -> Number:
        """Return an argument as a number of this type.

        Raises:
            conduit.BadRequest: it is none.
        """

    @abstractmethod
    def rounded(self, value: Any) -> Number:
        """Return an exact result as a number of this type."""

    @abstractmethod
    def same(self, first: Any, second: Any) -> bool:
        """Say whether two numbers are the same to compare_swap."""

    def load(self, memory: memoryview, start: int) -> Number:
        """Read the number at an offset."""
        value: Number = self._item.unpack_from(memory, start)[0]
        return value

    def apply(self, op: int, memory: memoryview, start: int, operands: Sequence[Number]) -> Number:
        """Do an operation on the number at an offset and return what was there before."""
        old = self.load(memory, start)
        if op == Op.SET:
            self._item.pack_into(memory, start, operands[0])
        elif op == Op.COMPARE_SWAP:
            if self.same(old, operands[0]):
                self._item.pack_into(memory, start, operands[1])
        elif op != Op.GET:
            self._item.pack_into(memory, start, self.result(op, old, operands[0]))
        return old

    def result(self, op: int, old: Number, operand: Number) -> Number:
        """Return what an operation that computes makes of a number."""
        return self.rounded(self._functions[op](old, operand))

    def to_words(self, numbers: Sequence[Number]) -> tuple[int, ...]:
        """Return numbers as arguments of a message."""
        data = b"".join(map(self._item.pack, numbers))
        return self._words[len(numbers)].unpack(data)

    def from_words(self, words: Sequence[int]) -> tuple[Number, ...]:
        """Return the numbers that arrived as arguments of a message."""
        data = self._words[4 * len(words) // self.size].pack(*words)
        return tuple(value for (value,) in self._item.iter_unpack(data))


class IntegerType(NumberType):
    """Integers of some bits, taken modulo 2**bits."""

    floating = False
    _functions = {  # noqa: RUF012 - a mapping by its declaration
        Op.ADD: add, Op.SUB: sub, Op.MUL: mul, Op.MIN: min, Op.MAX: max, Op.AND: and_, Op.OR: or_, Op.XOR: xor
    }  # fmt: skip

    def __init__(self, name: str, format: str, *, signed: bool) -> None:
        super().__init__(name, format)
        self._mask = (1 << 8 * self.size) - 1
        self._bias = (self._mask >> 1) + 1 if signed else 0

    def number(self, call: str, name: str, value: object) -> int:
        """Return an integer modulo 2**bits; floats are refused."""
        return self.rounded(integer(call, name, as_number(value), "; for floats take dtype 'f8'"))

    def rounded(self, value: int) -> int:
        """Return an integer modulo 2**bits."""
        return (value + self._bias & self._mask) - self._bias

    def same(self, first: int, second: int) -> bool:
        """Say whether two integers are equal."""
        return first == second


class FloatType(NumberType):
    """Floats of IEEE 754."""

    floating = True
    _functions = {Op.ADD: add, Op.SUB: sub, Op.MUL: mul, Op.MIN: _least, Op.MAX: _greatest}  # noqa: RUF012

    def number(self, call: str, name: str, value: object) -> float:
        """Return a real number, rounded to this type."""
        value = as_number(value)
        # An array of one element would do for float(), but is a list of numbers to its author.
        real = isinstance(value, Real) or (hasattr(type(value), "__index__") and not isinstance(value, np.ndarray))
        if not real:
            raise conduit.BadRequest(
                f"{call}: {name}={shown(value)} {is_a(value)}; it must be a real number, such as float({name})"
            )
        exact: Any = value if isinstance(value, Real) else index(value)  # type: ignore[arg-type]
        try:
            wide = float(exact)
        except OverflowError:  # an integer or fraction beyond all floats
            return inf if exact > 0 else -inf
        if self.size < 8 and isfinite(wide) and wide != exact:
            wide = _odd(wide, exact)
        return self.rounded(wide)

    def rounded(self, value: float) -> float:
        """Return the nearest float of this type; infinity beyond its largest."""
        try:
            nearest: float = self._item.unpack(self._item.pack(value))[0]
        except OverflowError:  # how struct says that the nearest is infinity
            return copysign(inf, value)
        return nearest

    def same(self, first: float, second: float) -> bool:
        """Say whether two floats are the same number: not a number is itself, and 0.0 is not -0.0."""
        if first == second:
            return copysign(1.0, first) == copysign(1.0, second)
        return isnan(first) and isnan(second)


TYPES: tuple[NumberType, ...] = (
    IntegerType("i4", "i", signed=True),
    IntegerType("u4", "I", signed=False),
    IntegerType("i8", "q", signed=True),
    IntegerType("u8", "Q", signed=False),
    FloatType("f4", "f"),
    FloatType("f8", "d"),
)
"""All types; an index into them travels in messages."""


def type_index(call: str, dtype: object) -> int:
    """Return which of `TYPES` a numpy dtype is.

    Raises:
        conduit.BadRequest: none of them.
    """
    names = [kind.name for kind in TYPES]
    try:
        # None would be numpy's default dtype, which was not asked for.
        found = None if dtype is None else np.dtype(dtype)  # type: ignore[call-overload]
    except Exception:  # a TypeError, which numpy fails to make of what cannot be shown
        found = None
    if found is None or found.newbyteorder("<") != found or f"{found.kind}{found.itemsize}" not in names:
        raise conduit.BadRequest(
            f"{call}: dtype={shown(dtype)} has no atomic operations; give one of {' '.join(names)}, little-endian"
        )
    return names.index(f"{found.kind}{found.itemsize}")
