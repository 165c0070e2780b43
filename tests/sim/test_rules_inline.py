"""Rules I: a waiting task may run the events itself, and nobody can tell.

The programs here are those that once told: each runs with `inline=yes` and `inline=no`, and values, times, counts
and digest must agree (`both_ways`).
"""

import contextvars
import signal
import sys
import threading

import pytest
import trio

import conduit
from conduit.sim import Kernel, Waiter, kernel, simulate
from conduit.simnet import port as common_port

# -- the programs ----------------------------------------------------------------------------------


def test_I2_a_sibling_that_a_handler_wakes_through_an_event_goes_on_at_once(both_ways):
    async def main(ep):
        event, seen = trio.Event(), []

        def note(token):
            seen.append(ep.now)
            event.set()

        async def sibling():
            await event.wait()
            seen.append(trio.current_time())
            await ep.compute(1e-6)

        await ep.attach(note)
        if ep.rank == 0:
            for _ in range(3):
                await ep.compute(2e-5)
                await ep.request_short(1, note)
            return None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await ep.block_until(lambda: len(seen) == 4)
        return seen

    first, woken, *_ = both_ways.run(main).values[1]
    assert woken <= first  # kernel time of the event is not after the CPU's


def test_I2_a_scope_that_a_handler_of_the_driving_rank_cancels_ends_its_wait_at_once(both_ways):
    async def main(ep):
        scope = trio.CancelScope()
        times = []

        def stop(token):
            scope.cancel()
            times.append(trio.current_time())

        await ep.attach(stop)
        if ep.rank == 0:
            await ep.request_short(1, stop)
            await trio.sleep(1e-3)  # so that rank 1 drives
            return None
        await ep.compute(3.5e-6)
        with scope:
            await ep.block_until(lambda: False)
        return scope.cancelled_caught, trio.current_time() - times[0]

    assert both_ways.run(main).values[1] == (True, 0.0)


@pytest.mark.parametrize("seed", range(4))
def test_I2_two_waiters_in_one_rank(both_ways, seed):
    async def main(ep):
        got, order = [], []

        def note(token, number):
            got.append(number)

        async def wait(name, count):
            await ep.block_until(lambda: len(got) >= count)
            order.append((name, ep.now))
            await ep.compute(1e-7)
            await ep.request_short((ep.rank + 1) % ep.size, note, 9)

        await ep.attach(note)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait, "a", 2)
            nursery.start_soon(wait, "b", 1)
            nursery.start_soon(wait, "c", 1)
            for number in range(3):
                await ep.request_short((ep.rank + 1) % ep.size, note, number)
        return order

    both_ways.run(main, ranks=3, seed=seed)


def test_I2_a_predicate_that_a_sibling_makes_true(both_ways):
    async def main(ep):
        flag = []

        def note(token):
            pass

        async def sibling():
            for _ in range(5):
                await ep.compute(1e-6)
                await ep.request_short(1 - ep.rank, note)
            flag.append(ep.now)
            await ep.compute(1e-6)

        await ep.attach(note)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await ep.block_until(lambda: flag)
            woken = ep.now
        return woken - flag[0]

    both_ways.run(main)


def test_I5_a_handler_that_raises_ends_the_job_and_not_the_driver(both_ways):
    reached = []

    async def main(ep):
        def wrong(token):
            raise LookupError("in a handler")

        await ep.attach(wrong)
        if ep.rank == 2:
            await ep.compute(1e-5)
            await ep.request_short(1, wrong)
        try:
            await ep.block_until(lambda: False)
        except Exception as error:  # nobody's wait raises it
            reached.append(error)

    error = both_ways.fails(conduit.HandlerError, main, ranks=3)
    assert str(error) == "in handler 'wrong' on rank 1, for a request from rank 2: LookupError: in a handler"
    assert isinstance(error.__cause__, LookupError)
    assert error.__notes__[0].startswith("raised by rank 1 at 0.000")
    assert not reached


class _NoException(BaseException):
    pass


def test_I5_whatever_a_handler_raises_belongs_to_its_rank(both_ways):
    """Not only what derives from Exception: a test framework's failures do not."""
    reached = []

    async def main(ep):
        def wrong(token):
            raise _NoException("in a handler")

        await ep.attach(wrong)
        if ep.rank == 2:
            await ep.compute(1e-5)
            await ep.request_short(1, wrong)
        try:
            await ep.block_until(lambda: False)
        except _NoException as error:
            reached.append(error)

    error = both_ways.fails(conduit.HandlerError, main, ranks=3)
    assert str(error) == "in handler 'wrong' on rank 1, for a request from rank 2: _NoException: in a handler"
    assert not reached


