"""Atomic operations: what each does to each type of number, from every rank, and what is refused."""

import math
from collections.abc import Awaitable, Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from conduit.words import is_a
from extended.conformance.programs import attached, before_late_answers, left, right

INTEGERS = ("i4", "u4", "i8", "u8")
FLOATS = ("f4", "f8")
TYPES = INTEGERS + FLOATS
BITWISE = ("and_", "or_", "xor")
UFUNCS: dict[str, Any] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
}
CALLS = ("get", "set", "swap", "compare_swap", "inc", "dec", "fetch_inc", "fetch_dec", *UFUNCS)
CALLS += tuple(f"fetch_{name.rstrip('_')}" for name in UFUNCS)


def _number(dtype: str, value: float) -> Any:
    """Give a number of a type as numpy converts it: integers modulo 2**bits, floats rounded."""
    with np.errstate(all="ignore"):
        if dtype in FLOATS:
            return np.dtype(dtype).type(value)
        return np.array(int(value) % (1 << 64), np.uint64).astype(dtype)[()]


def _applied(dtype: str, name: str, old: Any, value: float) -> Any:
    """Give what numpy makes of an operation."""
    with np.errstate(all="ignore"):
        return UFUNCS[name](old, _number(dtype, value)).astype(dtype)


def _same(first: Any, second: Any) -> bool:
    """Say whether two numbers are the same, signs of zeros and all."""
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) and math.isnan(second)
    return bool(first == second) and math.copysign(1, first) == math.copysign(1, second)


def _arguments(call: str) -> tuple[int, ...]:
    """Give as many numbers as a call takes after its place."""
    plain = call.removeprefix("fetch_")
    return () if plain in ("get", "inc", "dec") else (1, 2) if plain == "compare_swap" else (3,)


def _calls(d: Any) -> dict[str, Any]:
    """Give every operation as a function of a place, by its name, without the bitwise ones of floats."""
    found = {}
    for call in CALLS:
        if d.dtype in INTEGERS or call.removeprefix("fetch_") not in (*BITWISE, "and", "or"):
            found[call] = partial(_called, getattr(d, call), _arguments(call))
    return found


def _called(call: Any, numbers: tuple[int, ...], dest: Any, offset: Any) -> Any:
    return call(dest, offset, *numbers)


def _two_types(case: Case) -> tuple[str, str]:
    """Give a type of integers and one of floats; from case to case others, since types differ in no message."""
    return INTEGERS[case.seed % len(INTEGERS)], FLOATS[case.seed % len(FLOATS)]


def _for_each(types: Sequence[str], check: Callable[..., Awaitable[Any]]) -> Callable[[Endpoint], Awaitable[list[Any]]]:
    """Give a program that does a check for one type after the other, each time with segments of zeros."""

    async def main(ep: Endpoint) -> list[Any]:
        x = await attached(ep)
        results = []
        for dtype in types:
            ep.segment[:] = 0
            await x.barrier()
            results.append(await check(ep, x, dtype))
            await x.barrier()
        return results

    return main


@pytest.mark.rule("X90", "X2")
@pytest.mark.once
def test_the_types_are_found_in_any_form_that_numpy_takes(case: Case) -> None:
    """Names, dtypes, scalar types, Python's int and float; without communication."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        sent = ep.now
        for name in TYPES:
            for form in (name, f"<{name}", np.dtype(name), np.dtype(name).type):
                assert x.atomic(form).dtype == name
        assert x.atomic(int).dtype == "i8"
        assert x.atomic(float).dtype == "f8"
        assert ep.now == sent or not ep.simulated

    case.run(main)


@pytest.mark.rule("X90", "X99")
@pytest.mark.once
def test_other_types_are_refused(case: Case) -> None:
    """Narrow and wide ones, foreign byte order, what is no dtype; the message lists those that there are."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        wrong: Any
        for wrong in ("i1", "u2", "f2", ">i4", ">f8", "c8", "?", "S4", "O", None, "nonsense", 4, "i4,i4", bool):
            names(refusal(partial(x.atomic, wrong)), "dtype", repr(wrong), *TYPES)

    case.run(main)


