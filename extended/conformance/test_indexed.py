"""Indexed puts and gets: elements of one size at any offsets there."""

from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from extended.conformance.programs import attached, filled, holds, left, right, room_for, source


def _shapes(case: Case) -> list[tuple[int, int]]:
    """Give numbers and sizes of elements, of which some need many messages and some are too large for one."""
    most = room_for(case, 16)
    return [(200, 1), (100, 8), (37, 3), (5, most // 2 + 1), (3, most - 1), (3, most), (3, most + 9), (1, most + 2)]


def _offsets(count: int, nbytes: int) -> list[int]:
    """Give offsets of elements that do not overlap, out of order, some of them neighbours."""
    step = nbytes + 3
    places = [number * step - (number % 4 == 1) * 3 for number in range(count)]
    return [places[number * 7 % count] if count % 7 else places[-1 - number] for number in range(count)]


def _stored(offsets: list[int], nbytes: int, data: bytes, size: int) -> bytes:
    memory = bytearray(size)
    for number, offset in enumerate(offsets):
        memory[offset : offset + nbytes] = data[number * nbytes : (number + 1) * nbytes]
    return bytes(memory)


def _segment(shapes: list[tuple[int, int]]) -> int:
    return max(count * (nbytes + 3) for count, nbytes in shapes) + 64


@pytest.mark.rule("X41", "X43", "X3")
@pytest.mark.crowds
def test_an_indexed_put_stores_its_elements_and_no_more(case: Case) -> None:
    """Element after element at the given offsets; what lies between them stays."""
    shapes = _shapes(case)

    size = _segment(shapes)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for number, (count, nbytes) in enumerate(shapes):
            offsets = [number * size + offset for offset in _offsets(count, nbytes)]
            await x.put_indexed(right(ep), offsets, nbytes, pattern(count * nbytes, ep.rank))
        await x.barrier()
        for number, (count, nbytes) in enumerate(shapes):
            expected = _stored(_offsets(count, nbytes), nbytes, pattern(count * nbytes, left(ep)), size)
            assert holds(ep, number * size, expected), f"{count} elements of {nbytes} bytes"

    case.run(main, segment=size * len(shapes))


@pytest.mark.rule("X41", "X43", "X4", "X6")
@pytest.mark.crowds
def test_an_indexed_get_brings_an_array_of_elements(case: Case) -> None:
    """Of shape (elements, bytes), or into a buffer of the program or the segment, which it gives back."""
    shapes = _shapes(case)
    size = _segment(shapes)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, size, ep.rank)
        await x.barrier()
        there = np.frombuffer(pattern(size, right(ep)), np.uint8)
        for count, nbytes in shapes:
            offsets = _offsets(count, nbytes)
            expected = np.stack([there[offset : offset + nbytes] for offset in offsets])
            new = await x.get_indexed(right(ep), offsets, nbytes)
            assert new.dtype == np.uint8
            assert new.shape == (count, nbytes)
            np.testing.assert_array_equal(new, expected)
            for where in ("in", "out"):
                out = source(ep, where, size, bytes(count * nbytes))
                assert await x.get_indexed(right(ep), offsets, nbytes, out=out) is out
                np.testing.assert_array_equal(out.reshape(count, nbytes), expected)

    case.run(main, segment=2 * size)


@pytest.mark.rule("X48", "X43")
def test_elements_of_a_get_may_overlap_and_repeat(case: Case) -> None:
    """Each is what lies at its offset, whatever the others are."""
    offsets = [50, 0, 50, 51, 49, 0, 7, 8, 9, 10, 50]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 100, ep.rank)
        await x.barrier()
        there = pattern(100, right(ep))
        for nbytes in (1, 4, 16):
            got = await x.get_indexed(right(ep), offsets, nbytes)
            assert [bytes(one) for one in got] == [there[offset : offset + nbytes] for offset in offsets]

    case.run(main)


