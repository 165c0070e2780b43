"""Routes that lose, and queues that drop, on the kernel alone."""

import pytest

from conduit.sim import Kernel, simulate
from conduit.sim.link import Link, Route
from conduit.sim.lossy import Lossy
from conduit.sim.queues import QueuedLink, Switched, TailDrop
from conduit.sim.units import NS, US

RATE = 100_000_000  # 10 ns a byte


def arrivals(kernel, start, until=10_000 * US):
    """Return when things arrive that `start(then)` sends at time 0, in nanoseconds."""
    found = []

    async def program():
        start(lambda: found.append(kernel.now / NS))
        await kernel.until(until)

    simulate(kernel, program)
    return found


def route(kernel):
    return Route([(Link(kernel, RATE), 200 * NS), (Link(kernel, RATE), 200 * NS)])


def test_a_route_tells_of_an_arrival_in_its_event_also_where_links_are_busy():
    kernel = Kernel()
    way = route(kernel)
    assert arrivals(kernel, lambda then: [way.send(80, then) for _ in range(3)]) == [1200, 2000, 2800]


def test_without_chances_it_is_the_route():
    kernel = Kernel()
    way = Lossy(route(kernel), 0, 0, 0, kernel.random("a"))
    assert arrivals(kernel, lambda then: [way.send(80, then) for _ in range(3)]) == [1200, 2000, 2800]


@pytest.mark.parametrize(("chances", "expected"), [((0.3, 0, 0), 700), ((0, 0.3, 0), 1300), ((0.5, 0.5, 0.5), 750)])
def test_as_many_arrive_as_the_chances_say(chances, expected):
    kernel = Kernel(seed=3)
    way = Lossy(route(kernel), *chances, kernel.random("a"))
    found = arrivals(kernel, lambda then: [way.send(1, then) for _ in range(1000)])
    assert abs(len(found) - expected) < 60
    assert len(found) == 1000 - way.lost + way.duplicated


def test_what_is_put_off_is_overtaken_and_late_by_no_more_than_was_said():
    kernel = Kernel(seed=3)
    way = Lossy(route(kernel), 0, 0, 0.5, kernel.random("a"), late=1 * US)
    numbers = []

    def start(then):
        for number in range(50):
            way.send(10, lambda number=number: numbers.append((number, kernel.now)))

    arrivals(kernel, start)
    assert sorted(number for number, _ in numbers) == list(range(50))
    assert [number for number, _ in numbers] != list(range(50))
    assert all(0 <= when - (500 + 100 * number) * NS <= 1 * US for number, when in numbers)
    assert way.reordered > 10


def test_one_seed_gives_one_course_of_things():
    def course(seed):
        kernel = Kernel(seed=seed)
        way = Lossy(route(kernel), 0.2, 0.2, 0.2, kernel.random("a"))
        return arrivals(kernel, lambda then: [way.send(1, then) for _ in range(100)])

    assert course(1) == course(1) != course(2)


@pytest.mark.parametrize("name", ["loss", "duplicate", "reorder"])
def test_what_is_no_probability(name):
    kernel = Kernel()
    chances = {"loss": 0, "duplicate": 0, "reorder": 0} | {name: 1.5}
    with pytest.raises(ValueError, match=rf"^Lossy: {name}=1.5 is no probability; pass a number from 0 to 1$"):
        Lossy(route(kernel), **chances, stream=kernel.random("a"))


def test_a_queue_that_is_full_drops_the_newcomer():
    queue = TailDrop(10)
    assert [queue.put(name, 4) for name in "abc"] == [True, True, False]
    assert (queue.used, queue.dropped, list(queue), len(queue)) == (8, 1, ["a", "b"], 2)
    assert queue.get() == "a"
    assert queue.put("d", 6)
    assert (queue.used, queue.most) == (10, 10)
    assert [queue.get(), queue.get()] == ["b", "d"]
    with pytest.raises(IndexError):
        queue.get()


def test_frames_are_stored_and_sent_on_and_dropped_where_a_port_is_full():
    """Each link takes 1 us for 100 bytes; the second has room for two frames, the one that leaves included."""
    kernel = Kernel()
    first, second = QueuedLink(kernel, 2 * RATE, 1000, "first"), QueuedLink(kernel, RATE, 200, "second")
    way = Switched([(first, 100 * NS), (second, 50 * NS)])
    found = arrivals(kernel, lambda then: [way.send(100, then) for _ in range(4)])
    # At the second queue at 0.6, 1.1, 1.6 and 2.1 us: two have not left when the third is there, one when the fourth.
    assert found == [1650, 2650, 3650]
    assert (first.dropped, second.dropped) == (0, 1)
    assert second.statistics().transfers == 3
    assert second.statistics().nbytes == 300