@pytest.mark.rule("X91")
@pytest.mark.crowds
def test_every_operation_changes_the_number_as_numpy_does(case: Case) -> None:
    """And gives the one before exactly where it is said to; the numbers beside it stay."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d = x.atomic(dtype)
        dest, size = right(ep), np.dtype(dtype).itemsize
        cells = ep.segment[: 3 * size].view(dtype)
        cells[:] = 99
        await x.barrier()
        old = _number(dtype, 99)
        for name in UFUNCS if dtype in INTEGERS else [name for name in UFUNCS if name not in BITWISE]:
            assert await getattr(d, name)(dest, size, 7) is None
            new = _applied(dtype, name, old, 7)
            got = await getattr(d, f"fetch_{name.rstrip('_')}")(dest, size, 12)
            assert type(got) is (float if dtype in FLOATS else int)
            assert _same(got, new)
            old = _applied(dtype, name, new, 12)
        await x.barrier()
        assert cells[0] == 99
        assert cells[2] == 99
        assert _same(cells[1], old)

    case.run(_for_each(_two_types(case), check))


@pytest.mark.rule("X91")
def test_set_get_and_swap(case: Case) -> None:
    """What was set is got and swapped out."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest = x.atomic(dtype), right(ep)
        assert await d.get(dest, 8) == 0
        assert await d.set(dest, 8, 5) is None
        assert await d.swap(dest, 8, 6) == 5
        assert await d.get(dest, 8) == 6
        assert await d.inc(dest, 8) is None
        assert await d.fetch_inc(dest, 8) == 7
        assert await d.dec(dest, 8) is None
        assert await d.fetch_dec(dest, 8) == 7
        assert await d.get(dest, 8) == 6
        await x.barrier()
        assert ep.segment[8 : 8 + np.dtype(dtype).itemsize].view(dtype)[0] == 6

    case.run(_for_each(_two_types(case), check), segment=64)


@pytest.mark.rule("X92")
@pytest.mark.once
def test_integers_wrap(case: Case) -> None:
    """Operands of any size are taken modulo 2**bits, and so are results, at both ends of the range."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest, info = x.atomic(dtype), right(ep), np.iinfo(dtype)
        bits = info.bits
        await d.set(dest, 0, info.max)
        assert await d.fetch_inc(dest, 0) == info.max
        assert await d.fetch_dec(dest, 0) == info.min
        assert await d.get(dest, 0) == info.max
        for value in (-1, 1 << bits, (1 << bits) + 5, -(1 << bits) - 1, 1 << (bits - 1), -(1 << 100) + 3, 1 << 200):
            await d.set(dest, 0, value)
            assert await d.get(dest, 0) == int(_number(dtype, value))
        for name in ("add", "sub", "mul"):
            for first in (info.max, info.min, 3, info.max // 3):
                for second in (info.max, info.min, -1, info.max - 5):
                    await d.set(dest, 0, first)
                    await getattr(d, name)(dest, 0, second)
                    assert await d.get(dest, 0) == int(_applied(dtype, name, _number(dtype, first), second))

    case.run(_for_each(INTEGERS, check))


@pytest.mark.rule("X92")
@pytest.mark.once
def test_signs_decide_the_order_of_integers(case: Case) -> None:
    """The same bits are small as signed numbers and large as unsigned ones."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest = x.atomic(dtype), right(ep)
        signed = dtype.startswith("i")
        await d.set(dest, 0, -5)
        await d.min(dest, 0, 7)
        assert await d.get(dest, 0) == (-5 if signed else 7)
        await d.set(dest, 0, -5)
        assert await d.fetch_max(dest, 0, 7) == (-5 if signed else np.iinfo(dtype).max - 4)
        assert await d.get(dest, 0) == (7 if signed else np.iinfo(dtype).max - 4)

    case.run(_for_each(INTEGERS, check))


