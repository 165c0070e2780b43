"""Wrong transfers that are not contiguous: the element that is wrong is named, at the call, before anything is sent."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import names, refusal
from conduit.words import is_a
from extended.conformance.programs import attached, right

SEGMENT = 256
SUFFIXES = ("", "_nb", "_nbi")


@pytest.mark.rule("X53", "X28")
def test_a_rank_that_is_none_is_refused(case: Case) -> None:
    """In every form, also with nothing to do."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        square = np.zeros((2, 2), np.uint8)
        for suffix in SUFFIXES:
            calls = {
                f"put_vector{suffix}": lambda dest, call: call(dest, [(0, 1)], b"a"),
                f"get_vector{suffix}": lambda dest, call: call(dest, [], bytearray()),
                f"put_indexed{suffix}": lambda dest, call: call(dest, [], 8, b""),
                f"get_indexed{suffix}": lambda dest, call: call(dest, [3], 8, bytearray(8)),
                f"put_strided{suffix}": lambda dest, call: call(dest, 0, (2, 1), square),
                f"get_strided{suffix}": lambda dest, call: call(dest, 0, (1, 2), out=square),
            }
            for name, call in calls.items():
                for dest in (-1, ep.size, 1 << 70):
                    message = refusal(partial(call, dest, getattr(x, name)))
                    assert message.startswith(f"{name}: dest={dest} ")
                    names(message, ep.size - 1)
                for wrong in (1.0, "0", None):
                    names(refusal(partial(call, wrong, getattr(x, name))), name, "dest", repr(wrong))

    case.run(main)


