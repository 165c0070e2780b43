"""Timers by rule D3: they keep a job alive only while they may bring something about."""

import pytest

from conduit.errors import Livelock
from conduit.sim import Kernel, Waiter, simulate
from conduit.sim.timer import Timer


def never():
    return False


def always():
    return True


@pytest.fixture(params=[True, False], ids=["inline", "parked"])
def kernel(request):
    return Kernel(inline=request.param)


def test_one_that_helps_goes_off_where_nothing_else_happens(kernel):
    over = Waiter()
    timer = Timer(kernel, over.wake, always)

    async def program():
        timer.start(500)
        await kernel.wait(over)
        assert kernel.now == 500

    simulate(kernel, program)
    assert timer.when is None
    assert not kernel.timers


def test_one_that_does_not_help_keeps_no_job_alive(kernel):
    over = Waiter()

    async def program():
        Timer(kernel, over.wake, never).start(500)
        await kernel.wait(over)

    with pytest.raises(Exception, match=r"nothing can happen any more|deadlock|stall"):
        simulate(kernel, program)
    assert kernel.now < 500


def test_one_that_does_not_help_goes_off_while_other_things_happen(kernel):
    fired = []

    async def program():
        Timer(kernel, lambda: fired.append(kernel.now), never).start(500)
        await kernel.until(1000)

    simulate(kernel, program)
    assert fired == [500]


def test_one_started_for_what_is_past_goes_off_now(kernel):
    """Time never goes back for it."""
    fired = []

    async def program():
        await kernel.until(1000)
        Timer(kernel, lambda: fired.append(kernel.now), always).start(500)
        await kernel.until(2000)

    simulate(kernel, program)
    assert fired == [1000]


def test_stopped_put_off_and_brought_forward(kernel):
    fired = []
    timers = [Timer(kernel, lambda name=name: fired.append((name, kernel.now)), never) for name in "abcd"]
    stopped, late, early, again = timers

    async def program():
        for timer in timers:
            timer.start(500)
        late.start(800)
        early.start(300)
        stopped.stop()
        stopped.stop()
        again.stop()
        again.start(900)
        assert late.when == 800
        await kernel.until(600)
        early.start(700)
        await kernel.until(2000)

    simulate(kernel, program)
    assert fired == [("c", 300), ("c", 700), ("b", 800), ("d", 900)]
    assert not kernel.timers


def test_retries_end_when_what_they_are_for_has_come_about(kernel):
    """A retry that is lost seven times: time goes on to the eighth, one period after the other."""
    over, tries = Waiter(), []

    def act():
        tries.append(kernel.now)
        timer.start(kernel.now + 100)
        if len(tries) == 8:
            timer.stop()
            kernel.at(kernel.now + 50, over.wake)

    timer = Timer(kernel, act, always)

    async def program():
        timer.start(100)
        await kernel.wait(over)

    simulate(kernel, program)
    assert tries == list(range(100, 900, 100))
    assert kernel.now == 850


def test_time_does_not_go_back_where_an_event_starts_a_timer(kernel):
    """The kernel has begun to run work up to a later background event by then."""
    seen = []

    def start():
        Timer(kernel, lambda: seen.append(("timer", kernel.now)), never).start(300)

    async def program():
        kernel.background(5000, nothing)
        kernel.at(100, start)
        kernel.at(200, lambda: seen.append(("before", kernel.now)))
        kernel.at(400, lambda: seen.append(("after", kernel.now)))
        await kernel.until(1000)

    def nothing():
        pass

    simulate(kernel, program)
    assert seen == [("before", 200), ("timer", 300), ("after", 400)]


def test_one_that_starts_itself_at_once_is_no_endless_job(kernel):
    timer = Timer(kernel, lambda: timer.start(kernel.now), always)

    def stall(kind, _):
        return Livelock(kind)

    kernel.on_stall = stall

    async def program():
        timer.start(10)
        await kernel.wait(Waiter())

    with pytest.raises(Livelock, match="livelock"):
        simulate(kernel, program)
    assert kernel.now == 10