@pytest.mark.rule("X93")
@pytest.mark.once
def test_floats_are_rounded_in_their_own_width(case: Case) -> None:
    """Operands and results are the nearest floats of the type, to the last bit, subnormal and infinite ones too."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest, info = x.atomic(dtype), right(ep), np.finfo(dtype)
        big, small = float(info.max), float(info.tiny)
        values = (0.1, -1e-3, 1 / 3, big, small / 8, 2.0**24 + 1, float(info.eps), 1e39, -1e39)
        for first in values:
            for name in ("add", "sub", "mul"):
                for second in values:
                    await d.set(dest, 8, first)
                    assert _same(await getattr(d, f"fetch_{name}")(dest, 8, second), _number(dtype, first))
                    assert _same(await d.get(dest, 8), _applied(dtype, name, _number(dtype, first), second))

    case.with_ranks(2).run(_for_each(FLOATS, check))


@pytest.mark.rule("X93")
@pytest.mark.once
def test_infinity_and_what_is_not_a_number(case: Case) -> None:
    """Go in and come out, and result where IEEE 754 says so."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest = x.atomic(dtype), right(ep)
        await d.set(dest, 0, math.inf)
        assert await d.fetch_sub(dest, 0, math.inf) == math.inf
        assert math.isnan(await d.swap(dest, 0, float(np.finfo(dtype).max)))
        await d.mul(dest, 0, -2)
        assert await d.get(dest, 0) == -math.inf
        await d.set(dest, 0, -0.0)
        assert _same(await d.fetch_add(dest, 0, -0.0), -0.0)
        assert _same(await d.fetch_add(dest, 0, 0), -0.0)
        assert _same(await d.get(dest, 0), 0.0)
        await d.set(dest, 0, math.nan)
        await d.inc(dest, 0)
        assert math.isnan(await d.get(dest, 0))

    case.run(_for_each(FLOATS, check))


@pytest.mark.rule("X94")
@pytest.mark.once
def test_least_and_greatest_of_floats(case: Case) -> None:
    """Not a number where one is none; the negative zero is below the other, whichever comes first."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest = x.atomic(dtype), right(ep)
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            await d.set(dest, 0, first)
            await d.min(dest, 0, second)
            assert _same(await d.swap(dest, 0, first), -0.0)
            await d.max(dest, 0, second)
            assert _same(await d.get(dest, 0), 0.0)
        for first, second in ((math.nan, 1.0), (1.0, math.nan), (math.nan, -math.inf), (math.inf, math.nan)):
            for name in ("min", "max"):
                await d.set(dest, 0, first)
                assert _same(await getattr(d, f"fetch_{name}")(dest, 0, second), first)
                assert math.isnan(await d.get(dest, 0))
        await d.set(dest, 0, -math.inf)
        assert await d.fetch_max(dest, 0, -1.5) == -math.inf
        assert await d.fetch_min(dest, 0, math.inf) == -1.5

    case.run(_for_each(FLOATS, check))


@pytest.mark.rule("X95")
def test_compare_swap_stores_where_the_number_is_the_expected_one(case: Case) -> None:
    """And nowhere else; it gives the number before in both cases."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest = x.atomic(dtype), right(ep)
        await d.set(dest, 8, 4)
        assert await d.compare_swap(dest, 8, 5, 9) == 4
        assert await d.get(dest, 8) == 4
        assert await d.compare_swap(dest, 8, 4, 9) == 4
        assert await d.get(dest, 8) == 9
        if dtype in INTEGERS:
            bits = np.iinfo(dtype).bits
            assert await d.compare_swap(dest, 8, 9 + (1 << bits), -1) == 9
            assert await d.compare_swap(dest, 8, (1 << bits) - 1, 0) == int(_number(dtype, -1))
            assert await d.get(dest, 8) == 0

    case.run(_for_each(_two_types(case), check))


