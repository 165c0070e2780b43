"""The offsets of clocks are found within the bounds that are given with them, whatever the messages take."""

import threading
from queue import Queue
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.wall import Alignment, Offset, measure_offsets, one_clock_a_host

SIZE = 3


class World:
    """Processes as threads; time goes on only while a message travels."""

    def __init__(self, random, origins, speeds):
        self.time = 1000
        self.random = random
        self.origins = origins
        self.speeds = speeds
        self.queues = {(a, b): Queue() for a in range(SIZE) for b in range(SIZE)}

    def clock(self, rank):
        return self.origins[rank] + self.time * self.speeds[rank] // 1000


class Process:
    """One of them."""

    def __init__(self, world, rank):
        self.world, self.rank, self.size = world, rank, SIZE

    def send(self, dest, data):
        self.world.time += self.world.random.randint(1, 5000)
        self.world.queues[self.rank, dest].put(data)

    def receive(self, source, nbytes):
        data = self.world.queues[source, self.rank].get(timeout=60)
        assert len(data) == nbytes
        return data

    def gather(self, data):
        for dest in range(SIZE):
            self.world.queues[self.rank, dest].put(data)
        return [self.world.queues[source, self.rank].get(timeout=60) for source in range(SIZE)]


def measured(world, trips):
    found = [None] * SIZE

    def run(rank):
        found[rank] = measure_offsets(Process(world, rank), trips, lambda: world.clock(rank))

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(SIZE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found[0] == found[1] == found[2]
    return found[0]


CLOCKS = st.tuples(
    st.lists(st.integers(-(10**15), 10**15), min_size=SIZE, max_size=SIZE), st.integers(0, 1000), st.integers(1, 20)
)


@given(CLOCKS)
def test_an_offset_is_within_its_bound(drawn):
    origins, seed, trips = drawn
    world = World(Random(seed), origins, [1000] * SIZE)
    offsets = measured(world, trips)
    assert (offsets[0].ahead, offsets[0].within) == (0, 0)
    for rank, offset in enumerate(offsets):
        assert abs(offset.ahead - (origins[rank] - origins[0])) <= offset.within <= 5001
        there = world.clock(rank)
        assert abs(Alignment(offsets).on_first(rank, there) - world.clock(0)) <= Alignment(offsets).within(rank)


@given(CLOCKS)
def test_between_two_measurements_a_clock_may_be_slow(drawn):
    origins, seed, trips = drawn
    world = World(Random(seed), origins, [1000, 1003, 990])
    before = measured(world, trips)
    middle = []
    for _ in range(5):
        world.time += 1_000_000
        middle.append([world.clock(rank) for rank in range(SIZE)])
    world.time += 1_000_000
    alignment = Alignment(before, measured(world, trips))
    for clocks in middle:
        for rank in range(SIZE):
            # The trips themselves take some 100 us at most, in which such clocks come 1 us apart.
            assert abs(alignment.on_first(rank, clocks[rank]) - clocks[0]) <= alignment.within(rank) + 1100


def test_more_trips_bind_closer():
    def within(trips):
        return measured(World(Random(1), [0, 0, 0], [1000] * SIZE), trips)[1].within

    assert within(1) > within(4) > within(64)


def test_outside_of_the_measurements_the_nearest_counts():
    alignment = Alignment([Offset(0, 0, 0), Offset(10, 1, 100)], [Offset(0, 0, 100), Offset(30, 2, 300)])
    assert [alignment.on_first(1, at) for at in (50, 100, 200, 300, 400)] == [40, 90, 180, 270, 370]
    assert alignment.within(1) == 2


def test_nothing_measured_is_refused():
    with pytest.raises(
        ValueError, match=r"\AAlignment: nothing was measured; give it what measure_offsets has returned\Z"
    ):
        Alignment()


def test_ranks_of_a_host_get_its_closest_offset_unless_they_have_a_clock_of_their_own():
    measured = [
        Offset(0, 0, 100),
        Offset(3, 5, 110),  # error alone
        Offset(-70, 9, 120),  # a clock of its own: no error explains 70
        Offset(1000, 40, 1130),
        Offset(1030, 10, 1140),  # the closest of its host
        Offset(1005, 15, 1150),
    ]
    assert one_clock_a_host(measured, [0, 0, 0, 1, 1, 1]) == (
        Offset(0, 0, 100),
        Offset(0, 0, 110),
        Offset(-70, 9, 120),
        Offset(1030, 10, 1130),
        Offset(1030, 10, 1140),
        Offset(1030, 10, 1150),
    )
    assert one_clock_a_host(measured, range(6)) == tuple(measured)
