"""Rules D: when a job has come to its end without being done, and what is said about it."""

import os
import re
import socket
import threading

import numpy as np
import pytest
import trio

import conduit
from conduit.sim import Kernel, Waiter, simulate

ONLY_A_POLL = (
    "in a wait of Trio's own nothing is polled, and only a poll runs handlers: wait with `await "
    "ep.block_until(predicate)`, for an event with `await ep.block_until(event.is_set)`"
)


def _matches(error, *lines):
    """Compare a whole report: `{}` stands for this file, which has its path once, `#` for a number."""
    pattern = "\n".join(lines)
    pattern = re.escape(pattern).replace(r"\{\}", re.escape(__file__), 1)
    pattern = pattern.replace(r"\{\}", re.escape(os.path.basename(__file__))).replace(r"\#", r"[0-9.]+")
    assert re.fullmatch(pattern, str(error)), str(error)


def test_D1_a_missing_reply_ends_the_job_at_once_with_a_report_of_its_cause(on_loggp):
    async def main(ep):
        answers = []

        def answer(token):
            answers.append(1)

        def ask(token):
            pass  # forgets to reply

        await ep.attach(ask, answer)
        if ep.rank == 0:
            await ep.request_short(1, ask)
            await ep.block_until(lambda: answers, what="the answer of rank 1", ranks=[1])

    line = main.__code__.co_firstlineno + 12
    _matches(
        on_loggp.fails(conduit.Deadlock, main),
        "deadlock at # us: nothing can happen any more: no message is on its way and every rank waits",
        "rank 1: its main has returned: waits for the other ranks to return since # us",
        "    rank 0 waits for it; it polls and has handled all that came",
        f"rank 0: {{}}:{line} in main: waits for the answer of rank 1, which rank 1 must bring about, since # us",
    )


def test_D1_the_report_shows_the_cycle_of_ranks_that_wait_for_each_other(on_loggp):
    async def main(ep):
        got = []
        await ep.attach()
        peer = (ep.rank + 1) % ep.size
        await ep.block_until(lambda: got, what=f"a message of rank {peer}", ranks=[peer])

    line = main.__code__.co_firstlineno + 4
    waits = (
        f"rank {rank}: {{}}:{line} in main: waits for a message of rank {(rank + 1) % 3}, which rank {(rank + 1) % 3} "
        "must bring about, since # us"
        for rank in range(3)
    )
    _matches(
        on_loggp.fails(conduit.Deadlock, main, ranks=3),
        "deadlock at # us: nothing can happen any more: no message is on its way and every rank waits",
        "cycle: rank 0 waits for rank 1 waits for rank 2 waits for rank 0",
        *waits,
    )


class _View:
    """Ranks that are worked out at each look, and cannot be counted."""

    def __init__(self, find):
        self._find = find

    def __iter__(self):
        return iter(self._find())


def _raises():
    raise KeyError("gone")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (lambda missing, changed: missing, "ranks 1, 3"),
        (lambda missing, changed: set(missing), "ranks 1-3"),
        (lambda missing, changed: tuple(missing), "ranks 1-3"),
        (lambda missing, changed: iter(missing), "ranks 1-3"),
        (lambda missing, changed: (rank for rank in missing), "ranks 1-3"),
        (lambda missing, changed: _View(lambda: [rank for rank in missing if changed]), "ranks 1, 3"),
        (lambda missing, changed: np.array(missing), "ranks 1-3"),
        (lambda missing, changed: _View(_raises), ""),
        (lambda missing, changed: _View(lambda: [9]), ""),
        (lambda missing, changed: changed, "rank 2"),
    ],
    ids=["list", "other", "tuple", "iterator", "generator", "view", "array", "raising", "no ranks", "wrong later"],
)
def test_D1_what_may_change_is_read_when_the_report_is_made(on_loggp, given, named):
    """A list that loses a rank, a view; a tuple and what can be read once stay; what fails then is left out."""

    async def main(ep):
        await ep.attach()
        if ep.rank:
            return
        missing, changed = [3, 1, 2], [2]

        async def change():
            await trio.sleep(1e-6)
            missing.remove(2)
            changed.append("no rank")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(change)
            await ep.block_until(lambda: False, what="nothing", ranks=given(missing, changed))

    report = str(on_loggp.fails(conduit.Deadlock, main, ranks=4))
    assert f"waits for nothing{named and f', which {named} must bring about,'} since" in report