@pytest.mark.rule("X95")
@pytest.mark.once
def test_compare_swap_tells_zeros_apart_and_knows_what_is_not_a_number(case: Case) -> None:
    """So that what one reads can be expected, whatever it is."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d, dest = x.atomic(dtype), right(ep)
        await d.set(dest, 0, -0.0)
        assert _same(await d.compare_swap(dest, 0, 0.0, 1.0), -0.0)
        assert _same(await d.compare_swap(dest, 0, -0.0, math.nan), -0.0)
        assert math.isnan(await d.compare_swap(dest, 0, 1.0, 2.0))
        assert math.isnan(await d.compare_swap(dest, 0, -math.nan, 0.1))
        # 0.1 is rounded alike as a number stored and as one expected.
        assert await d.compare_swap(dest, 0, 0.1, 3) == _number(dtype, 0.1)
        assert await d.get(dest, 0) == 3.0

    case.run(_for_each(FLOATS, check))


@pytest.mark.rule("X96")
@pytest.mark.crowds
def test_a_counter_hammered_from_all_ranks(case: Case) -> None:
    """Its owner too: every number is handed out once, and the last is exact."""
    turns = 6

    async def check(ep: Endpoint, x: Any, dtype: str) -> list[float]:
        d, owner = x.atomic(dtype), ep.size // 2
        taken = []
        for turn in range(turns):
            await d.inc(owner, 8)
            taken.append(await d.fetch_add(owner, 16, 3))
            if turn % 3 == ep.rank % 3:
                await ep.compute(ep.random.random() * 1e-5)
            await d.sub(owner, 24, 2)
        await x.barrier()
        assert await d.get(owner, 8) == turns * ep.size
        assert await d.get(owner, 24) == _number(dtype, -2 * turns * ep.size)
        return taken

    result = case.run(_for_each(_two_types(case), check))
    for kind in range(2):
        every = sorted(number for lists in result.values for number in lists[kind])
        assert every == [3 * turn for turn in range(turns * result.ranks)]


@pytest.mark.rule("X96")
@pytest.mark.crowds
def test_different_operations_on_one_number_are_atomic_together(case: Case) -> None:
    """Bits set by some, counts added by others, in one word: none is lost."""
    bits, low = 48, 16  # the count stays below the lowest bit

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic("u8")
        own = 1 << (low + ep.rank) if ep.rank < bits else 0
        for turn in range(6):
            await d.or_(0, 0, own)
            await d.add(0, 0, turn)
            await d.xor(0, 0, own)
            await d.fetch_or(0, 0, own)
        await x.barrier()
        assert await d.get(0, 0) == (((1 << min(ep.size, bits)) - 1) << low) + 15 * ep.size

    case.run(main)


@pytest.mark.rule("X96", "X95")
@pytest.mark.crowds
def test_compare_swap_elects_one_rank_each_time(case: Case) -> None:
    """All ranks try; one finds what it expected, and the others are told who it was."""
    turns = 5

    async def main(ep: Endpoint) -> list[int]:
        x = await attached(ep)
        d, elected = x.atomic("i4"), []
        for turn in range(turns):
            owner = turn % ep.size
            before = await d.compare_swap(owner, 4 * turn, 0, ep.rank + 1)
            elected.append(ep.rank if before == 0 else before - 1)
        return elected

    result = case.run(main)
    assert all(values == result.values[0] for values in result.values)


@pytest.mark.rule("X96", "X95")
@pytest.mark.crowds
def test_any_update_can_be_made_of_compare_swap(case: Case) -> None:
    """A loop that reads, computes and tries again loses nothing."""
    turns = 3

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        d = x.atomic(dtype)
        for _ in range(turns):
            old = await d.get(0, 0)
            while True:
                before = await d.compare_swap(0, 0, old, old + ep.rank + 1)
                if before == old:
                    break
                old = before
        await x.barrier()
        assert await d.get(0, 0) == turns * ep.size * (ep.size + 1) // 2

    case.run(_for_each(("u4", "f8"), check))


@pytest.mark.rule("X96")
@pytest.mark.crowds
def test_tasks_of_a_rank_are_atomic_against_each_other(case: Case) -> None:
    """On other ranks' numbers and on its own."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic("i8")

        async def work() -> None:
            for turn in range(4):
                await d.fetch_add(turn % ep.size, 0, 1)

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(work)
        await x.barrier()
        counts = [await d.get(rank, 0) for rank in range(ep.size)]
        assert sum(counts) == 12 * ep.size

    case.run(main)


@pytest.mark.rule("X97", "X10")
@pytest.mark.crowds
def test_what_was_put_before_an_atomic_operation_is_there_after_it(case: Case) -> None:
    """A flag tells the target that the data is complete."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic("u4")
        data = bytes([ep.rank + 1]) * 100
        await x.put(right(ep), 64, data)
        await d.set(right(ep), 0, ep.rank + 1)
        flag = ep.segment[:4].view("u4")
        await ep.block_until(lambda: flag[0], what="the flag", ranks=(left(ep),))
        assert bytes(ep.segment[64:164]) == bytes([left(ep) + 1]) * 100
        assert flag[0] == left(ep) + 1

    case.run(main)


@pytest.mark.rule("X97", "X96")
@pytest.mark.crowds
def test_plain_access_in_a_phase_of_its_own(case: Case) -> None:
    """Numbers stored and read plainly before and after a barrier are those that atomic operations work on."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic("f8")
        cells = ep.segment[:32].view("f8")
        cells[1] = ep.rank + 0.5
        await x.barrier()
        for rank in range(ep.size):
            await d.add(rank, 8, 0.25)
        await x.barrier()
        assert cells[1] == ep.rank + 0.5 + 0.25 * ep.size
        got = await x.get(right(ep), 8, 8)
        assert got.view("f8")[0] == right(ep) + 0.5 + 0.25 * ep.size

    case.run(main)


