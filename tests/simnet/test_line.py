"""Tasks that wait for slots: their order, what it costs to ask them, and that none is lost when they are cancelled."""

import sys

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import conduit
from conduit.sim import Kernel
from conduit.simnet.blocked import BlockedQueue
from conduit.simnet.waiting import Blocked, ForSlot
from extended import Extended

NETWORKS = ["loggp:slots=1", "loggp", "mpi:library=scampi", "origin", "sci", "sunfire", "startx", "udp:slots=1"]
RANKS = 3


class Slots:
    """A transport that has slots, some for each rank, and counts how often it is asked."""

    def __init__(self):
        self.free = [0] * RANKS

    def acquire(self, dest):
        if not self.free[dest]:
            return None
        self.free[dest] -= 1
        return dest


class Predicate(Blocked):
    true = False

    def ready(self):
        return self.true


class AsOneList(RuleBasedStateMachine):
    """The line does what a list does of which everybody is asked."""

    def __init__(self):
        super().__init__()
        self.kernel = Kernel()
        self.line, self.list = BlockedQueue(), []
        self.slots, self.chosen = Slots(), None

    @rule(dest=st.integers(0, RANKS - 1))
    def wait_for_a_slot(self, dest):
        waiting = ForSlot(self.kernel, self.slots, dest, self.line.leave)
        self.line.announce(waiting)
        self.line.join(waiting)
        self.list.append(waiting)

    @rule()
    def wait_for_a_predicate(self):
        waiting = Predicate(self.kernel, "")
        if self.line.heads:
            self.line.join(waiting)
        else:
            self.line[waiting] = None
        self.list.append(waiting)

    @rule(data=st.data())
    def cancel(self, data):
        if self.list:
            waiting = data.draw(st.sampled_from(self.list))
            waiting.abandon()
            self.line.leave(waiting)
            self.list.remove(waiting)

    @rule()
    def choose(self):
        if self.list and self.chosen is None:
            self.chosen = self.list.pop(0)
            assert self.line.take_first() is self.chosen

    @rule()
    def go_on_waiting(self):
        if self.chosen is not None:
            self.list.insert(0, self.chosen)
            self.line.join_first(self.chosen)
            self.chosen = None

    @rule(free=st.lists(st.integers(0, 2), min_size=RANKS, max_size=RANKS), true=st.sets(st.integers(0, 9)))
    def make_a_pass(self, free, true):
        expected, left = [], list(free)
        for number, each in enumerate(self.list):
            if isinstance(each, ForSlot):
                over = left[each.dest] > 0
                left[each.dest] -= over
            else:
                each.true = over = number in true
            if over:
                expected.append(each)
        self.slots.free = list(free)
        assert self.line.take_ready() == expected
        assert self.slots.free == left
        self.list = [each for each in self.list if each not in expected]

    @invariant()
    def holds_the_same(self):
        assert self.line.everybody() == self.list
        assert bool(self.line) == bool(self.list)
        assert set(self.line.heads) == {each.dest for each in self.list if isinstance(each, ForSlot)}


TestLine = AsOneList.TestCase
TestLine.settings = settings(max_examples=60, stateful_step_count=40)


# Few different times, so that much falls on one instant.
times = st.integers(0, 6).map(lambda step: step * 2e-5)
asks = st.tuples(times, times, st.integers(1, RANKS - 1))  # begins at, gives up after, asks


@pytest.mark.parametrize("network", NETWORKS)
@settings(max_examples=15)
@given(st.lists(asks, min_size=1, max_size=12), st.lists(times, min_size=1, max_size=5), st.integers(0, 50))
def test_no_slot_is_lost_whatever_is_cancelled_at_whatever_instant(network, crowd, works, seed):
    async def main(ep):
        got = []

        def take(token, number):
            got.append(number)

        await ep.attach(take)

        async def ask(number, begin, patience, dest):
            await trio.sleep_until(start + begin)
            with trio.move_on_at(start + begin + patience):
                await ep.request_short(dest, take, number)

        start = trio.current_time()
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                for number, each in enumerate(crowd):
                    nursery.start_soon(ask, number, *each)
                for work in works:
                    await ep.compute(work)
                    await ep.poll()
        else:
            for work in reversed(works):
                await ep.compute(work)
                await ep.poll()
        await ep.attach()
        for _ in range(20):  # all has been answered, and what a network tells by polls has been told
            await ep.compute(1e-4)
            await ep.poll()
        left = list(ep._port.slots_in_use())
        assert len(got) == len(set(got))
        for number in range(40 if ep.rank == 0 else 0):
            await ep.request_short(1 + number % 2, take, 100 + number)
        await ep.attach()
        return left, sum(number >= 100 for number in got)

    values = conduit.run(main, conduit=network, ranks=RANKS, seed=seed).values
    assert [left for left, _ in values] == [[]] * RANKS
    assert [count for _, count in values] == [0, 20, 20]


def _calls(program, *args, **settings):
    """Return how many Python functions a job calls."""
    count = 0

    def profile(frame, event, arg):
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        conduit.run(program, *args, **settings)
    finally:
        sys.setprofile(None)
    return count


async def puts(ep, count):
    """A program: rank 0 puts to rank 1 from as many tasks as there are puts."""
    x = await Extended.attach(ep)
    if ep.rank == 0:
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(x.put_value, 1, 8 * number, number)
    await x.barrier()


@pytest.mark.parametrize("network", NETWORKS)
def test_tasks_that_wait_for_slots_cost_as_much_as_there_are(network):
    """Not the square of it: every pass would ask them all."""
    few, many = (_calls(puts, count, conduit=network, ranks_per_host=1) for count in (100, 800))
    assert many < 9 * few
