"""Rules P: who polls, what a poll does, and when a waiting program goes on."""

import pytest
import trio

import conduit


async def _compute(ep):
    await ep.compute(1e-3)


async def _charge(ep):
    ep.charge(1e-3)
    await ep.compute(0)


async def _sleep(ep):
    await trio.sleep(1e-3)


async def _event(ep):
    with trio.move_on_after(1e-3):
        await trio.Event().wait()


async def _lock(ep):
    lock = trio.Lock()
    async with trio.open_nursery() as nursery:
        await lock.acquire()
        nursery.start_soon(_with, lock)
        await trio.sleep(1e-3)
        lock.release()


async def _with(lock):
    async with lock:
        await trio.sleep(1e-3)


async def _channel(ep):
    _, receiver = trio.open_memory_channel(0)
    with trio.move_on_after(1e-3):
        await receiver.receive()


@pytest.mark.parametrize("wait", [_compute, _charge, _sleep, _event, _lock, _channel])
def test_P1_waits_that_do_not_poll(both_ways, wait):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(1)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            return None
        await wait(ep)
        before = len(handled)
        await ep.poll()
        return before, len(handled)

    assert both_ways.run(main).values[1] == (0, 1)


async def _poll(ep, note):
    await ep.poll()


async def _block(ep, note):
    with trio.move_on_after(1e-6):
        await ep.block_until(lambda: False)


async def _attach(ep, note):
    await ep.attach()


async def _request(ep, note):
    await ep.request_short(2, note)


async def _request_self(ep, note):
    await ep.request_short(1, note)


@pytest.mark.parametrize("call", [_poll, _block, _attach, _request, _request_self])
def test_P1_calls_that_poll(both_ways, call):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(token.rank)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
        await ep.compute(1e-3)
        if ep.rank == 1:
            assert not handled
            await call(ep, note)
        elif call is _attach:
            await ep.attach()
        return handled[:1]

    assert both_ways.run(main, ranks=3).values[1] == [0]


def test_P1_the_end_of_the_job_polls(both_ways):
    handled = []

    async def main(ep):
        def note(token):
            handled.append(token.rank)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)

    both_ways.run(main)
    assert handled == [0, 0]  # once in each of the two runs


def test_P1_a_handlers_event_is_waited_for_with_block_until(both_ways):
    async def main(ep):
        event = trio.Event()

        def note(token):
            event.set()

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
        else:
            await ep.block_until(event.is_set)
        return event.is_set()

    assert both_ways.run(main).values == [False, True]


def test_P2_tasks_of_a_rank_get_slots_in_the_order_of_asking(both_ways):
    async def main(ep):
        got = []

        def note(token, number):
            got.append(number)

        await ep.attach(note)
        if ep.rank == 1:
            await ep.compute(1e-3)
            await ep.block_until(lambda: len(got) == 6)
            return got
        async with trio.open_nursery() as nursery:
            for number in range(6):
                nursery.start_soon(ep.request_short, 1, note, number)
                await trio.sleep(1e-5)

    assert both_ways.run(main, options="slots=1").values[1] == [0, 1, 2, 3, 4, 5]


def test_P2_a_latecomer_does_not_take_a_slot_before_those_who_wait(both_ways):
    """The slot becomes free in the very pass of the latecomer's own request."""

    async def main(ep):
        got = []

        def note(token, number):
            got.append(number)

        await ep.attach(note)
        if ep.rank == 1:
            await ep.compute(1e-3)
            await ep.block_until(lambda: len(got) == 4)
            return got
        await ep.request_short(1, note, 0)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.request_short, 1, note, 1)
            await trio.sleep(1e-6)
            await ep.compute(2e-3)  # the answer that frees the slot arrives meanwhile
            await ep.request_short(1, note, 2)
            await ep.request_short(1, note, 3)

    assert both_ways.run(main, options="slots=1").values[1] == [0, 1, 2, 3]


