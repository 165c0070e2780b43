"""Many numbers of one rank changed by one call."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import refusal
from extended.conformance.programs import attached, natively, right

OPS = ("add", "sub", "mul", "min", "max", "and_", "or_", "xor")


@pytest.mark.rule("X116", "X92", "X96")
@pytest.mark.crowds
@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "f4", "f8"])
def test_every_number_is_changed_as_by_a_call_of_its_own(case: Case, dtype: str) -> None:
    """Offsets in any order, some of them repeatedly."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic(dtype)
        size, random = int(dtype[1]), np.random.default_rng(ep.rank)
        base = 2048 * ep.rank  # a region of each rank's own on its neighbour
        there = (ep.rank + 1) % ep.size
        for op in OPS[: 5 if dtype[0] == "f" else None]:
            offsets = base + size * random.permutation(20)
            values = random.integers(-5, 100, 20) / (2 if dtype[0] == "f" else 1)
            operands = values if dtype[0] == "f" else values.astype("i8")
            await d.accumulate(there, offsets, operands, op=op)
            for offset, operand in zip((offsets + 1000 // size * size).tolist(), operands.tolist(), strict=True):
                await getattr(d, op)(there, offset, operand)
            one, other = (
                await x.get(there, base, 20 * size),
                await x.get(there, base + 1000 // size * size, 20 * size),
            )
            assert bytes(one) == bytes(other)

    case.run(main, segment=2048 * 17)


@pytest.mark.rule("X116", "X117")
@pytest.mark.crowds
def test_repeated_offsets_and_lists_longer_than_a_message(case: Case) -> None:
    """All ranks add at once; the sum is exact, and the messages are as few as the limits allow."""
    count = max(case.limits.max_medium // 12, 1) * 2 + 1

    async def main(ep: Endpoint) -> Any:
        x = await attached(ep)
        d = x.atomic("u8")
        offsets, values = 8 * (np.arange(count) % 7), np.arange(count)
        handle = await d.accumulate_nb(0, offsets, values)
        offsets[:], values[:] = 9999999, -1
        await handle
        await d.accumulate(0, [56, 56], 1)
        await d.accumulate(0, [], 1)
        await x.barrier()
        return handle.messages, x.ep.segment[:64].view("u8").tolist()

    values = case.run(main).values
    sent = 0 if natively(case) else 3
    assert all(messages == (sent if rank else 0) for rank, (messages, _) in enumerate(values))
    wanted = [len(values) * sum(range(start, count, 7)) for start in range(7)]
    assert values[0][1] == [*wanted, 2 * len(values)]


@pytest.mark.rule("X116", "X92")
@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
def test_integers_of_any_size_are_operands(case: Case, dtype: str) -> None:
    """Also of those lists that numpy makes floats of, or objects."""
    lists = ([2**64 - 1, 1], [2**63, -1], [2**70 + 5, True], [-(2**63), np.uint8(7)])

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic(dtype)
        size, there = int(dtype[1]), (ep.rank + 1) % ep.size
        for values in lists:
            await d.accumulate(there, [0, size], values)
            for number, value in enumerate(values):
                await d.add(there, size * (2 + number), value)
        await d.accumulate(there, [4 * size], 2**64 + 9)
        assert bytes(await x.get(there, 0, 2 * size)) == bytes(await x.get(there, 2 * size, 2 * size))
        assert await d.get(there, 4 * size) == 9

    case.run(main, segment=64)


@pytest.mark.rule("X116", "X93")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_real_numbers_of_any_size_are_operands(case: Case, dtype: str) -> None:
    """Also integers that numpy makes objects of, and fractions; each is rounded as by a call of its own."""
    lists: tuple[list[Any], ...] = (
        [2**70, 1], [Fraction(1, 3), 2.5], [10**400, 0.5], [-(10**400), 2**60 + 2**36 + 1], [Fraction(1, 7), 2**70 + 1],
    )  # fmt: skip

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d = x.atomic(dtype)
        size, there = int(dtype[1]), (ep.rank + 1) % ep.size
        for values in lists:
            for number, value in enumerate(values):
                await d.set(there, size * number, 0)
                await d.set(there, size * (2 + number), value)
            await d.accumulate(there, [0, size], values)
            assert bytes(await x.get(there, 0, 2 * size)) == bytes(await x.get(there, 2 * size, 2 * size))
        await d.accumulate(there, [0], -(2**70))
        assert await d.get(there, 0) == -(2.0**70)

    case.run(main, segment=64)


@pytest.mark.rule("X116", "X94")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("op", ["min", "max"])
def test_least_and_greatest_of_many_floats(case: Case, dtype: str, op: str) -> None:
    """Zeros of both signs and what is no number are as by calls of their own, on this rank and on others."""
    pairs = list(product((0.0, -0.0, np.nan, np.inf, -np.inf, 1.5), repeat=2))

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d, size, half = x.atomic(dtype), int(dtype[1]), 512 * ep.size
        for dest in {ep.rank, right(ep)}:
            base = 512 * ep.rank
            offsets = base + size * np.arange(len(pairs))
            before = np.array([first for first, _ in pairs], dtype)
            await x.put(dest, base, before)
            await x.put(dest, base + half, before)
            await d.accumulate(dest, offsets, [second for _, second in pairs], op=op)
            for offset, (_, second) in zip((offsets + half).tolist(), pairs, strict=True):
                await getattr(d, op)(dest, offset, second)
            one, other = [(await x.get(dest, at, before.nbytes)).view(dtype) for at in (base, base + half)]
            assert np.array_equal(one, other, equal_nan=True)
            assert (np.signbit(one) == np.signbit(other))[~np.isnan(one)].all()
            await x.barrier()

    case.run(main, segment=1024 * 17)


@pytest.mark.rule("X116", "X99")
def test_wrong_arguments_are_refused(case: Case) -> None:
    """Each at the call, naming the element."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        d, f = x.atomic("i8"), x.atomic("f8")
        for call, words in (
            (lambda: d.accumulate(0, [0, 9], 1), "offsets[1]=9"), (lambda: d.accumulate(0, [0], [1, 2]), "shape (2,)"),
            (lambda: d.accumulate(0, [0], 1.5), "float64"), (lambda: d.accumulate(0, [0, 8], [2**63, 1.0]), "float64"),
            (lambda: d.accumulate(0, [0], 1, op="nand"), "op='nand'"),
            (lambda: f.accumulate(0, [0], 1, op="xor"), "bitwise"), (lambda: d.accumulate(ep.size, [0], 1), "dest="),
            (lambda: d.accumulate(0, [1 << 40], 1), "offsets[0]"), (lambda: d.accumulate(0, 8, 1), "offsets"),
            (lambda: f.accumulate_nb(0, [0], "x"), "values"), (lambda: f.accumulate(0, [0], [None]), "dtype object"),
            (lambda: d.accumulate(0, [0, 8], [1, [2]]), "values has parts of different lengths"),
        ):  # fmt: skip
            assert words in refusal(call)

    case.run(main)