def test_D1_ranks_in_the_same_state_are_reported_together(on_loggp):
    async def main(ep):
        if ep.rank in (2, 5, 6, 7):
            return
        await ep.block_until(lambda: False, what="nothing")

    line = main.__code__.co_firstlineno + 3
    _matches(
        on_loggp.fails(conduit.Deadlock, main, ranks=8),
        "deadlock at # us: nothing can happen any more: no message is on its way and every rank waits",
        f"ranks 0-1, 3-4, each: {{}}:{line} in main: waits for nothing since # us",
        "ranks 2, 5-7, each: its main has returned: waits for the other ranks to return since # us",
    )


def test_D1_a_wait_for_a_slot_names_its_slots_and_whom_it_waits_for(on_loggp):
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank == 1:
            await trio.sleep_forever()
        for _ in range(3):
            await ep.request_short(1, note)

    start = main.__code__.co_firstlineno
    _matches(
        on_loggp.fails(conduit.Deadlock, main, options="slots=2"),
        "deadlock at # us: nothing can happen any more: no message is on its way and every rank waits",
        f"rank 1: {{}}:{start + 6} in main: is in a wait of Trio's own",
        "    rank 0 waits for it",
        f"    2 messages not handled, because this rank does not poll: for note ({{}}:{start + 1})",
        f"rank 0: {{}}:{start + 8} in main: waits for a free request slot to rank 1, which rank 1 must bring about, "
        "since # us",
        "    2 of 2 request slots to rank 1 in use",
        f"    rank 1 has not handled 2 of the requests that hold them, for note ({{}}:{start + 1})",
        ONLY_A_POLL,
    )


def test_D1_no_deadlock_while_a_thread_may_answer_and_then_no_digest(both_ways):
    async def main(ep):
        got = []
        if ep.rank == 0:
            started = threading.Event()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ep.block_until, lambda: got)
                started.set()
                got.append(await trio.to_thread.run_sync(started.wait))
        return got

    for spec in both_ways.specs():
        result = conduit.run(main, conduit=spec)
        assert result.values == [[True], []]
        assert result.digest is None


@pytest.mark.parametrize("inline", ["yes", "no"])
def test_D1_no_deadlock_while_a_socket_may_bring_something(inline):
    class Answer(trio.abc.Instrument):
        """Sends when Trio really waits."""

        def before_io_wait(self, timeout):
            if timeout > 1:
                far.send(b"x")

    async def main(ep):
        if ep.rank == 0:
            trio.lowlevel.add_instrument(Answer())
            await trio.lowlevel.wait_readable(near)
            return near.recv(1)
        await ep.compute(1e-3)

    near, far = socket.socketpair()
    with near, far:
        result = conduit.run(main, conduit=f"loggp:inline={inline}")
    assert result.values == [b"x", None]
    assert result.digest is None


def test_D1_a_timeout_of_trio_is_not_a_deadlock(both_ways):
    async def main(ep):
        with trio.move_on_after(1) as scope:
            await ep.block_until(lambda: False)
        return scope.cancelled_caught

    assert both_ways.run(main).values == [True, True]


@pytest.mark.parametrize("inline", [True, False])
def test_D1_a_kernel_alone_says_that_nothing_can_happen(inline):
    world = Kernel(inline=inline)

    async def wait():
        await world.until(50)
        await world.wait(Waiter())

    with pytest.raises(RuntimeError, match=r"\Adeadlock: nothing can happen any more\Z"):
        simulate(world, wait)
    assert world.now == 50