def test_I5_whatever_a_predicate_raises_belongs_to_its_wait(both_ways):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(1)

        def look():
            if handled:
                raise _NoException("in a predicate")

        await ep.attach(note)
        if ep.rank == 1:
            try:
                await ep.block_until(look)
            except _NoException:
                return "caught"
        if ep.rank == 0:
            await ep.compute(1e-5)
            await ep.request_short(1, note)

    assert both_ways.run(main, ranks=2).values == [None, "caught"]


@pytest.mark.parametrize("inline", [True, False])
def test_I5_what_an_event_raises_ends_the_run_with_the_rank_of_its_object(inline):
    class Part:
        rank = 7

        def act(self):
            raise LookupError("in an event")

    world = Kernel(inline=inline)
    world.at(10, Part().act)
    reached = []

    async def wait():
        try:
            await world.wait(Waiter())
        except LookupError as error:
            reached.append(error)

    with pytest.raises(LookupError, match=r"\Ain an event\Z"):
        simulate(world, wait)
    assert [entry[:2] for entry in world.end.errors] == [(10, 7)]
    assert not reached


@pytest.mark.parametrize("inline", [True, False])
def test_I5_what_an_event_raises_that_a_task_lets_happen_at_once_is_not_raised_there(inline):
    class Part:
        rank = 7

        def act(self):
            raise LookupError("in an event")

    world = Kernel(inline=inline)
    passed = []

    async def schedule():
        world.soon(10, Part().act)
        passed.append(world.now)
        await world.wait(Waiter())

    with pytest.raises(LookupError, match=r"\Ain an event\Z"):
        simulate(world, schedule)
    assert [entry[:2] for entry in world.end.errors] == [(10, 7)]
    assert passed == [10 if inline else 0]


@pytest.mark.parametrize("inline", [True, False])
def test_I2_events_that_follow_soon_come_after_those_that_are_due_before(inline):
    world = Kernel(inline=inline)
    seen = []

    def note(name):
        seen.append((name, world.now))

    def first():
        note("first")
        world.at(20, note, "between")
        world.soon(20, last)

    def last():
        note("last")
        world.soon(50, lambda: note("alone"))

    async def wait():
        world.at(10, first)
        with trio.move_on_after(30e-12):
            await world.wait(Waiter())
        note("timeout")
        await world.until(100)

    simulate(world, wait)
    assert seen == [("first", 10), ("between", 20), ("last", 20), ("timeout", 30), ("alone", 50)]


def test_I4_a_handler_that_starts_a_task_in_a_nursery_of_its_rank(both_ways):
    async def main(ep):
        seen = []

        async def child(number):
            assert conduit.current() is ep
            await ep.compute(1e-6)
            seen.append(number)
            if number < 3:
                await ep.request_short(ep.rank, start, number + 1)

        async with trio.open_nursery() as nursery:

            def start(token, number):
                nursery.start_soon(child, number)

            await ep.attach(start)
            if ep.rank == 0:
                await ep.request_short(1, start, 1)
            else:
                await ep.block_until(lambda: len(seen) == 3)
        return seen

    assert both_ways.run(main).values == [[], [1, 2, 3]]


_variable = contextvars.ContextVar("variable", default="outside")


def test_I4_handlers_and_predicates_read_the_context_of_their_owner_whoever_drives(both_ways):
    async def main(ep):
        seen = []

        def note(token):
            seen.append((_variable.get(), conduit.current().rank))
            if token.is_request:
                token.reply_short(note)

        def look():
            looked.add((_variable.get(), conduit.current().rank))
            return len(seen) == 4

        async def child():
            _variable.set("child")
            await ep.block_until(look)

        looked = set()
        _variable.set(f"main {ep.rank}")
        await ep.attach(note)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child)
            for _ in range(2):
                await ep.compute(1e-6)
                await ep.request_short(1 - ep.rank, note)
        return seen, looked

    for rank, (seen, looked) in enumerate(both_ways.run(main).values):
        assert seen == [(f"main {rank}", rank)] * 4
        assert looked == {("child", rank)}