@pytest.mark.rule("X98")
def test_one_short_request_and_its_reply(case: Case) -> None:
    """For every operation on every type, whatever it gives."""
    case = case.by_messages()
    case = case.with_ranks(2)

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        calls = [call for dtype in TYPES for call in _calls(x.atomic(dtype)).values()]
        if ep.rank == 0:
            for call in calls:
                await call(1, 8)
        return len(calls)

    result = case.run(main)
    count, counts = result.values[0], result.statistics
    assert count == 4 * 24 + 2 * 18
    assert [one["requests_sent"] for one in counts] == [count, 0]
    assert [one["replies_sent"] for one in counts] == [0, count]
    assert sum(one["payload_bytes_sent"] for one in counts) == 0


@pytest.mark.rule("X98", "X2")
@pytest.mark.crowds
def test_no_message_to_oneself_but_a_poll(case: Case) -> None:
    """Every operation on this rank's own segment polls and sends nothing."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        polled = 0

        async def progress() -> None:
            nonlocal polled
            polled += 1

        ep.on_progress(progress)
        for dtype in _two_types(case):
            for call in _calls(x.atomic(dtype)).values():
                ep.want_progress()
                before = polled
                await call(ep.rank, 8)
                assert polled == before + 1

    result = case.run(main)
    assert [one["requests_sent"] for one in result.statistics] == [0] * result.ranks


@pytest.mark.rule("X98")
@pytest.mark.simulated
def test_an_operation_takes_the_owners_time(case: Case) -> None:
    """Whoever asks: memory is read and written, and that is charged to the owner's CPU."""

    async def main(ep: Endpoint) -> float:
        x = await attached(ep)
        d = x.atomic("i8")
        before = ep.now
        await d.add(ep.rank, 0, 1)
        await ep.poll()
        return ep.now - before

    for seconds in case.run(main).values:
        assert seconds > 0