def test_P2_several_tasks_of_a_rank_wait_each_for_its_own(both_ways):
    async def main(ep):
        got = []

        def note(token, number):
            got.append(number)

        async def until(number):
            await ep.block_until(lambda: number in got)
            woken.append(number)

        woken = []
        await ep.attach(note)
        if ep.rank == 0:
            for number in (2, 0, 1):
                await ep.compute(1e-4)
                await ep.request_short(1, note, number)
            return None
        async with trio.open_nursery() as nursery:
            for number in range(3):
                nursery.start_soon(until, number)
        return woken

    assert both_ways.run(main).values[1] == [2, 0, 1]


def test_P3_a_predicate_that_is_true_costs_nothing_and_polls_nothing(both_ways):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(1)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.request_short(1, note)
            return None
        await ep.compute(1e-3)
        before = ep.now
        await ep.block_until(lambda: True)
        return ep.now - before, len(handled)

    assert both_ways.run(main).values[1] == (0.0, 0)


def test_P3_a_predicate_is_evaluated_on_entry_and_after_each_pass_that_ran_a_handler(on_loggp):
    async def main(ep):
        handled, looks = [], []

        def note(token):
            handled.append(1)

        def look():
            looks.append(len(handled))
            return len(handled) == 3

        await ep.attach(note)
        if ep.rank == 0:
            for _ in range(3):
                await ep.compute(1e-4)
                await ep.request_short(1, note)
            return None
        await ep.block_until(look)
        assert looks.count(0) <= 3  # on entry, and when its own task's step is over
        return [looks.count(number) for number in (1, 2, 3)]

    assert on_loggp.run(main).values[1] == [1, 1, 1]


def test_P3_what_another_task_of_the_rank_changed_is_seen_before_time_advances(both_ways):
    async def main(ep):
        done = []

        async def sibling():
            await trio.sleep(1e-5)
            done.append(trio.current_time())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await ep.block_until(lambda: done)
        return trio.current_time() - done[0]

    assert both_ways.run(main).values == [0.0, 0.0]


def test_P3_a_sibling_that_ends_a_computation_is_seen_too(both_ways):
    async def main(ep):
        done = []

        async def sibling():
            await ep.compute(1e-5)
            done.append(ep.now)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await trio.sleep(1e-9)
            await ep.block_until(lambda: done)
        return ep.now - done[0]

    assert both_ways.run(main).values == [0.0, 0.0]


def test_P3_what_a_sibling_does_last_after_an_inline_call_is_seen(both_ways):
    async def main(ep):
        event = trio.Event()

        async def sibling():
            await ep.poll()  # comes back without a task switch; then nothing of this task runs any more
            event.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await ep.block_until(event.is_set)
        return True

    assert both_ways.run(main, ranks=1).values == [True]


@pytest.mark.parametrize("call", ["compute", "poll", "request", "block_until", "sleep", "end"])
def test_P3_a_task_that_goes_on_in_one_step_of_trio_is_seen_by_its_siblings(both_ways, call):
    """It changes something after a wait for which it drove itself, and makes the next call, or leaves."""

    async def main(ep):
        flag, woken = [], []

        def note(token):
            pass

        async def sibling():
            await ep.block_until(lambda: flag)
            woken.append(trio.current_time())

        await ep.attach(note)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sibling)
            await trio.sleep(1e-6)
            for _ in range(3):
                await ep.compute(1e-6)
            flag.append(trio.current_time())
            if call == "compute":
                await ep.compute(1e-3)
            elif call == "poll":
                await ep.poll()
            elif call == "request":
                await ep.request_short(1 - ep.rank, note)
            elif call == "block_until":
                with trio.move_on_after(1e-3):
                    await ep.block_until(lambda: False)
            elif call == "sleep":
                await trio.sleep(1e-3)
        return woken[0] - flag[0]

    assert both_ways.run(main).values == [0.0, 0.0]


class _Wrong(Exception):
    pass