def test_I4_a_variable_that_a_handler_sets_is_set_in_its_rank_alone(both_ways):
    async def main(ep):
        seen = []

        def note(token):
            _variable.set(f"set by a handler of {ep.rank}")
            seen.append(1)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            await ep.compute(1e-3)
        else:
            await ep.block_until(lambda: seen)
        return _variable.get()

    assert both_ways.run(main).values == ["outside", "set by a handler of 1"]


@pytest.mark.parametrize("timeout", [1e-9, 1e-6, 7.5e-6, 3e-5, 2e-4])
def test_I2_a_timeout_that_ends_a_wait_for_a_slot(both_ways, timeout):
    async def main(ep):
        got = []

        def note(token, number):
            got.append(number)

        await ep.attach(note)
        if ep.rank == 1:
            await ep.compute(5e-5)
            await ep.block_until(lambda: 99 in got)
            return got
        sent = []
        for number in range(5):
            with trio.move_on_after(timeout):
                await ep.request_short(1, note, number)
                sent.append(number)
        await ep.request_short(1, note, 99)
        return [*sent, 99]

    sent, got = both_ways.run(main, options="slots=1").values
    assert sent == got


def test_I3_a_thread_that_answers_while_a_rank_computes(both_ways):
    """The digest is None: how far the other rank got while the thread ran is not the simulation's to say."""
    answers = []

    async def main(ep):
        if ep.rank == 0:
            answer.append(await trio.to_thread.run_sync(lambda: "answer"))
        else:
            while not answer:
                await ep.compute(1e-6)
        return answer[0]

    for spec in both_ways.specs():
        answer = []
        result = conduit.run(main, conduit=spec)
        answers.append((result.values, result.digest))
    assert answers == [(["answer", "answer"], None)] * 2


def test_I3_a_thread_that_answers_while_all_wait(both_ways):
    async def main(ep):
        if ep.rank == 0:
            return await trio.to_thread.run_sync(threading.get_ident)
        await ep.block_until(lambda: True)

    for spec in both_ways.specs():
        result = conduit.run(main, conduit=spec)
        assert result.values[0] != threading.get_ident()
        assert result.digest is None


@pytest.mark.parametrize("step", [0.0, 1e-9, 1e-6])
def test_I3_a_loop_that_computes_until_a_sibling_sets_a_flag(both_ways, step):
    """`while not flag: await ep.compute(1e-6)`: the sibling and what Trio does in between have their turn."""

    async def main(ep):
        flag = []

        async def sibling():
            await trio.sleep(3e-6)
            flag.append(ep.now)

        turns = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            while not flag:
                await ep.compute(step)
                turns += 1
        return turns

    both_ways.run(main)


def test_I3_calls_that_never_wait_let_a_sibling_have_its_turn(both_ways):
    """A rank's thousandth call in a row is a full checkpoint, inline or not."""
    assert common_port.CALLS == 1000

    async def main(ep):
        started = []

        async def sibling():
            started.append(1)

        calls = 0
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            while not started:
                await ep.block_until(lambda: True)
                calls += 1
                assert calls < 2001
        return calls

    assert max(both_ways.run(main).values) <= 1001


# -- the mechanism -----------------------------------------------------------------------------------


def test_I1_every_call_is_a_cancellation_point(both_ways):
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        with trio.CancelScope() as scope:
            scope.cancel()
            for call in (
                ep.poll,
                lambda: ep.compute(1e-6),
                lambda: ep.block_until(lambda: True),
                lambda: ep.request_short(ep.rank, note),
                lambda: ep.request_short(1 - ep.rank, note),
                lambda: ep.request_medium(1 - ep.rank, note, b"x"),
                lambda: ep.request_long(1 - ep.rank, note, b"", 0),
            ):
                with pytest.raises(trio.Cancelled):
                    await call()
        return ep.now

    first, second = both_ways.run(main).values
    assert first == second


