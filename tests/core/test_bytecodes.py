"""What a short round trip costs to simulate, in bytecodes: exact, and the same on every computer."""

import sys

import pytest

MOST = {"sci": 4172, "loggp": 3188, "sunfire": 5007, "startx": 5733}
"""Of a short request and its reply between two hosts, the program's own included; they may fall, not rise."""


async def round_trips(ep, count):
    """A program: rank 0 sends short requests and waits for the reply of each; rank 1 serves."""
    got = 0
    served = 0

    def request(token):
        nonlocal served
        served += 1
        token.reply_short(reply)

    def reply(token):
        nonlocal got
        got += 1

    await ep.attach(request, reply)
    if ep.rank == 0:
        for turn in range(count):
            await ep.request_short(1, request)
            await ep.block_until(lambda turn=turn: got > turn)
    else:
        await ep.block_until(lambda: served == count)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("network", MOST)
def test_a_short_round_trip_takes_no_more_bytecodes_than_it_did(network, bytecodes):
    def of(turns):
        return bytecodes(round_trips, turns, conduit=network, ranks_per_host=1)

    of(1)  # what is made once for the process
    assert 2000 < (of(40) - of(20)) / 20 <= MOST[network]
