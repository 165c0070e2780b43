"""Links and routes: cut-through, contention, order, and how many events they take (rule T7)."""

import math
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conduit.sim import Kernel, Waiter, simulate
from conduit.sim.link import Link, PlainRest, Route, over_routes

RATE = 1_000_000_000  # one byte in 1000 ps


class PlainRoute(Route):
    """A route over plain links."""

    REST = PlainRest


def run(kernel, *acts):
    """Run `(time, function)` acts in virtual time and everything that follows from them."""

    async def body():
        for when, act in acts:
            kernel.at(when, act)
        await kernel.until(10**15)

    simulate(kernel, body)


def carry(kernel, route, nbytes, arrivals, name):
    """An act that sends over a route now and notes its arrival."""

    def told(arrival):
        arrivals[name] = arrival

    def act():
        known = route.carry(nbytes, kernel.now, kernel.now, told)
        if known:
            told(known)

    return act


def test_a_free_route_is_reserved_in_one_go_without_an_event():
    kernel = Kernel()
    links = [Link(kernel, RATE) for _ in range(20)]
    route = Route([(link, 50_000) for link in links])
    arrivals = {}
    run(kernel, (0, carry(kernel, route, 64, arrivals, "a")))
    # 20 delays, and the bytes once: the head does not wait for the tail.
    assert arrivals == {"a": 20 * 50_000 + 64_000}
    # Start of the task, the act, the end of the run.
    assert kernel.events <= 3


@given(st.lists(st.tuples(st.integers(1, 10**10), st.integers(0, 10**6)), min_size=1, max_size=6), st.integers(1, 5000))
def test_the_slowest_link_decides_how_far_the_tail_is_behind(hops, nbytes):
    kernel = Kernel()
    route = Route([(Link(kernel, rate), delay) for rate, delay in hops])
    arrival = route.carry(nbytes, 0, 0, lambda _: None)
    slowest = min(rate for rate, _ in hops)
    assert arrival == sum(delay for _, delay in hops) + math.ceil(nbytes * 10**12 / slowest)


def test_who_comes_second_waits_for_the_release():
    kernel = Kernel()
    link = Link(kernel, RATE)
    route = Route([(link, 0)])
    arrivals = {}
    run(
        kernel,
        (0, carry(kernel, route, 100, arrivals, "first")),
        (10_000, carry(kernel, route, 100, arrivals, "second")),
        (20_000, carry(kernel, route, 100, arrivals, "third")),
    )
    assert arrivals == {"first": 100_000, "second": 200_000, "third": 300_000}
    assert link.statistics() == (3, 300, 300e-9, 2, (90_000 + 180_000) / 1e12)


def test_slow_bytes_leave_room_for_those_of_others():
    """A tail at 1000 ns leaves 900 ns of the link: nine more transfers wait for one another alone, the tenth for it."""
    kernel = Kernel()
    link = Link(kernel, RATE)
    route, arrivals = Route([(link, 0)]), {}

    def slow():
        arrivals["slow"] = route.carry(100, 0, 1_000_000, lambda when: None)

    others = [(0, carry(kernel, route, 100, arrivals, number)) for number in range(10)]
    run(kernel, (0, slow), *others)
    assert arrivals == {"slow": 1_000_000, **{number: (number + 1) * 100_000 for number in range(9)}, 9: 1_100_000}
    assert link.statistics().waits == 1


def test_a_slow_transfer_fits_between_the_bytes_of_others():
    """It comes while the link is taken for 500 ns more, but its tail is in time."""
    kernel = Kernel()
    link = Link(kernel, RATE)
    route, arrivals = Route([(link, 0)]), {}

    def slow():
        arrivals["slow"] = route.carry(100, 0, 600_000, lambda when: None)

    run(kernel, (0, carry(kernel, route, 500, arrivals, "first")), (0, slow))
    assert arrivals == {"first": 500_000, "slow": 600_000}
    assert link.free_at == 600_000


def test_a_transfer_that_waits_has_not_taken_what_lies_behind():
    """A stranger on the last link is not delayed by one that waits for the first."""
    kernel = Kernel()
    busy, last = Link(kernel, RATE), Link(kernel, RATE)
    arrivals = {}
    run(
        kernel,
        (0, carry(kernel, Route([(busy, 0)]), 1000, arrivals, "holder")),
        (1, carry(kernel, Route([(busy, 0), (last, 0)]), 100, arrivals, "waits")),
        (2, carry(kernel, Route([(last, 0)]), 100, arrivals, "stranger")),
    )
    assert arrivals["stranger"] == 2 + 100_000
    assert arrivals["waits"] == 1_000_000 + 100_000


def test_a_wait_at_a_far_link_is_not_counted_twice():
    """The second link is free after 90 ns, the bytes pass in 100 ns, and the delays lie behind."""
    kernel = Kernel()
    near, far = Link(kernel, RATE), Link(kernel, RATE)
    arrivals = {}
    run(
        kernel,
        (0, lambda: far.take(0, 90)),
        (0, carry(kernel, Route([(near, 400_000), (far, 5_000)]), 100, arrivals, "waits")),
    )
    assert arrivals == {"waits": 595_000}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300_000), st.integers(1, 500)), max_size=20))
