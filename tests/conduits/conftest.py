"""What the tests of all conduits share: short round trips, and the conduits that jobs have made."""

import pytest

import conduit
from conduit.simnet import SimulatedConduit


async def short_round_trips(ep, turns, first=()):
    """A program: rank 0 asks each rank in `first`, then rank 1 `turns` times; returns the mean seconds of an answer."""
    got = []

    def request(token):
        token.reply_short(reply)

    def reply(token):
        got.append(token.rank)

    await ep.attach(request, reply)
    begun = ep.now
    if ep.rank == 0:
        for number, rank in enumerate([*first, *[1] * turns], 1):
            await ep.request_short(rank, request)
            await ep.block_until(lambda number=number: len(got) == number)
    return (ep.now - begun) / (len(first) + turns)


@pytest.fixture
def round_trips():
    """Give the program of short round trips."""
    return short_round_trips


def mean_round_trip(category, nbytes, *, spec, reply_bytes=None, ranks=2, peer=1, turns=10, offset=0, **settings):
    """Mean microseconds of a round trip as testam makes it; the reply carries as much, or `reply_bytes`."""
    back = nbytes if reply_bytes is None else reply_bytes

    async def main(ep):
        got = []

        def request(token, *payload):
            if category == "short" or not back:
                token.reply_short(reply)
            elif category == "medium":
                token.reply_medium(reply, bytes(back))
            else:
                token.reply_long(reply, bytes(back), offset)

        def reply(token, *payload):
            got.append(1)

        await ep.attach(request, reply)
        begun = ep.now
        if ep.rank == 0:
            for turn in range(turns):
                if category == "short":
                    await ep.request_short(peer, request)
                elif category == "medium":
                    await ep.request_medium(peer, request, bytes(nbytes))
                else:
                    await ep.request_long(peer, request, bytes(nbytes), offset)
                await ep.block_until(lambda turn=turn: len(got) > turn)
        return (ep.now - begun) / turns * 1e6

    return conduit.run(main, ranks=ranks, conduit=spec, segment=1 << 20, **settings).values[0]


@pytest.fixture
def ping_pong():
    """Give what measures round trips."""
    return mean_round_trip


@pytest.fixture
def jobs(monkeypatch):
    """The conduits of the test's jobs, in the order in which they were run."""
    found = []
    make = SimulatedConduit.__init__

    def noting(self, *args):
        make(self, *args)
        found.append(self)

    monkeypatch.setattr(SimulatedConduit, "__init__", noting)
    return found


@pytest.fixture
def events_of_a_round_trip(jobs):
    """Count the kernel events of a short round trip, the first few not counted."""

    def count(spec, first=(), **settings):
        for turns in (10, 110):
            conduit.run(short_round_trips, turns, first, conduit=spec, **settings)
        few, many = (job.kernel.events for job in jobs[-2:])
        return (many - few) / 100

    return count