def test_P3_an_error_of_a_predicate_is_raised_by_its_own_block_until(both_ways):
    async def main(ep):
        handled = []

        def note(token):
            handled.append(1)

        def look():
            if handled:
                raise _Wrong("predicate")
            return False

        await ep.attach(note)
        if ep.rank == 0:
            await ep.compute(1e-5)
            await ep.request_short(1, note)
            return None
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: handled)  # not this one
            try:
                await ep.block_until(look)
            except _Wrong as error:
                return str(error)

    assert both_ways.run(main).values[1] == "predicate"


def _ten(wait):
    async def main(ep):
        handled, passes = [], []

        def note(token):
            handled.append(1)

        await ep.attach(note)
        if ep.rank != 12:
            for _ in range(2):
                await ep.request_short(12, note)
            return None
        await ep.compute(10e-3)
        for _ in range(3):
            await (ep.poll() if wait == "poll" else ep.block_until(lambda: len(handled) > sum(passes)))
            passes.append(len(handled) - sum(passes))
        return passes

    return main


@pytest.mark.parametrize("wait", ["poll", "block_until"])
def test_P4_a_pass_handles_ten_messages_and_the_next_one_the_rest(both_ways, wait):
    assert both_ways.run(_ten(wait), ranks=13).values[12] == [10, 10, 4]