@pytest.mark.rule("X53", "X28")
def test_a_piece_outside_the_segment_is_named(case: Case) -> None:
    """Before it, across its end, beyond 64 bits; by its number in the list, with the size that the segment has."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        for offset in (-1, SEGMENT - 7, SEGMENT, 1 << 62, (1 << 63) - 1, -(1 << 63)):
            way_out = "offsets begin at 0" if offset < 0 else "segment="
            for suffix in SUFFIXES:
                put, get = getattr(x, f"put_vector{suffix}"), getattr(x, f"get_vector{suffix}")
                for message in (
                    refusal(partial(put, dest, [(0, 3), (offset, 8), (300, 0)], bytes(11))),
                    refusal(partial(get, dest, np.array([(0, 3), (offset, 8)]), bytearray(11))),
                ):
                    names(message, "pieces[1]", offset, 8, SEGMENT, dest, way_out)
                put, get = getattr(x, f"put_indexed{suffix}"), getattr(x, f"get_indexed{suffix}")
                for message in (
                    refusal(partial(put, dest, [0, 1, offset], 8, bytes(24))),
                    refusal(partial(get, dest, np.array([0, 1, offset]), 8, bytearray(24))),
                ):
                    names(message, "offsets[2]", offset, 8, SEGMENT, dest, way_out)
        names(refusal(partial(x.get_vector, dest, [(0, SEGMENT + 1)])), "pieces[0]", SEGMENT)
        wide = 1 << 80
        for message in (
            refusal(partial(x.get_indexed, dest, [0, wide], 8)),
            refusal(partial(x.get_vector, dest, [(wide, 0), (wide, 8)])),
        ):
            names(message, f"offset {wide} with 8 bytes, is bytes {wide} to {wide + 7}", SEGMENT)
        names(refusal(partial(x.get_vector, dest, [(0, wide)])), "pieces[0]", wide, SEGMENT)
        names(refusal(partial(x.put_vector, dest, [(-wide, 1)], b"a")), "pieces[0]", -wide, "offsets begin at 0")
        names(refusal(partial(x.get_indexed, dest, np.array([2**64 - 8], np.uint64), 8)), "offsets[0]", SEGMENT)
        names(refusal(partial(x.get_indexed, dest, [0], (1 << 63) - 1)), "offsets[0]", (1 << 63) - 1, SEGMENT)
        for suffix in SUFFIXES:  # also of no elements, of which it could not make an array
            put, get = getattr(x, f"put_indexed{suffix}"), getattr(x, f"get_indexed{suffix}")
            for places in ([], [0]):
                names(refusal(partial(put, dest, places, wide, b"")), f"put_indexed{suffix}", f"nbytes={wide}")
                names(refusal(partial(get, dest, places, 1 << 63, b"")), f"get_indexed{suffix}", f"nbytes={1 << 63}")
        assert (await x.get_indexed(dest, [SEGMENT - 8], 8)).shape == (1, 8)
        assert (await x.get_vector(dest, [(0, SEGMENT)])).shape == (SEGMENT,)

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53", "X28")
def test_a_strided_array_must_lie_in_the_segment(case: Case) -> None:
    """Its first and its last byte, whichever way the strides go; the largest that fits is allowed."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        array = np.zeros((4, 4), "i4")
        for offset, strides in (
            (-1, (16, 4)),
            (SEGMENT - 63, (16, 4)),
            (11, (4, -4)),
            (SEGMENT - 3, (-16, -4)),
            (0, (1 << 70, 4)),
            (0, (64, 32)),
            (1 << 70, (0, 0)),
        ):
            first = offset + sum(min(0, 3 * stride) for stride in strides)
            way_out = "offsets begin at 0" if first < 0 else "segment="
            for suffix in SUFFIXES:
                put, get = getattr(x, f"put_strided{suffix}"), getattr(x, f"get_strided{suffix}")
                for message in (
                    refusal(partial(put, dest, offset, strides, array)),
                    refusal(partial(get, dest, offset, strides, array)),
                ):
                    names(message, f"offset={offset}", SEGMENT, dest, way_out)
        await x.put_strided(dest, 0, (64, 16), array)
        await x.put_strided(dest, SEGMENT - 4, (-64, -16), array)
        await x.put_strided(dest, 12, (16, -4), array)

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53", "X48")
def test_elements_of_a_strided_put_must_not_overlap(case: Case) -> None:
    """Strides of elements, not of bytes, are told what to write; those that lie between each other are allowed."""
    overlap = (
        "lets elements of data overlap there, which have 4 bytes each; strides are in bytes, from one element "
        "to the next"
    )

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        row, square = np.arange(4, dtype="i4"), np.zeros((3, 3), "i4")
        for suffix in SUFFIXES:
            put, get = getattr(x, f"put_strided{suffix}"), getattr(x, f"get_strided{suffix}")
            for strides, array, advice in (
                ([1], row, ": write [4]"),
                ([-1], row, ": write [-4]"),
                ([3, 1], square, ": write [12, 4]"),
                ([5, 4], square, ", and no two elements may share a byte"),
                ([6, 8], square, ", and no two elements may share a byte"),
                ([0], row, ", and no two elements may share a byte"),
            ):
                message = refusal(partial(put, x.rank, 64, strides, array))
                assert message == f"put_strided{suffix}: strides={strides} {overlap}{advice}"
                handle = await get(x.rank, 64, strides, np.zeros_like(array))
                if suffix == "_nb":
                    await handle
            for strides, array in (
                ([4], row),
                ([0], row[:1]),
                ([0], row[:0]),
                ([12, 8], square),
                ([4, 12], square),
            ):
                handle = await put(x.rank, 64, strides, array)
                if suffix == "_nb":
                    await handle
        await x.sync()

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53")
def test_sizes_must_agree(case: Case) -> None:
    """As many bytes here as there; the message has both."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        for suffix in SUFFIXES:
            vector, indexed = getattr(x, f"put_vector{suffix}"), getattr(x, f"put_indexed{suffix}")
            names(refusal(partial(vector, dest, [(0, 3), (9, 4)], b"123456")), "data", 6, 7)
            names(refusal(partial(vector, dest, [(0, 3), (9, 4)], [b"1234", b"5678"])), "data", 8, 7)
            names(refusal(partial(vector, dest, [], [b"1"])), "data", 1, 0)
            names(refusal(partial(indexed, dest, [0, 8, 16], 4, bytes(8))), "data", 8, 12)
            vector, indexed = getattr(x, f"get_vector{suffix}"), getattr(x, f"get_indexed{suffix}")
            names(refusal(partial(vector, dest, [(0, 3)], bytearray(2))), "out", 2, 3)
            names(refusal(partial(vector, dest, [(0, 3)], [bytearray(2)])), "out", 2, 3)
            names(refusal(partial(indexed, dest, [0, 8], 4, out=bytearray(9))), "out", 9, 8)

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53", "X28")
def test_lists_of_anything_else_are_refused(case: Case) -> None:
    """Text, single numbers, floats, what are no pairs, negative sizes; the element that is wrong is named."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        wrong: Any
        for wrong in ("text", b"bytes", 5, None, 1.5):
            names(refusal(partial(x.get_vector, dest, wrong)), "get_vector", "pieces", is_a(wrong))
            names(refusal(partial(x.get_indexed, dest, wrong, 1)), "get_indexed", "offsets", is_a(wrong))
            message = refusal(partial(x.get_strided, dest, 0, wrong, np.zeros(2)))
            names(message, "get_strided", "strides", is_a(wrong))
        names(refusal(partial(x.get_vector, dest, [(0, 1), 7])), "pieces[1]", 7)
        names(refusal(partial(x.get_vector, dest, [(0, 1), (1, 2, 3)])), "pieces[1]", "(1, 2, 3)")
        names(refusal(partial(x.get_vector, dest, [(0, 1), (1.0, 2)])), "pieces[1][0]", 1.0, "float")
        names(refusal(partial(x.get_vector, dest, [(0, 1), (1, -2)])), "pieces[1][1]", -2)
        names(refusal(partial(x.get_vector, dest, np.array([(0, 1), (1, -2)]))), "pieces[1][1]", -2)
        names(refusal(partial(x.get_vector, dest, np.zeros((2, 3), int))), "pieces[0]")
        names(refusal(partial(x.get_indexed, dest, [0, 1.0], 1)), "offsets[1]", 1.0, "float")
        names(refusal(partial(x.get_indexed, dest, [0, [1]], 1)), "offsets[1]", "list")
        names(refusal(partial(x.get_indexed, dest, np.zeros(3), 1)), "offsets[0]", "float64")
        names(refusal(partial(x.get_indexed, dest, np.zeros((2, 2), int), 1)), "offsets", "(2, 2)")
        mask = np.array([False, True, True])
        for call in (partial(x.get_indexed, dest, mask, 1), partial(x.put_indexed_nb, dest, mask, 1, bytes(3))):
            names(refusal(call), "offsets is an array of 3 bools, a mask;", "numpy.flatnonzero(mask) * size")
        names(refusal(partial(x.atomic("i4").accumulate, dest, mask, 1)), "atomic.accumulate: offsets", "a mask;")
        for nbytes in (-1, 1.0, None):
            names(refusal(partial(x.get_indexed, dest, [0], nbytes)), "get_indexed", "nbytes", nbytes)
        names(refusal(partial(x.get_strided, dest, 0, (1, "a"), np.zeros((2, 2)))), "strides[1]", "str")
        names(refusal(partial(x.get_strided, dest, 0.0, (1, 1), np.zeros((2, 2)))), "offset", 0.0)

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53", "X9")
def test_buffers_that_are_none_are_refused(case: Case) -> None:
    """Text, gaps, objects, read-only ones to be filled; of a list the one that is wrong is named."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        dest = right(ep)
        wrong: Any
        gaps, objects = np.zeros(16, np.uint8)[::2], np.array([None], object)
        for wrong in ("text", 5, None, gaps, objects):
            names(refusal(partial(x.put_indexed, dest, [0], 8, wrong)), "put_indexed", "data")
            names(refusal(partial(x.put_vector, dest, [(0, 8)], wrong)), "put_vector", "data")
            names(refusal(partial(x.put_vector, dest, [(0, 9)], [b"a", wrong])), "put_vector", "data[1]")
        for wrong in ("text", bytes(8), gaps):
            names(refusal(partial(x.get_indexed, dest, [0], 8, wrong)), "get_indexed", "out")
            names(refusal(partial(x.get_vector, dest, [(0, 9)], [bytearray(1), wrong])), "get_vector", "out[1]")
        frozen = np.broadcast_to(np.zeros(1), (3, 3))
        names(refusal(partial(x.get_strided, dest, 0, (8, 8), frozen)), "get_strided", "out", "read-only")
        for wrong in (bytes(8), [1, 2], 5, None):
            names(refusal(partial(x.put_strided, dest, 0, (1,), wrong)), "data", is_a(wrong), "numpy.asarray")
            names(refusal(partial(x.get_strided, dest, 0, (1,), wrong)), "out", is_a(wrong))
        names(refusal(partial(x.put_strided, dest, 0, (1,), objects)), "data", "object")

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53", "X44")
def test_strides_must_be_one_for_each_dimension(case: Case) -> None:
    """Their number and the shape are named."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        square = np.zeros((2, 3), np.uint8)
        for strides in ((), (1,), (1, 2, 3)):
            names(refusal(partial(x.put_strided, right(ep), 0, strides, square)), "strides", "data", "(2, 3)", 2)
            names(refusal(partial(x.get_strided_nbi, right(ep), 0, strides, square)), "strides", "out", "(2, 3)", 2)
        names(refusal(partial(x.put_strided, right(ep), 0, (1,), np.zeros(()))), "strides", "()")

    case.run(main, segment=SEGMENT)


@pytest.mark.rule("X53")
def test_wrong_numbers_of_arguments_are_type_errors_at_the_call(case: Case) -> None:
    """They name the call."""

    async def main(ep: Endpoint) -> None:
        x: Any = await attached(ep)
        with pytest.raises(TypeError, match=r"\AExtended\.put_vector\(\) missing 1 required .*: 'data'"):
            x.put_vector(0, [])
        with pytest.raises(TypeError, match=r"\AExtended\.get_indexed_nbi\(\) missing 1 required .*: 'out'"):
            x.get_indexed_nbi(0, [], 8)
        with pytest.raises(TypeError, match=r"\AExtended\.get_strided\(\) missing 1 required .*: 'out'"):
            x.get_strided(0, 0, ())
        with pytest.raises(TypeError, match=r"\AExtended\.put_strided\(\) got an unexpected keyword argument 'bulk'"):
            x.put_strided(0, 0, (), np.zeros(()), bulk=True)

    case.run(main)
