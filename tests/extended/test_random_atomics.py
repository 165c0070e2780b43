"""Random atomic operations: each alone against numpy, and programs of several ranks against every order they may have.

An operation takes effect at one instant between its call and its return.  So there must be an order of all operations
that keeps apart what was apart in time, and in which a model that is one number of numpy gives every rank what it got.
"""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended import Extended
from extended.arithmetic import TYPES, Op

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
@settings(max_examples=300, deadline=None)
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
            assert _same(_kind(dtype).number("call", "v", value), float(np.array(float(value)).astype(dtype)))


@given(data=st.data(), dtype=st.sampled_from([kind.name for kind in TYPES]), count=st.integers(0, 2))
def test_numbers_travel_as_words(data, dtype, count):
    numbers = [data.draw(_operands(dtype)) for _ in range(count)]
    words = _kind(dtype).to_words(numbers)
    assert len(words) == count * np.dtype(dtype).itemsize // 4
    assert all(-(1 << 31) <= word < 1 << 31 for word in words)
    assert all(map(_same, _kind(dtype).from_words(words), numbers))


# -------------------------------------------------------------------------------------------- programs of several ranks

CALLS = ("get", "set", "swap", "compare_swap", "add", "sub", "mul", "min", "max", "and_", "or_", "xor", "inc", "dec")
CALLS += ("fetch_add", "fetch_sub", "fetch_mul", "fetch_min", "fetch_max", "fetch_and", "fetch_or", "fetch_xor")
CALLS += ("fetch_inc", "fetch_dec")
steps = st.tuples(
    st.sampled_from(CALLS), st.integers(-3, 3), st.integers(-3, 3), st.sampled_from((0, 0, 1, 3, 10))
)  # fmt: skip
programs = st.lists(st.lists(steps, min_size=1, max_size=4), min_size=1, max_size=3)


def _model(dtype, call, old, first, second):
    """Give what a call makes of a number, and what it gives."""
    plain = call.removeprefix("fetch_").rstrip("_")
    with np.errstate(all="ignore"):
        one, other = (np.array(value % (1 << 64), np.uint64).astype(dtype)[()] for value in (first, second))
        if plain == "get":
            return old, old
        if plain in ("set", "swap"):
            return one, old if plain == "swap" else None
        if plain == "compare_swap":
            return other if old == one else old, old
        step = np.array(1, dtype)[()]
        op = {"inc": Op.ADD, "dec": Op.SUB}.get(plain) or Op[plain.upper()]
        new = UFUNCS[op](old, step if plain in ("inc", "dec") else one).astype(dtype)
    return new, old if call.startswith("fetch_") else None


def _explained(dtype, histories, final):
    """Say whether some order of the operations gives all results and the final number."""
    seen = set()

    def search(done, value):
        if (done, int(value)) in seen:
            return False
        seen.add((done, int(value)))
        heads = [(rank, histories[rank][at]) for rank, at in enumerate(done) if at < len(histories[rank])]
        if not heads:
            return value == final
        for rank, (call, first, second, begun, _, got) in heads:
            # What had returned before this was called comes first.
            if any(other[4] < begun for who, other in heads if who != rank):
                continue
            new, gives = _model(dtype, call, value, first, second)
            if gives is None or int(gives) == got:
                after = tuple(at + (who == rank) for who, at in enumerate(done))
                if search(after, new):
                    return True
        return False

    return search((0,) * len(histories), np.zeros(1, dtype)[0])


async def _program(ep, script, dtype, owner):
    x = await Extended.attach(ep)
    d = x.atomic(dtype)
    history = []
    for call, first, second, pause in script[ep.rank]:
        await ep.compute(pause * 1e-6)
        plain = call.removeprefix("fetch_")
        numbers = () if plain in ("get", "inc", "dec") else (first, second) if plain == "compare_swap" else (first,)
        begun = ep.now
        got = await getattr(d, call)(owner, 8, *numbers)
        history.append((call, first, second, begun, ep.now, got))
    await x.barrier()
    return history, await d.get(owner, 8)


@given(
    script=programs,
    dtype=st.sampled_from(INTEGERS),
    owner=st.integers(0, 2),
    weak=st.booleans(),
    seed=st.integers(0, 9),
)
@settings(max_examples=60, deadline=None)
def test_some_order_explains_what_all_ranks_saw(script, dtype, owner, weak, seed):
    spec = f"loggp:slots=2,order={'weak' if weak else 'strict'}"
    ranks = len(script)
    result = conduit.run(_program, script, dtype, owner % ranks, ranks=ranks, conduit=spec, seed=seed, segment=64)
    histories = [history for history, _ in result.values]
    assert {final for _, final in result.values} == {result.values[0][1]}
    assert _explained(dtype, histories, result.values[0][1])


def test_the_search_finds_what_no_order_explains():
    lost = [("fetch_inc", 0, 0, 0.0, 1.0, 0)], [("fetch_inc", 0, 0, 0.0, 1.0, 0)]
    assert not _explained("i4", lost, 1)
    right = [("fetch_inc", 0, 0, 0.0, 1.0, 0)], [("fetch_inc", 0, 0, 0.0, 1.0, 1)]
    assert _explained("i4", right, 2)
    assert not _explained("i4", right, 1)
    late = [("fetch_inc", 0, 0, 2.0, 3.0, 0)], [("fetch_inc", 0, 0, 0.0, 1.0, 1)]
    assert not _explained("i4", late, 2)