def test_P5_an_arrival_is_noticed_at_the_first_step_of_the_loop_not_before_it():
    """The loop begins at s, a miss costs p, the message arrives at a: it is noticed at s + ceil((a - s) / p) * p."""

    async def main(ep):
        handled = []

        def note(token):
            handled.append(round(ep.now * 1e12))

        await ep.attach(note)
        start = round(ep.now * 1e12)
        if ep.rank == 1:
            await ep.block_until(lambda: handled)
            return start, handled[0]
        await ep.compute(3e-6)
        sent = round(ep.now * 1e12)
        await ep.request_short(1, note)
        return sent

    for miss in (3_000, 7_000, 11_000, 90_000, 1_300_000):
        spec = f"loggp:poll={miss}e-12,L=5us,o_s=1us,o_r=1us"
        sent, (start, handled) = conduit.run(main, conduit=spec).values
        arrival = sent + miss + 1_000_000 + 5_000_000  # its one poll, o_s, L
        noticed = start + -((start - arrival) // miss) * miss
        assert handled == noticed + miss + 1_000_000, miss  # the poll that finds it, o_r


def test_P5_misses_are_counted_and_not_simulated(both_ways):
    """Ten seconds hold a thousand million polls."""

    async def main(ep):
        handled = []

        def note(token):
            handled.append(ep.now)

        await ep.attach(note)
        if ep.rank == 0:
            await ep.compute(10)
            await ep.request_short(1, note)
        else:
            await ep.block_until(lambda: handled)
            return handled[0]

    result = both_ways.run(main)
    assert 10 < result.values[1] < 10.001
    assert result.statistics[1]["poll_passes"] < 5


def test_P6_progress_is_made_by_the_next_poll_of_the_rank_in_a_task_of_its_own(both_ways):
    async def main(ep):
        digest_log = []

        async def progress():
            digest_log.append("progress")
            assert conduit.current() is ep
            await ep.request_short(2, note)  # what a handler may not do
            digest_log.append("sent")

        def note(token):
            digest_log.append(f"from {token.rank}")
            ep.want_progress()

        await ep.attach(note)
        if ep.rank == 1:
            ep.on_progress(progress)
            await ep.compute(1e-3)
            await ep.block_until(lambda: digest_log)
            return digest_log
        if ep.rank == 0:
            await ep.request_short(1, note)
        return digest_log

    assert both_ways.run(main, ranks=3).values == [[], ["from 0", "progress", "sent"], ["from 1"]]


@pytest.mark.parametrize("call", ["poll", "block_until", "request", "after main"])
def test_P6_progress_runs_in_whatever_call_polls(both_ways, call):
    ran = []

    async def main(ep):
        made = []

        async def progress():
            made.append(ep.rank)
            ran.append(ep.rank)
            await ep.poll()

        def note(token):
            pass

        await ep.attach(note)
        ep.on_progress(progress)
        if ep.rank == 1:
            ep.want_progress()
            assert not made  # plain: nothing runs in it
            if call == "poll":
                await ep.poll()
            elif call == "block_until":
                await ep.block_until(lambda: made)
            elif call == "request":
                await ep.request_short(0, note)
        return len(made)

    assert both_ways.run(main).values[1] == (0 if call == "after main" else 1)
    assert ran == [1, 1]


def test_P6_progress_is_not_reentered_and_runs_again_when_asked_meanwhile(both_ways):
    async def main(ep):
        depth, runs = [], []

        async def progress():
            assert not depth
            depth.append(1)
            runs.append(1)
            if len(runs) < 3:
                ep.want_progress()
            await ep.poll()
            await ep.poll()
            depth.pop()

        await ep.attach()
        ep.on_progress(progress)
        ep.want_progress()
        await ep.poll()
        return len(runs)

    assert both_ways.run(main).values == [3, 3]


def test_P6_progress_is_not_cancelled_with_the_call_that_polled(both_ways):
    async def main(ep):
        steps = []

        async def progress():
            for _ in range(5):
                await ep.compute(1e-5)
                steps.append(ep.now)

        await ep.attach()
        ep.on_progress(progress)
        with trio.move_on_after(2e-5) as scope:
            ep.want_progress()
            await ep.poll()
            await ep.poll()
        return len(steps), scope.cancelled_caught

    assert both_ways.run(main).values == [(5, True)] * 2


@pytest.mark.parametrize("pass_of", ["a poll", "the polling loop", "the first that waits for a slot"])
@pytest.mark.parametrize("network", ["loggp:slots=1", "loggp:slots=2", "sci:slots=1", "startx:slots=1"])
def test_P6_progress_that_sends_is_no_obstacle_to_those_who_wait_for_a_slot(pass_of, network):
    """Those get the slots that the pass before it has freed, progress takes its own after them."""

    async def main(ep):
        answers = []

        def ask(token, number):
            token.reply_short(answer, number)

        def answer(token, number):
            answers.append(number)

        async def more():
            await ep.request_short(1, ask, 99)

        async def late():
            await ep.block_until(lambda: 99 in answers)

        await ep.attach(ask, answer)
        ep.on_progress(more)
        if ep.rank == 1:
            await ep.compute(1e-2)  # so that all slots to it are in use, and others wait
            return None
        async with trio.open_nursery() as nursery:
            if pass_of == "the polling loop":
                nursery.start_soon(late)  # which progress is run in
                await ep.compute(1e-3)
            for number in range(4):
                nursery.start_soon(ep.request_short, 1, ask, number)
                await trio.sleep(1e-3)
            await ep.compute(2e-2)  # while the answers arrive
            ep.want_progress()
            if pass_of == "a poll":
                await ep.poll()
        await ep.block_until(lambda: len(answers) == 5)
        return answers

    found = conduit.run(main, ranks=2, conduit=network).values[0]
    assert sorted(found) == [0, 1, 2, 3, 99]
    if pass_of != "the first that waits for a slot":  # who steps aside while its task makes progress
        assert [each for each in found if each != 99] == [0, 1, 2, 3]


def test_P6_the_job_lasts_until_progress_that_was_asked_for_has_been_made(both_ways):
    handled = []

    async def main(ep):
        def note(token):
            handled.append(token.rank)

        async def progress():
            await ep.compute(1e-3)
            await ep.request_short(0, note)

        await ep.attach(note)
        ep.on_progress(progress)
        if ep.rank == 1:
            ep.want_progress()

    assert both_ways.run(main).seconds > 1e-3
    assert handled == [1, 1]
