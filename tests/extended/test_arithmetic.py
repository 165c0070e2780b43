"""The numbers of atomic operations against numpy: operations, rounding, words; the search for an order of them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extended.arithmetic import TYPES, Op
from extended.conformance.orders import ObservedOperation, explained

INTEGERS = ("i4", "u4", "i8", "u8")
UFUNCS = {
    Op.ADD: np.add,
    Op.SUB: np.subtract,
    Op.MUL: np.multiply,
    Op.MIN: np.minimum,
    Op.MAX: np.maximum,
    Op.AND: np.bitwise_and,
    Op.OR: np.bitwise_or,
    Op.XOR: np.bitwise_xor,
}
BITWISE = (Op.AND, Op.OR, Op.XOR)


def _kind(dtype):
    return next(kind for kind in TYPES if kind.name == dtype)


def _same(first, second):
    return np.array(first).tobytes() == np.array(second).tobytes() or (math.isnan(first) and math.isnan(second))


def _operands(dtype):
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return st.one_of(
            st.integers(int(info.min), int(info.max)), st.sampled_from((0, 1, int(info.min), int(info.max)))
        )
    return st.floats(width=32 if dtype == "f4" else 64)


@given(data=st.data(), dtype=st.sampled_from([kind.name for kind in TYPES]))
@settings(max_examples=300)
def test_an_operation_is_that_of_numpy(data, dtype):
    op = data.draw(st.sampled_from([op for op in UFUNCS if dtype in INTEGERS or op not in BITWISE]))
    old, operand = data.draw(_operands(dtype)), data.draw(_operands(dtype))
    memory = np.zeros(3, dtype)
    memory[1] = old
    size = memory.itemsize
    assert _same(_kind(dtype).apply(op, memory.data.cast("B"), size, (operand,)), old)
    with np.errstate(all="ignore"):
        expected = UFUNCS[op](np.array(old, dtype), np.array(operand, dtype))
    if op in (Op.MIN, Op.MAX) and old == operand == 0:
        # Which zero it is numpy leaves open.
        negative = math.copysign(1, old) < 0, math.copysign(1, operand) < 0
        wanted = any(negative) if op == Op.MIN else all(negative)
        assert (math.copysign(1, memory[1]) < 0) == wanted
    else:
        assert _same(memory[1], expected)
    assert (memory[0], memory[2]) == (0, 0)


@given(data=st.data(), dtype=st.sampled_from(INTEGERS))
def test_an_integer_of_any_size_is_taken_modulo_two_to_the_bits(data, dtype):
    value = data.draw(st.integers(-(1 << 200), 1 << 200))
    bits = np.dtype(dtype).itemsize * 8
    expected = int(np.array(value % (1 << bits), f"u{bits // 8}").view(dtype))
    assert _kind(dtype).number("call", "v", value) == expected


@given(st.one_of(st.floats(), st.integers(-(1 << 1000), 1 << 1000)))
def test_a_float_is_rounded_to_the_nearest_of_its_type(value):
    with np.errstate(all="ignore"):
        for dtype in ("f4", "f8"):
            assert _same(_kind(dtype).number("call", "v", value), _nearest(value, dtype))


def _nearest(value, dtype):
    near = np.array(float(value)).astype(dtype)[()]
    around = [near, *(np.nextafter(near, near.dtype.type(end)) for end in (-np.inf, np.inf))]
    if not np.isfinite(around).all():
        return float(near)
    exact = Fraction(value)
    return float(min(around, key=lambda one: (abs(Fraction(float(one)) - exact), one.tobytes()[0] & 1)))


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        (2**60 + 2**36, 2.0**60),  # half way between two, of which this one is even
        (2**60 + 2**36 + 1, 2.0**60 + 2.0**37),  # above it, by less than 64 bits show
        (-(2**60) - 2**36 - 1, -(2.0**60) - 2.0**37),
        (2**60 + 3 * 2**36 - 1, 2.0**60 + 2.0**37),  # below the next one
        (2**60 + 3 * 2**36, 2.0**60 + 2.0**38),
        (1 + Fraction(1, 2**24) + Fraction(1, 2**80), 1 + 2.0**-23),
        (1 + Fraction(3, 2**24) - Fraction(1, 2**80), 1 + 2.0**-23),
        (Fraction(1, 2**150), 0.0),  # half of the smallest
        (Fraction(1, 2**150) + Fraction(1, 2**250), 2.0**-149),
        (2**128 - 2**103 - 1, 2.0**128 - 2.0**104),
        (2**128 - 2**103, np.inf),
    ],
)
def test_a_number_is_rounded_once_to_32_bits(value, nearest):
    assert _same(_kind("f4").number("call", "v", value), nearest)
    assert _same(_kind("f4").number("call", "v", -value), -nearest)


@given(data=st.data(), dtype=st.sampled_from([kind.name for kind in TYPES]), count=st.integers(0, 2))
def test_numbers_travel_as_words(data, dtype, count):
    numbers = [data.draw(_operands(dtype)) for _ in range(count)]
    words = _kind(dtype).to_words(numbers)
    assert len(words) == count * np.dtype(dtype).itemsize // 4
    assert all(-(1 << 31) <= word < 1 << 31 for word in words)
    assert all(map(_same, _kind(dtype).from_words(words), numbers))


def test_the_search_finds_what_no_order_explains():
    def inc(begun, ended, got):
        return [ObservedOperation("fetch_inc", 0, 0, begun, ended, got)]

    assert explained("i4", [inc(0, 1, 0), inc(0, 1, 1)], 2)
    assert not explained("i4", [inc(0, 1, 0), inc(0, 1, 0)], 1)  # one was lost
    assert not explained("i4", [inc(0, 1, 0), inc(0, 1, 1)], 1)  # and here the number does not know of it
    assert not explained("i4", [inc(2, 3, 0), inc(0, 1, 1)], 2)  # what came later was counted before
