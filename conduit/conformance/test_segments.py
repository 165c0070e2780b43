"""Segments: size, content, sharing, and what is refused."""

from typing import Any

import numpy as np
import pytest

from conduit import BadRequest, ConduitError, Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.hardware import memory
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import attached, names, neighbour, refusal


@pytest.mark.rule("R54")
@pytest.mark.parametrize("nbytes", [0, 1, 7, 63, 4095, 4097, 65536])
def test_a_fresh_segment_has_its_size_and_zeros(case: Case, nbytes: int) -> None:
    """Any number of bytes, not rounded, on every rank; every byte is zero."""

    async def main(ep: Endpoint) -> tuple[int, bool, set[int]]:
        fresh = not ep.segment.any() and not memory(ep).any()
        await ep.attach()
        return len(ep.segment), fresh, {ep.segment_size(rank) for rank in range(ep.size)}

    assert list(case.run(main, segment=nbytes).values) == [(nbytes, True, {nbytes})] * case.size


@pytest.mark.rule("R54")
def test_every_job_gets_fresh_segments(case: Case) -> None:
    """Nothing of one job is left in the next."""

    async def main(ep: Endpoint) -> int:
        found = int(ep.segment.any())
        ep.segment[:] = 0xFF
        await ep.attach()
        return found

    assert list(case.run(main, segment=256).values) == [0] * case.size
    assert list(case.run(main, segment=256).values) == [0] * case.size


@pytest.mark.rule("R55")
def test_the_segment_is_a_writable_array_of_bytes(case: Case) -> None:
    """One dimension, uint8, contiguous, with numpy's views of other types; the same memory every time."""

    async def main(ep: Endpoint) -> bool:
        first = ep.segment
        first[3] = 9
        ep.segment[8:16].view("<i8")[0] = -2
        again = ep.segment
        assert isinstance(first, np.ndarray)
        assert (first.dtype.str, first.ndim, first.flags.writeable) == ("|u1", 1, True)
        assert first.flags.c_contiguous
        assert first.__array_interface__["data"][0] % 4096 == 0
        return int(again[3]) == 9 and bytes(again[8:16]) == b"\xfe" + b"\xff" * 7

    assert all(case.run(main).values)


@pytest.mark.rule("R55")
def test_program_and_hardware_see_the_same_bytes(case: Case) -> None:
    """What the program stores is in the memory behind the conduit, and the other way round."""

    async def main(ep: Endpoint) -> bool:
        ep.segment[:] = np.frombuffer(pattern(1000, ep.rank), np.uint8)
        assert bytes(memory(ep)) == pattern(1000, ep.rank)
        log = await attached(ep)
        await ep.request_long(neighbour(ep), log.long, pattern(100, 99), 450)
        await log.until(1)
        expected = bytearray(pattern(1000, ep.rank))
        expected[450:550] = pattern(100, 99)
        return bytes(memory(ep)) == expected == bytes(ep.segment)

    assert all(case.run(main, segment=1000).values)


@pytest.mark.rule("R56")
def test_ranks_share_no_memory(case: Case) -> None:
    """A store to the own segment is seen by no other rank, on the same host or elsewhere."""

    async def main(ep: Endpoint) -> bool:
        await ep.attach()
        ep.segment[:] = ep.rank + 1
        await ep.attach()
        await ep.compute(1e-6)
        return bool((ep.segment == ep.rank + 1).all())

    assert all(case.run(main, segment=128).values)


@pytest.mark.rule("R57", "R60")
@pytest.mark.parametrize("segment", [-1, 1.5, "64", None], ids=str)
def test_a_segment_of_no_size_is_refused(case: Case, segment: Any) -> None:
    """The message names the argument and the value."""

    async def main(ep: Endpoint) -> None:
        """Never runs."""

    with pytest.raises(BadRequest, match=r"\A(?s:.*)segment"):
        case.run(main, segment=segment)


@pytest.mark.rule("R57", "R60")
def test_a_segment_beyond_the_hardwares_limit_is_refused(case: Case) -> None:
    """With the size and the limit, before anything runs."""
    limit = case.cls.max_segment(case.options)
    if limit is None:
        pytest.skip("this conduit has no limit")

    async def main(ep: Endpoint) -> None:
        """Never runs."""

    with pytest.raises(ConduitError, match=rf"(?s)\A.*\b{limit + 1}\b") as caught:
        case.run(main, segment=limit + 1)
    names(str(caught.value), "segment", limit + 1, limit)


@pytest.mark.rule("R54", "R60")
def test_segment_size_wants_a_rank(case: Case) -> None:
    """Of the job, and an integer."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        names(refusal(lambda: ep.segment_size(ep.size)), "rank", ep.size)
        names(refusal(lambda: ep.segment_size(-1)), "rank", -1)
        names(refusal(lambda: ep.segment_size(0.0)), "rank", "float")  # type: ignore[arg-type]

    case.run(main)
