"""What a short round trip costs to simulate, in bytecodes: exact, and the same on every computer."""

import sys

import pytest

import conduit

MOST = {"sci": 4165, "loggp": 3135, "sunfire": 5000, "startx": 5728}
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


def bytecodes(spec, count, **settings):
    """Return how many bytecodes a job of `count` round trips takes from its start to its result."""
    executed = 0

    def trace(frame, event, arg):
        nonlocal executed
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        executed += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        conduit.run(round_trips, count, conduit=spec, ranks_per_host=1, **settings)
    finally:
        sys.settrace(before)
    return executed


def of_a_round_trip(spec, turns=20, **settings):
    """Return the bytecodes of one round trip of a job in steady state."""
    bytecodes(spec, 1, **settings)  # what is made once for the process
    return (bytecodes(spec, 2 * turns, **settings) - bytecodes(spec, turns, **settings)) / turns


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("network", MOST)
def test_a_short_round_trip_takes_no_more_bytecodes_than_it_did(network):
    assert 2000 < of_a_round_trip(network) <= MOST[network]
