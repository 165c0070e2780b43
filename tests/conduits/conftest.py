"""What the tests of all conduits share: short round trips, and the conduits that jobs have made."""

import pytest

import conduit
from conduits.common import SimulatedConduit


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
