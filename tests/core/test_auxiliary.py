"""Memory behind the segment: for layers, beside what programs see."""

import numpy as np
import pytest

import conduit
from conduit.simnet import SimulatedConduit

MORE = SimulatedConduit.auxiliary
SEGMENT = 4096


@pytest.mark.parametrize("spec", ["loggp", "sci", "sunfire", "startx"])
@pytest.mark.parametrize("per_host", [1, 2])
def test_long_requests_land_behind_the_segment_and_leave_it_alone(spec, per_host):
    """Sizes on both sides of every threshold; a rank to itself, too."""
    sizes = (1, 7, 100, 2048, 5000, 70_000)

    async def main(ep):
        given, landed = ep.take_auxiliary(200_000), []
        assert (len(given), len(ep.segment), ep.segment_size(1 - ep.rank)) == (200_000, SEGMENT, SEGMENT)

        def land(token, payload, number):
            landed.append((token.rank, number, bytes(payload)))

        await ep.attach(land)
        for dest in (1 - ep.rank, ep.rank):
            at = 100_000 * ep.rank + 3
            for number, nbytes in enumerate(sizes):
                data = np.full(nbytes, ep.rank + 1, np.uint8)
                await ep.request_long(dest, land, data, given.start + at, number, auxiliary=True)
                at += nbytes
        await ep.block_until(lambda: len(landed) == 2 * len(sizes))
        for source in (0, 1):
            mine = sorted((number, data) for rank, number, data in landed if rank == source)
            assert mine == [(number, bytes([source + 1]) * nbytes) for number, nbytes in enumerate(sizes)]
        return ep.segment.any()

    result = conduit.run(main, conduit=spec, ranks=2, ranks_per_host=per_host, segment=SEGMENT)
    assert result.values == [False, False]


def test_each_layer_gets_its_own_and_the_last_ones_what_is_left():
    async def main(ep):
        return [ep.take_auxiliary(nbytes) for nbytes in (MORE - 10, 8, 100, 1)]

    expected = [range(MORE - 10), range(MORE - 10, MORE - 2), range(MORE - 2, MORE), range(MORE, MORE)]
    assert conduit.run(main, ranks=1, conduit="loggp").values == [expected]


def test_a_network_with_a_largest_segment_gives_what_that_leaves():
    async def main(ep):
        return len(ep.take_auxiliary(MORE)), len(ep.segment)

    largest = 2 << 20  # of the driver
    assert conduit.run(main, ranks=1, conduit="sci", segment=largest - 1000).values == [(1000, largest - 1000)]
    assert conduit.run(main, ranks=1, conduit="sci", segment=largest).values == [(0, largest)]


@pytest.mark.parametrize("offset", [-1, MORE - 9, MORE])
def test_what_does_not_lie_in_it_is_refused(offset):
    async def main(ep):
        def land(token, payload):
            pass

        await ep.attach(land)
        with pytest.raises(
            conduit.BadRequest,
            match=rf"\Aep\.request_long: 10 bytes at offset={offset} are not inside the auxiliary memory of rank 1, "
            rf"which has {MORE} bytes; send to what its ep\.take_auxiliary has given\Z",
        ):
            await ep.request_long(1, land, bytes(10), offset, auxiliary=True)

    conduit.run(main, ranks=2, conduit="loggp")


def test_programs_cannot_reach_it():
    async def main(ep):
        def land(token, payload):
            pass

        await ep.attach(land)
        for offset in (SEGMENT - 9, SEGMENT, SEGMENT + 100):
            with pytest.raises(conduit.BadRequest, match="not inside the segment of rank 1, which has 4096 bytes"):
                await ep.request_long(1, land, bytes(10), offset)

    conduit.run(main, ranks=2, conduit="loggp", segment=SEGMENT)


@pytest.mark.parametrize("nbytes", [-1, 1.5, "many"])
def test_only_numbers_of_bytes_are_taken(nbytes):
    async def main(ep):
        with pytest.raises(conduit.BadRequest, match=r"\Aep\.take_auxiliary: nbytes="):
            ep.take_auxiliary(nbytes)

    conduit.run(main, ranks=1, conduit="loggp")


def test_a_network_that_has_none_gives_none():
    async def main(ep):
        return len(ep.take_auxiliary(MORE))

    assert conduit.run(main, ranks=2, conduit="udp").values == [0, 0]