@pytest.mark.rule("X99")
@pytest.mark.once
def test_a_place_that_is_not_aligned_is_refused(case: Case) -> None:
    """The message gives the multiple to use; every multiple inside is allowed, the last one too."""

    async def check(ep: Endpoint, x: Any, dtype: str) -> None:
        size = np.dtype(dtype).itemsize
        for name, call in _calls(x.atomic(dtype)).items():
            for offset in {1, 2, size // 2, size + 1, 35}:
                message = refusal(partial(call, right(ep), offset))
                names(message, f"atomic.{name}", f"offset={offset}", dtype, size, offset - offset % size)
            await call(right(ep), 64 - size)

    case.run(_for_each(TYPES, check), segment=64)


@pytest.mark.rule("X99", "X28")
@pytest.mark.once
def test_a_place_that_is_nowhere_is_refused(case: Case) -> None:
    """No such rank, outside the segment, no integers."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for name, call in _calls(x.atomic("i8")).items():
            for dest in (-1, ep.size):
                names(refusal(partial(call, dest, 0)), f"atomic.{name}", f"dest={dest}", ep.size - 1)
            for offset in (-8, 64, 1 << 40):
                names(refusal(partial(call, 0, offset)), f"atomic.{name}", f"offset={offset}", 64)
            for wrong in (0.0, "0", None):
                names(refusal(partial(call, wrong, 0)), f"atomic.{name}", "dest", repr(wrong))
                names(refusal(partial(call, 0, wrong)), f"atomic.{name}", "offset", repr(wrong))

    case.run(main, segment=64)


@pytest.mark.rule("X99")
@pytest.mark.once
def test_bitwise_operations_on_floats_are_refused(case: Case) -> None:
    """The message says which type to use for bits."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for dtype, other in (("f4", "u4"), ("f8", "u8")):
            d = x.atomic(dtype)
            for name in (*BITWISE, "fetch_and", "fetch_or", "fetch_xor"):
                names(refusal(partial(getattr(d, name), 0, 0, 1)), f"atomic.{name}", dtype, f"x.atomic('{other}')")

    case.run(main)


@pytest.mark.rule("X99")
@pytest.mark.once
def test_operands_that_are_no_numbers_are_refused(case: Case) -> None:
    """Floats for integers, and what is no number for either; the message names the argument."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        wrong: Any
        for dtype in TYPES:
            d = x.atomic(dtype)
            for wrong in ("1", None, 1j, [1], np.array([1.0]), *([1.5, np.float32(2)] if dtype in INTEGERS else [])):
                for call in (d.set, d.fetch_add, d.max):
                    names(refusal(partial(call, 0, 0, wrong)), f"atomic.{call.__name__}", "v", is_a(wrong))
                names(refusal(partial(d.compare_swap, 0, 0, wrong, 1)), "atomic.compare_swap", "expected")
                names(refusal(partial(d.compare_swap, 0, 0, 1, wrong)), "atomic.compare_swap", "new")

    case.run(main)


@pytest.mark.rule("X93")
@pytest.mark.parametrize("value", [10**300, 10**400, Fraction(10**400, 3)], ids=["1e300", "1e400", "fraction"])
def test_numbers_beyond_the_largest_float_are_infinite(case: Case, value: Any) -> None:
    """Whether or not Python has a float for them."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for dtype, most in ("f4", 2**128), ("f8", 2**1024):
            for sign in (1, -1):
                expected = sign * (math.inf if value >= most else float(value))
                await x.atomic(dtype).set(ep.rank, 0, sign * value)
                assert await x.atomic(dtype).get(ep.rank, 0) == expected
                assert await x.atomic(dtype).swap(ep.rank, 0, 0) == expected

    case.run(main)


@pytest.mark.rule("X99", "X28")
@pytest.mark.once
def test_numbers_of_numpy_and_bools_are_operands(case: Case) -> None:
    """Whatever is an integer is one of any type, whatever is real one of floats."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d, f = x.atomic("i4"), x.atomic("f4")
        await d.set(np.int64(right(ep)), np.uint8(8), np.uint64(2**64 - 1))
        assert await d.fetch_add(right(ep), True * 8, True) == -1
        assert await d.get(right(ep), 8) == 0
        await f.set(right(ep), 12, np.float64(0.1))
        assert await f.swap(right(ep), 12, np.int8(-3)) == np.float32(0.1)
        assert await f.get(right(ep), 12) == -3.0

    case.run(main)


@pytest.mark.rule("X99", "X29", "X30")
@pytest.mark.once
@pytest.mark.ends
def test_forgotten_calls_are_named(case: Case) -> None:
    """As all calls of the layer are."""

    async def forgets(ep: Endpoint) -> None:
        x = await attached(ep)
        x.atomic("i4").inc(0, 0)
        await x.barrier()

    with pytest.raises(
        conduit.BadRequest, match=r"x\.atomic\(\"i4\"\)\.inc\(0, 0\) at .*test_atomics\.py:\d+ was called but never"
    ):
        case.run(forgets)


@pytest.mark.rule("X99", "X29", "X30")
@pytest.mark.once
@pytest.mark.ends
def test_calls_in_handlers_are_refused_by_name(case: Case) -> None:
    """As all calls of the layer are."""

    async def handles(ep: Endpoint) -> None:
        x = await attached(ep)

        def handler(token: Any) -> None:
            x.atomic("i4").fetch_add(0, 0, 1)

        await ep.attach(handler)
        await ep.request_short(right(ep), handler)
        await x.barrier()

    with pytest.raises(conduit.HandlerError, match=r"(?s)\A.*atomic\.fetch_add"):
        case.run(handles)


@pytest.mark.rule("X100", "X26", "X27")
@pytest.mark.simulated
def test_a_cancelled_operation_is_not_begun_or_goes_on(case: Case) -> None:
    """Cancelled before, it does nothing; cancelled in its wait, it is applied, and the next sync waits for that."""
    case = case.by_messages()
    case = case.with_ranks(2)
    settled: list[bool] = []

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic("i8")
        await before_late_answers(x, settled, 3e-2)
        if ep.rank == 0:
            begun = ep.now
            with trio.CancelScope() as scope:
                scope.cancel()
                await d.add(1, 0, 100)
            assert scope.cancelled_caught
            with trio.move_on_after(1e-3) as scope:
                await d.fetch_add(1, 0, 1)
            assert scope.cancelled_caught
            assert ep.now < begun + 5e-3
            await x.sync()
            assert ep.now >= begun + 2e-2  # the other has computed until now
            assert await d.get(1, 0) == 1
        await x.barrier()

    case.run(main)