def test_a_link_has_carried_every_transfer_over_it_once_whichever_links_were_busy(sent):
    kernel = Kernel()
    links = [Link(kernel, RATE) for _ in range(5)]
    ways = [links, links[1:4], [links[4], links[2]]]
    routes = [Route([(link, 1000) for link in way]) for way in ways]
    arrivals = {}
    run(
        kernel,
        *(
            (when, carry(kernel, routes[way], nbytes, arrivals, number))
            for number, (way, when, nbytes) in enumerate(sent)
        ),
    )
    assert set(arrivals) == set(range(len(sent)))
    over = over_routes(links)
    for link in links:
        sizes = [nbytes for way, _, nbytes in sent if link in ways[way]]
        assert link.statistics()[:2] == link.statistics(over)[:2] == (len(sizes), sum(sizes))


@given(st.data())
def test_plain_links_carry_as_others_do(data):
    """Of links of several rates, with transfers that wait several times, fit between others, or come slowly."""
    rates = data.draw(st.lists(st.sampled_from([RATE // 3, RATE, 2 * RATE]), min_size=2, max_size=6))
    delays = data.draw(st.lists(st.sampled_from([0, 7_000, 90_000]), min_size=len(rates), max_size=len(rates)))
    spans = data.draw(st.lists(st.sets(st.integers(0, len(rates)), min_size=2, max_size=2), min_size=1, max_size=4))
    moment, size, pace = st.integers(0, 900_000), st.integers(1, 500), st.sampled_from([0, 1, 2.5])
    sent = data.draw(st.lists(st.tuples(st.integers(0, 3), moment, size, pace, st.booleans()), max_size=20))

    def times(kind):
        kernel, found = Kernel(), []
        links = [Link(kernel, rate) for rate in rates]
        hops = list(zip(links, delays, strict=True))
        routes = [kind(hops[min(span) : max(span)]) for span in spans]

        def begin(number, route, nbytes, pace, whole):
            told = lambda arrival: found.append((number, arrival, kernel.now))  # noqa: E731
            tail = kernel.now + int(pace * route.first.takes[nbytes])
            arrival = route.carry(nbytes, kernel.now, tail, told, whole=whole)
            if arrival:
                told(arrival)

        acts = [
            (when, partial(begin, number, routes[way % len(routes)], nbytes, pace, whole))
            for number, (way, when, nbytes, pace, whole) in enumerate(sent)
        ]
        run(kernel, *acts)
        assert len(found) == len(sent)
        return found, kernel.events, [(link.free_at, link.statistics()) for link in links]

    assert times(PlainRoute) == times(Route)


def test_what_many_transfers_took_before_a_busy_link_is_counted_however_often_that_is_asked():
    kernel = Kernel()
    near, way, far = (Link(kernel, rate) for rate in (2 * RATE, RATE, RATE // 2))
    route = Route([(near, 0), (way, 0), (far, 0)])
    count, asked = 300, []

    def send():
        carry(kernel, route, 10, {}, "")()

    def ask():
        asked.append([link.statistics().transfers for link in (near, way, far)])

    # Each is sent when the first two links are free; the last takes twice as long.
    acts = [(number * 10_000, send) for number in range(count)]
    run(kernel, *acts, (150 * 10_000 - 1, ask), (count * 10_000, ask))
    assert [each[:2] for each in asked] == [[150, 150], [count, count]]
    assert [link.statistics(over_routes([link]))[:2] for link in (near, way, far)] == [(count, 10 * count)] * 3


def test_one_event_for_each_wait():
    kernel = Kernel()
    route = Route([(Link(kernel, RATE), 1000) for _ in range(30)])
    arrivals = {}
    run(kernel, *((0, carry(kernel, route, 100, arrivals, number)) for number in range(50)))
    assert [arrivals[number] for number in range(50)] == [30 * 1000 + (number + 1) * 100_000 for number in range(50)]
    # 50 acts and 49 waits, and a few to start and end.
    assert kernel.events <= 50 + 49 + 3


@pytest.mark.parametrize("kind", [Route, PlainRoute])
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_against_a_queue_in_closed_form(kind, seed, hops):
    """One route for all: each transfer starts at the link when it comes or when the one before leaves."""
    draws = random.Random(seed)
    kernel = Kernel()
    delays = [draws.choice([0, 7_000, 90_000, 400_000]) for _ in range(hops)]
    route = kind([(Link(kernel, RATE), delay) for delay in delays])
    times = sorted(draws.sample(range(2_000_000), 30))
    sizes = [draws.randrange(1, 200) for _ in times]
    arrivals, expected, free = {}, {}, [0] * hops
    for number, (time, size) in enumerate(zip(times, sizes, strict=True)):
        head, tail = time, time
        for hop in range(hops):
            head = max(head, free[hop])
            free[hop] = head + size * 1000
            head, tail = head + delays[hop], max(tail, free[hop]) + delays[hop]
        expected[number] = tail
    run(kernel, *((t, carry(kernel, route, s, arrivals, n)) for n, (t, s) in enumerate(zip(times, sizes, strict=True))))
    assert arrivals == expected


@pytest.mark.parametrize("kind", [Route, PlainRoute])
@given(st.randoms(use_true_random=False))
def test_a_link_carries_what_its_rate_allows(kind, draws):
    """From any head to the last tail no more than the rate; in any other span at most twice as much."""
    kernel = Kernel()
    links = [Link(kernel, draws.choice([RATE // 2, RATE, 2 * RATE])) for _ in range(draws.randint(1, 3))]
    routes = [kind([(link, 7_000) for link in links[first:]]) for first in range(len(links))]
    carried = []

    def begin(route, nbytes, pace, whole):
        head = kernel.now
        told = lambda arrival: carried.append((route, nbytes, head, arrival))  # noqa: E731
        arrival = route.carry(nbytes, head, head + int(pace * route.first.takes[nbytes]), told, whole=whole)
        if arrival:
            told(arrival)

    acts = []
    for _ in range(12):
        what = (draws.choice(routes), draws.choice([64, 80, 1000, 5000]), draws.choice([0, 1, 1.5, 3, 6]))
        acts.append((draws.randrange(8_000_000), partial(begin, *what, draws.random() < 0.4)))
    run(kernel, *acts)
    assert len(carried) == len(acts)
    for link in links:
        spans = [
            (head, arrival - route.latency, link.takes[nbytes])
            for route, nbytes, head, arrival in carried
            if link in route.links
        ]
        last = max((tail for _, tail, _ in spans), default=0)
        for start, _, _ in spans:
            assert sum(takes for head, _, takes in spans if head >= start) <= last - start
            for _, end, _ in spans:
                within = sum(takes for head, tail, takes in spans if head >= start and tail <= end)
                assert within <= 2 * max(end - start, 0)


def test_who_gets_a_link_and_then_goes_on_at_once_does_not_hold_up_the_next():
    kernel, over, seen = Kernel(), Waiter(), []
    link = Link(kernel, RATE)

    def first(when):
        link.take(when, 100)
        kernel.soon(10**9, over.wake)

    def second(when):
        seen.append(when)

    def begin():
        link.take(0, 100)
        link.wait(0, first)
        link.wait(0, second)

    async def body():
        kernel.call(0, begin)
        await kernel.wait(over)

    simulate(kernel, body)
    assert seen == [200_000]
    assert kernel.now == 10**9


@pytest.mark.parametrize("kind", [Route, PlainRoute])
def test_who_has_a_place_and_then_sends_at_once_is_behind_those_who_wait(kind):
    """As a CPU whose store was held up, and which makes the next one in that event."""
    kernel = Kernel()
    near, far = Link(kernel, RATE), Link(kernel, RATE)
    route, later = kind([(far, 0)]), kind([(near, 500_000), (far, 0)])
    arrivals = {}

    def placed(arrival):
        arrivals["held up"] = arrival
        carry(kernel, later, 100, arrivals, "at once")()

    acts = [(0, carry(kernel, route, 100, arrivals, "first")), (0, lambda: route.carry(100, 0, 0, placed))]
    acts += [(1, carry(kernel, route, 100, arrivals, number)) for number in range(3)]
    run(kernel, *acts)
    assert arrivals == {
        "first": 100_000, "held up": 200_000, 0: 300_000, 1: 400_000, 2: 500_000, "at once": 1_100_000
    }  # fmt: skip


@pytest.mark.parametrize("kind", [Route, PlainRoute])
def test_a_transfer_over_one_link_twice_takes_it_twice(kind):
    """As by a bus at both ends of a way: what waits for it the second time is not sent back to the first."""
    kernel = Kernel()
    bus, wire = Link(kernel, RATE), Link(kernel, RATE)
    there, back = kind([(bus, 0), (wire, 5_000), (bus, 5_000)]), kind([(bus, 0)])
    arrivals = {}
    acts = [(0, carry(kernel, back, 100, arrivals, "first")), (0, carry(kernel, there, 50, arrivals, "both"))]
    acts += [(1 + number, carry(kernel, back, 100, arrivals, number)) for number in range(3)]
    acts += [(10**6, carry(kernel, there, 50, arrivals, "alone"))]
    run(kernel, *acts)
    # Both times at the end of what waits then.
    assert arrivals == {
        "first": 100_000, 0: 250_000, 1: 350_000, 2: 450_000, "both": 510_000, "alone": 10**6 + 110_000
    }  # fmt: skip
    assert kernel.events < 40


def test_a_packet_slips_in_at_time_0_too():
    """It is not said to have found no place, which would let it be carried once more."""
    kernel = Kernel()
    link = Link(kernel, 10**9)
    link.take(0, 4096)
    assert link.slip_in(0, 64)
    assert link.free_at == 4160 * 1000  # a byte takes a nanosecond
    assert not link.slip_in(0, 32)  # behind one that has come before and is longer
    assert link.free_at == 4160 * 1000
