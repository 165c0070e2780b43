"""Vector puts and gets: pieces of any size there, one buffer or several here."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from extended.conformance.programs import attached, filled, holds, left, right, room_for, source


def _pieces(case: Case) -> list[tuple[int, int]]:
    """Give pieces of sizes at which a transfer may change its ways, out of order and with gaps between them."""
    most = room_for(case, 3)
    sizes = [8, 1, most, 500, 3, most // 2, 8, 8, 2, most + 1, 64, 1]
    starts, at = [], 5
    for size in sizes:
        starts.append(at)
        at += size + size % 3
    order = [3, 0, 7, 6, 1, 9, 2, 11, 5, 4, 10, 8]
    return [(starts[number], sizes[number]) for number in order]


def _span(pieces: list[tuple[int, int]]) -> int:
    return max(start + nbytes for start, nbytes in pieces)


def _stored(pieces: list[tuple[int, int]], data: bytes) -> bytes:
    """Give what a segment of zeros holds after a vector put."""
    memory, at = bytearray(_span(pieces) + 64), 0
    for start, nbytes in pieces:
        memory[start : start + nbytes] = data[at : at + nbytes]
        at += nbytes
    return bytes(memory)


@pytest.mark.rule("X41", "X42", "X3")
@pytest.mark.crowds
def test_a_vector_put_fills_its_pieces_and_no_more(case: Case) -> None:
    """One buffer, in piece after piece in the given order; what lies between the pieces stays."""
    pieces = _pieces(case)
    total = sum(nbytes for _, nbytes in pieces)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.put_vector(right(ep), pieces, pattern(total, ep.rank))
        await x.barrier()
        assert holds(ep, 0, _stored(pieces, pattern(total, left(ep))))

    case.run(main, segment=_span(pieces) + 64)


@pytest.mark.rule("X41", "X42", "X4")
@pytest.mark.crowds
def test_a_vector_get_brings_its_pieces_in_order(case: Case) -> None:
    """In a new array, a buffer, or a list of buffers, which is what it gives."""
    pieces = _pieces(case)
    total = sum(nbytes for _, nbytes in pieces)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        filled(ep, 0, ep.segment.nbytes, ep.rank)
        await x.barrier()
        there = pattern(ep.segment.nbytes, right(ep))
        expected = b"".join(there[start : start + nbytes] for start, nbytes in pieces)
        new = await x.get_vector(right(ep), pieces)
        assert new.dtype == np.uint8
        assert new.shape == (total,)
        assert bytes(new) == expected
        buffer = bytearray(total)
        assert await x.get_vector(right(ep), pieces, buffer) is buffer
        assert buffer == expected
        parts: list[Any] = [bytearray(7), np.zeros((total - 7) // 2, np.uint8), bytearray(total - 7 - (total - 7) // 2)]
        assert await x.get_vector(right(ep), pieces, out=parts) is parts
        assert b"".join(map(bytes, parts)) == expected

    case.run(main, segment=_span(pieces) + 64)


@pytest.mark.rule("X42", "X6")
@pytest.mark.parametrize("where", ["in", "out"])
def test_buffers_need_not_be_cut_as_the_pieces(case: Case, where: str) -> None:
    """Several buffers here, several pieces there: only the sums agree; here may be in the segment too."""
    pieces = _pieces(case)
    total = sum(nbytes for _, nbytes in pieces)
    cuts = [0, 1, 1, 9, 600, total // 2, total - 3, total]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        span = _span(pieces) + 64
        data = source(ep, where, span, pattern(total, ep.rank))
        parts = [data[begin:end] for begin, end in pairwise(cuts)]
        await x.put_vector(right(ep), pieces, parts)
        await x.barrier()
        assert holds(ep, 0, _stored(pieces, pattern(total, left(ep))))
        back = source(ep, where, span + total, bytes(total))
        await x.get_vector(right(ep), pieces, tuple(back[begin:end] for begin, end in pairwise(cuts)))
        assert bytes(back) == pattern(total, ep.rank)

    case.run(main, segment=_span(pieces) + 64 + 2 * total)


@pytest.mark.rule("X42", "X46", "X28")
def test_pieces_may_be_any_list_of_pairs(case: Case) -> None:
    """Tuples, arrays of integers, whatever can be gone through once."""
    pieces = [(40, 3), (0, 5), (1000, 8)]
    data = pattern(16)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        forms: list[Any] = [
            tuple(pieces),
            [list(piece) for piece in pieces],
            np.array(pieces),
            np.array(pieces, np.uint16),
            np.array(pieces, ">i8")[:, :],
            iter(pieces),
            zip(np.array([40, 0, 1000]), (3, np.int8(5), 8), strict=True),
        ]
        for form in forms:
            ep.segment[:] = 0
            await x.barrier()
            await x.put_vector(right(ep), form, data)
            await x.barrier()
            assert holds(ep, 0, _stored(pieces, data))
            await x.barrier()

    case.run(main)


@pytest.mark.rule("X47", "X8")
def test_pieces_of_no_bytes_are_nothing(case: Case) -> None:
    """Their offsets are not looked at, and nothing is sent, in no form."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for nothing in ([], [(-1, 0)], [(1 << 70, 0), (0, 0)], np.zeros((0, 2), int)):
            await x.put_vector(right(ep), nothing, b"")
            await x.put_vector(right(ep), nothing, [b"", b""])
            assert (await x.get_vector(right(ep), nothing)).shape == (0,)
            assert (await x.put_vector_nb(right(ep), nothing, b"")).done
            assert (await x.get_vector_nb(right(ep), nothing)).done
            await x.put_vector_nbi(right(ep), nothing, b"")
            await x.get_vector_nbi(right(ep), nothing, [bytearray(), bytearray()])
        await x.sync()

    result = case.run(main)
    assert [counts["requests_sent"] for counts in result.statistics] == [0] * case.size


@pytest.mark.rule("X47")
def test_pieces_of_no_bytes_among_others_are_passed_over(case: Case) -> None:
    """Wherever they are said to be, and whatever buffers of no bytes are among the buffers."""
    pieces = [(1 << 80, 0), (10, 2), (-5, 0), (20, 1), (1 << 63, 0)]

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.put_vector(right(ep), pieces, [b"", b"abc"])
        assert bytes(await x.get_vector(right(ep), pieces)) == b"abc"
        await x.barrier()
        assert holds(ep, 0, bytes(10) + b"ab" + bytes(8) + b"c" + bytes(30))

    case.run(main)