def test_D2_a_rank_in_a_bare_trio_wait_is_blocked_and_its_messages_are_counted(on_loggp):
    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank == 1:
            await trio.Event().wait()
        for _ in range(3):
            await ep.request_short(1, note)
        await ep.block_until(lambda: False, what="rank 1")

    start = main.__code__.co_firstlineno
    note = rf"note \({os.path.basename(__file__)}:{start + 1}\)"
    report = str(on_loggp.fails(conduit.Deadlock, main))
    assert re.search(
        rf"^rank 1: {re.escape(__file__)}:{start + 6} in main: is in a wait of Trio's own\n"
        rf"    rank 0 waits for it\n"
        rf"    3 messages not handled, because this rank does not poll: for {note}\n",
        report,
        re.MULTILINE,
    ), report


def test_D2_a_rank_that_has_a_polling_task_too_is_not_accused(on_loggp):
    async def main(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: False)
            await trio.sleep_forever()

    assert "does not poll" not in str(on_loggp.fails(conduit.Deadlock, main))


@pytest.mark.parametrize("inline", [True, False])
def test_D3_background_events_keep_no_job_alive(inline):
    world = Kernel(inline=inline)
    ticks = []

    def tick():
        ticks.append(world.now)
        world.background(world.now + 100, tick)

    world.background(100, tick)

    async def wait():
        await world.until(350)
        await world.wait(Waiter())

    with pytest.raises(RuntimeError, match=r"\Adeadlock"):
        simulate(world, wait)
    assert ticks == [100, 200, 300]


@pytest.mark.parametrize("inline", [True, False])
def test_D3_background_and_work_events_run_in_the_order_of_their_times(inline):
    world = Kernel(inline=inline)
    ran = []
    world.background(20, ran.append, "background 20")
    world.background(40, ran.append, "background 40")
    for when in (10, 30, 50):
        world.at(when, ran.append, f"work {when}")

    async def wait():
        await world.until(45)
        ran.append(f"task {world.now}")

    simulate(world, wait)
    assert ran[:5] == ["work 10", "background 20", "work 30", "background 40", "task 45"]


@pytest.mark.parametrize("inline", [True, False])
def test_D3_a_background_event_does_not_run_before_an_earlier_timeout(inline):
    world = Kernel(inline=inline)
    ran = []
    world.background(9_000_000, ran.append, "background")
    world.at(10_000_000, ran.append, "work")

    async def sleep():
        await trio.sleep(7e-6)
        ran.append("sleeper")
        await world.until(20_000_000)

    simulate(world, sleep)
    assert ran == ["sleeper", "background", "work"]


def test_D3_a_limit_does_not_come_before_an_earlier_timeout(on_loggp):
    async def main(ep):
        if ep.rank == 0:
            await trio.sleep(7e-6)
            ep.exit(3)
        await ep.compute(10e-6)

    assert on_loggp.fails(SystemExit, main, time_limit=9e-6).code == 3


def test_D4_what_became_true_without_a_handler_is_reported_as_such(on_loggp):
    def make():
        shared = []

        async def main(ep):
            if ep.rank == 0:
                await ep.compute(1e-5)
                shared.append(1)  # ranks share nothing: a program that counts on it is wrong
            else:
                await ep.block_until(lambda: shared)

        return main

    for spec in on_loggp.specs():
        main = make()
        line = main.__code__.co_firstlineno + 5
        with pytest.raises(conduit.Deadlock) as caught:
            conduit.run(main, conduit=spec)
        _matches(
            caught.value,
            "deadlock at # us: nothing can happen any more: no message is on its way and every rank waits",
            f"rank 1: {{}}:{line} in main: waits for a predicate (len(shared) is 1; block_until takes what= and "
            "ranks= for this report) since # us",
            "       which became true without a handler: let a handler or a task of this rank make it true",
            "rank 0: its main has returned: waits for the other ranks to return since # us",
        )


@pytest.mark.parametrize("looks", range(3))
def test_D4_what_a_predicate_raises_is_raised_whenever_it_is_looked_at(looks):
    """By the wait, before the verdict, or by the report; it was told as one that became true."""

    async def main(ep):
        seen = []

        def predicate():
            seen.append(1)
            if len(seen) > looks:
                raise KeyError("x")

        await ep.attach()
        await ep.block_until(predicate)

    with pytest.raises(KeyError, match=r"\A'x'") as caught:
        conduit.run(main, ranks=1, conduit="loggp")
    if looks:
        note = "raised on rank 0, by what it waits for, when nothing else could happen any more"
        assert note in caught.value.__notes__