@pytest.mark.rule("X48")
def test_where_elements_of_a_put_overlap_one_of_them_stays(case: Case) -> None:
    """Every byte is of one of the elements that were put there."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.put_indexed(right(ep), [0, 4, 2, 100, 100], 8, b"a" * 8 + b"b" * 8 + b"c" * 8 + b"d" * 8 + b"e" * 8)
        await x.barrier()
        held = bytes(ep.segment[:12])
        assert set(held[:2]) == {*b"a"}
        assert set(held[2:10]) <= {*b"abc"}
        assert set(held[10:]) == {*b"b"}
        assert set(bytes(ep.segment[100:108])) <= {*b"de"}
        assert not ep.segment[12:100].any()

    case.run(main)


@pytest.mark.rule("X46", "X28", "X43")
def test_offsets_may_be_any_list_of_integers(case: Case) -> None:
    """Lists, ranges, arrays of every type of integer and any stride, whatever can be gone through once."""
    offsets = [0, 9, 18, 27]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, 64, ep.rank)
        await x.barrier()
        there = pattern(64, right(ep))
        forms: list[Any] = [
            offsets,
            tuple(offsets),
            range(0, 36, 9),
            np.array(offsets, np.uint8),
            np.array(offsets, ">u8"),
            np.arange(0, 72, 9)[:4:1],
            np.array([27, 18, 9, 0])[::-1],
            [np.int16(0), True * 9, np.uint64(18), 27],
            (number * 9 for number in range(4)),
            {0: "", 9: "", 18: "", 27: ""},
        ]
        for form in forms:
            got = await x.get_indexed(right(ep), form, np.int64(5))
            assert [bytes(one) for one in got] == [there[offset : offset + 5] for offset in offsets], form
        assert bytes(await x.get_indexed(right(ep), [False, True], 1)) == there[:2]

    case.run(main)


@pytest.mark.rule("X47", "X8")
def test_no_elements_and_elements_of_no_bytes_are_nothing(case: Case) -> None:
    """Complete at once, without a message, and the shape of the result is what was asked."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        for offsets, nbytes in (([], 8), ([], (1 << 63) - 1), ([1 << 70, -1, 5], 0), (np.zeros(0, int), 0)):
            await x.put_indexed(dest, offsets, nbytes, b"")
            assert (await x.get_indexed(dest, offsets, nbytes)).shape == (len(offsets), nbytes)
            assert (await x.put_indexed_nb(dest, offsets, nbytes, b"")).done
            handle = await x.get_indexed_nb(dest, offsets, nbytes)
            assert handle.done
            assert (await handle).shape == (len(offsets), nbytes)
            await x.put_indexed_nbi(dest, offsets, nbytes, b"")
            await x.get_indexed_nbi(dest, offsets, nbytes, bytearray())
        await x.sync()

    result = case.run(main, segment=64)
    assert [counts["requests_sent"] for counts in result.statistics] == [0] * case.size


@pytest.mark.rule("X43", "X45", "X41")
@pytest.mark.crowds
def test_every_rank_reads_elements_of_every_rank(case: Case) -> None:
    """One call to each, all outstanding at once; the elements of a table dealt out to the ranks."""
    count = 64

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        table = np.arange(count * ep.size, dtype=np.int64) ** 2
        ep.segment[: 8 * count].view(np.int64)[:] = table[ep.rank :: ep.size]
        await x.barrier()
        wanted = np.array([(7 * number + ep.rank) % (count * ep.size) for number in range(100)])
        handles = [
            await x.get_indexed_nb(owner, 8 * (wanted[wanted % ep.size == owner] // ep.size), 8)
            for owner in range(ep.size)
        ]
        for owner, got in enumerate(await x.wait_all(handles)):
            np.testing.assert_array_equal(got.view(np.int64).reshape(-1), table[wanted[wanted % ep.size == owner]])

    case.run(main)
