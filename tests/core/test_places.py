"""Where memory of a program lies in its rank's segment."""

import numpy as np
import pytest

import conduit

SIZE = 64


@pytest.fixture
def places():
    """Give what the endpoint of one rank says."""

    def told(look):
        async def main(ep):
            return look(ep)

        return conduit.run(main, conduit="loggp", ranks=1, segment=SIZE).values[0]

    return told


def test_every_view_of_the_segment_is_found_in_it(places):
    def look(ep):
        view = ep.segment.data
        return {
            (start, stop): ep.place_in_segment(view[start:stop])
            for start in range(SIZE)
            for stop in range(start, SIZE + 1)
        }

    assert places(look) == {
        (start, stop): start if start < stop else None for start in range(SIZE) for stop in range(start, SIZE + 1)
    }


def test_what_is_beside_the_segment_or_no_view_is_not_in_it(places):
    def look(ep):
        behind = ep.take_auxiliary(8)
        whole = ep._port.segment.data  # the segment, and the auxiliary bytes behind it
        across = whole[SIZE - 4 : SIZE + 4]
        return [
            len(behind),
            *map(ep.place_in_segment, (across, whole[SIZE : SIZE + 8], np.zeros(4, np.uint8).data, b"abcd")),
        ]

    assert places(look) == [8, None, None, None, None]