def test_what_a_predicate_raises_is_in_the_report_of_a_time_limit():
    async def main(ep):
        seen = []

        def predicate():
            seen.append(1)
            if len(seen) > 1:
                raise KeyError("x")
            return False

        await ep.attach()
        if ep.rank:
            await ep.block_until(predicate)
        while True:
            await ep.poll()

    with pytest.raises(conduit.TimeLimit) as caught:
        conduit.run(main, ranks=2, conduit="loggp", time_limit=1e-3)
    lines = str(caught.value).splitlines()
    assert "in main: waits for a predicate (" in lines[-2]
    assert lines[-1] == "       which raises KeyError: 'x' by now"
    (wait,) = [task.wait for task in caught.value.report.ranks[1].tasks]
    assert (wait.over, wait.raised) == (False, "KeyError: 'x'")


def test_who_is_waited_for_is_named_where_the_line_before_names_one_of_them():
    async def main(ep):
        await ep.attach()
        if ep.rank < 2:
            await ep.compute(1e-6 * (1 + ep.rank))
            await ep.block_until(lambda: False, what="news")
        else:
            await ep.block_until(lambda: False, what="a word", ranks=[0, 1])

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=5, conduit="loggp")
    _, first, waiting, second, _ = str(caught.value).splitlines()
    assert first.startswith("rank 0: ")
    assert waiting == "    3 ranks wait for ranks 0-1; ranks 0-1 poll and have handled all that came"
    assert second.startswith("rank 1: ")


def test_D5_a_deadlock_is_raised_by_run_and_never_inside_a_rank(both_ways):
    seen = []

    async def main(ep):
        try:
            await ep.block_until(lambda: False)
        except Exception as error:
            seen.append(error)
        finally:
            seen.append(ep.rank)

    both_ways.fails(conduit.Deadlock, main)
    assert sorted(seen) == [0, 0, 1, 1]


def test_D5_a_time_limit_ends_what_a_ticker_keeps_alive(on_loggp):
    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            await ep.block_until(lambda: False, what="nothing")
        while True:  # noqa: ASYNC110  a ticker is the point
            await trio.sleep(1e-6)

    start = main.__code__.co_firstlineno
    _matches(
        on_loggp.fails(conduit.TimeLimit, main, time_limit=2.5e-3),
        "time limit at 2500.000 us: the job's time is over",
        f"rank 0: {{}}:{start + 3} in main: waits for nothing since # us",
        f"rank 1: {{}}:{start + 5} in main: is in a wait of Trio's own",
        "    does not poll",
        ONLY_A_POLL,
    )


@pytest.mark.parametrize("limit", [0, 1e-9, 1e-3])
def test_D5_a_time_limit_that_is_not_reached_changes_nothing(both_ways, limit):
    async def main(ep):
        await ep.compute(1e-3 - 1e-6)

    if limit < 1e-3:
        error = both_ways.fails(conduit.TimeLimit, main, time_limit=limit)
        assert "has ended" not in str(error)
        assert ("ranks 0-1, each: has not begun" in str(error)) == (limit == 0)
    elif both_ways.network == "loggp":
        free, limited = both_ways.run(main), both_ways.run(main, time_limit=limit)
        assert free.digest == limited.digest
        assert free.seconds == limited.seconds


def test_D5_a_deadlock_does_not_wait_for_the_time_limit(both_ways):
    async def main(ep):
        await ep.block_until(lambda: False)

    assert str(both_ways.fails(conduit.Deadlock, main, time_limit=1)).startswith("deadlock at ")


def _shielded(wait):
    async def clean_up(ep):
        with trio.CancelScope(shield=True):
            await wait(ep)

    return clean_up


async def _compute(ep):
    await ep.compute(1)


async def _block(ep):
    await ep.block_until(lambda: False)


