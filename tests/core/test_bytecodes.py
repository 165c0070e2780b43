"""What a short round trip costs to simulate, in bytecodes: exact, and the same on every computer."""

import sys

import pytest

MOST = {"sci": 3165, "loggp": 2572, "sunfire": 3952, "startx": 4457}
"""Of a short request and its reply between two hosts, the program's own included; they may fall, not rise."""


async def round_trips(ep, count):
    """A program: rank 0 sends a number to rank 1, which sends it back, and waits for it."""
    got = 0

    def request(token, number):
        token.reply_short(reply, number)

    def reply(token, number):
        nonlocal got
        got += 1

    await ep.attach(request, reply)
    if ep.rank == 0:
        for turn in range(count):
            await ep.request_short(1, request, 0)
            await ep.block_until(lambda: got > turn)  # noqa: B023  the wait is over before the next turn


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("network", MOST)
def test_a_short_round_trip_takes_no_more_bytecodes_than_it_did(network, bytecodes):
    def of(turns):
        return bytecodes(round_trips, turns, conduit=network, ranks_per_host=1)

    of(1)  # what is made once for the process
    assert 2000 < (of(40) - of(20)) / 20 <= MOST[network]