@pytest.mark.parametrize("network", ["loggp", "sci", "startx"])
def test_I1_a_call_that_need_not_wait_is_no_schedule_point(network):
    async def main(ep):
        started = []

        async def sibling():
            started.append(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            for _ in range(100):
                await ep.block_until(lambda: True)
            before = len(started)
        return before

    assert conduit.run(main, ranks=1, conduit=network).values == [0]


def test_I3_a_driver_parks_after_a_thousand_events():
    assert kernel.BUDGET == 1000
    world = Kernel()
    parked = []

    def tick(left):
        if left:
            world.at(world.now + 1, tick, left - 1)
        else:
            done.wake()

    done = Waiter()

    async def drive():
        tick(3500)
        await world.wait(done)

    class Watch(trio.abc.Instrument):
        def before_io_wait(self, timeout):
            parked.append(world.events)

    async def watched():
        trio.lowlevel.add_instrument(Watch())
        await drive()

    simulate(world, watched)
    assert [count for count in parked if 0 < count < 3500] == [1000, 2000, 3000]  # Trio's loop looks once in a thousand


def test_I6_waking_a_wait_that_was_abandoned_does_nothing():
    world = Kernel()

    async def abandon():
        waiter = Waiter()
        with trio.move_on_after(1e-9):
            await world.wait(waiter)
        start = world.now
        world.at(start + 10, waiter.wake)
        await world.until(start + 20)
        waiter.wake()
        waiter.wake()
        await world.until(start + 40)
        took.append(world.now - start)

    took = []
    simulate(world, abandon)
    assert took == [40]


@pytest.mark.parametrize("driven", [True, False])
def test_I7_an_interrupt_in_an_instrument_hook_is_not_lost(driven):
    """Trio disables a hook that raises, and the kernel counts no more; one that Ctrl-C hits puts it off."""
    hits = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code is Kernel.task_scheduled.__code__ and not hits:
            world = frame.f_locals["self"]
            if world.now and (world.task is not None) == driven:
                hits.append(world.now)
                signal.raise_signal(signal.SIGINT)

    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        async with trio.open_nursery() as nursery:
            while True:
                nursery.start_soon(ep.request_short, 1 - ep.rank, note)
                await ep.request_short(1 - ep.rank, note)

    previous = sys.getprofile()
    sys.setprofile(profile)
    try:
        with pytest.raises(KeyboardInterrupt):
            conduit.run(main, conduit="loggp", time_limit=1e-3)
    finally:
        sys.setprofile(previous)
    assert hits


def test_I2_a_scope_cancelled_by_a_handler_ends_the_wait_of_a_lone_rank(both_ways):
    async def main(ep):
        scope = trio.CancelScope()

        def stop(token):
            scope.cancel()

        await ep.attach(stop)
        with scope:
            await ep.request_short(0, stop)
            await ep.block_until(lambda: False)
        return scope.cancelled_caught

    assert both_ways.run(main, ranks=1).values == [True]


def test_I2_a_deadline_that_a_handler_sets_ends_the_wait_of_the_driving_rank(both_ways):
    async def main(ep):
        scope = trio.CancelScope()

        def hurry(token):
            scope.deadline = trio.current_time() + 1e-6

        await ep.attach(hurry)
        if ep.rank == 0:
            await ep.compute(2e-5)
            await ep.request_short(1, hurry)
            await ep.compute(1e-3)
            return None
        with scope:
            await ep.block_until(lambda: False)
        return trio.current_time() - scope.deadline

    assert 0 <= both_ways.run(main).values[1] < 1e-12


def test_I2_a_task_cancelled_while_progress_was_made_does_not_go_on_waiting(both_ways):
    async def main(ep):
        got = []

        async def progress():
            await ep.compute(1e-4)  # shielded; the deadline passes meanwhile

        def note(token):
            got.append(1)

        await ep.attach(note)
        ep.on_progress(progress)
        if ep.rank == 0:
            await trio.sleep(5e-5)
            await ep.request_short(1, note)
            await trio.sleep(1e-3)
            return None
        await ep.compute(1e-6)
        ep.want_progress()
        with trio.move_on_after(5e-5) as scope:
            await ep.block_until(lambda: got)
        return scope.cancelled_caught, len(got)

    assert both_ways.run(main).values[1] == (True, 0)


@pytest.mark.parametrize("inline", [True, False])
def test_I2_a_timeout_that_is_due_when_a_wait_ends_is_over_before_the_task_goes_on(inline):
    world = Kernel(inline=inline)
    seen = []

    async def main():
        with trio.move_on_at(5e-6):
            for when in (4_000_000, 5_000_000):
                await world.until(when)
                await world.checkpoint_if_cancelled()
                seen.append(when)

    simulate(world, main)
    assert seen == [4_000_000]
    assert world.now == 5_000_000