async def _sleep(ep):
    await trio.sleep(5)


async def _again_and_again(ep):
    for _ in range(3):
        try:
            await ep.poll()
        finally:
            await _again_and_again_inner(ep)


async def _again_and_again_inner(ep):
    with trio.CancelScope(shield=True):
        await ep.block_until(lambda: False)


@pytest.mark.parametrize("wait", [_compute, _block, _sleep, _again_and_again])
def test_D6_a_shielded_wait_on_the_way_out_does_not_hang_the_job(both_ways, wait, fails_while):
    error = both_ways.fails(ValueError, fails_while(_shielded(wait)), ranks=3)
    assert len(error.__notes__) == 1  # rank and time; nothing else went wrong
    assert error.__notes__[0].startswith("raised by rank 1 at 0.000")


def test_D6_a_shielded_wait_under_way_is_ended_too(both_ways):
    async def main(ep):
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise KeyError("first")
        with trio.CancelScope(shield=True):
            if ep.rank == 1:
                await ep.block_until(lambda: False)
            else:
                await ep.compute(1)
        reached.append(ep.rank)

    reached = []
    error = both_ways.fails(KeyError, main, ranks=3)
    assert len(error.__notes__) == 1
    assert not reached


async def _event(ep):
    await trio.Event().wait()


def test_D6_a_bare_shielded_wait_is_reported_with_its_line_and_abandoned(on_loggp, fails_while):
    error = on_loggp.fails(ValueError, fails_while(_shielded(_event)))
    line = _event.__code__.co_firstlineno + 1
    assert error.__notes__[1:] == [
        f"while the job ended, a shielded wait was ended by force: task rank 0 at {__file__}:{line} in _event"
    ]


def test_D6_every_call_of_an_ending_job_raises_at_entry(both_ways):
    calls = []

    async def main(ep):
        def note(token):
            pass

        await ep.attach(note)
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise KeyError("first")
        try:
            await ep.block_until(lambda: False)
        finally:
            for call in (
                ep.poll,
                lambda: ep.compute(0),
                lambda: ep.block_until(lambda: True),
                lambda: ep.request_short(0, note),
                lambda: ep.request_short(1, note),
                ep.attach,
            ):
                try:
                    await call()
                except Exception:
                    calls.append("an exception that programs catch")
                except BaseException as error:
                    calls.append(type(error).__name__)

    error = both_ways.fails(KeyError, main)
    assert calls == ["Ending"] * 6 * 2
    assert len(error.__notes__) == 1


def test_D6_tasks_of_nurseries_leave_an_ending_job_without_a_trace(both_ways):
    async def main(ep):
        await ep.attach()
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise KeyError("first")
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ep.block_until, lambda: False)
            async with trio.open_nursery() as inner:
                inner.start_soon(ep.block_until, lambda: False)
                await trio.sleep_forever()

    error = both_ways.fails(KeyError, main, ranks=3)
    assert len(error.__notes__) == 1, error.__notes__


def test_D6_what_a_rank_raises_on_its_way_out_is_noted(both_ways):
    async def main(ep):
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise KeyError("first")
        try:
            await ep.block_until(lambda: False)
        finally:
            raise LookupError("second")

    error = both_ways.fails(KeyError, main)
    assert error.args == ("first",)
    assert error.__notes__[1:] == ["while the job ended, rank 1 raised LookupError: second"]


def test_D4_what_a_predicate_raises_at_the_last_look_ends_the_job(both_ways):
    """Something that is no handler, and no task of its rank, has changed what it looks at."""

    def make():
        flag = []

        async def main(ep):
            def predicate():
                if flag:
                    raise ValueError("the reason")
                return False

            if ep.rank == 0:
                await ep.compute(1e-5)
                flag.append(1)
            else:
                await ep.block_until(predicate)

        return main

    for spec in both_ways.specs():
        with pytest.raises(ValueError, match="the reason") as caught:
            conduit.run(make(), conduit=spec)
        assert any("raised on rank 1, by what it waits for" in note for note in caught.value.__notes__)
        assert not any("became true" in note for note in caught.value.__notes__)
