"""Polling, waiting, time, and service after a program's end."""

import math
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
import trio

from conduit import Deadlock, Endpoint, Livelock, Token
from conduit.conformance.cases import Case
from conduit.conformance.programs import CATEGORIES, answer, attached, linger, names, neighbour, refusal
from conduit.sim import livelock


@pytest.mark.rule("R39")
@pytest.mark.crowds
def test_every_message_is_handled_exactly_once(case: Case) -> None:
    """Numbered messages of all ranks to all ranks: none is lost, none comes twice."""
    count = 6

    async def main(ep: Endpoint) -> list[tuple[int, int]]:
        log = await attached(ep)
        for number in range(count):
            for step in range(ep.size):
                await ep.request_short((ep.rank + step) % ep.size, log.short, number)
        await log.until(count * ep.size)
        await ep.attach()
        return sorted((one.rank, one.args[0]) for one in log.seen)

    expected = [(rank, number) for rank in range(case.size) for number in range(count)]
    assert list(case.run(main).values) == [expected] * case.size


@pytest.mark.rule("R40")
@pytest.mark.simulated  # compute takes no real time
def test_a_request_polls_even_if_it_need_not_wait(case: Case) -> None:
    """A rank that only sends runs the handlers of what has come in.

    One message at a time: a network may keep the second back until the first has been taken.
    """
    case = case.at_least(2)

    async def main(ep: Endpoint) -> list[int]:
        log = await attached(ep)
        seen = []
        for _ in range(2):
            if ep.rank == 1:
                await ep.request_short(0, log.short)
                await linger(ep, 6e-3)
            if ep.rank == 0:
                await ep.compute(4e-3)
                for _ in range(2):
                    await ep.request_short(1, log.short)
                seen.append(len(log.seen))
                await ep.compute(2e-3)
        return seen

    assert case.run(main).values[0] == [1, 2]


@pytest.mark.rule("R41")
def test_poll_returns_when_there_is_nothing(case: Case) -> None:
    """Polling an idle network is fine, as often as wanted."""

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        for _ in range(50):
            await ep.poll()
        return len(log.seen)

    assert list(case.run(main).values) == [0] * case.size


@pytest.mark.rule("R41", "R34")
def test_poll_runs_what_is_pending(case: Case) -> None:
    """Enough polls handle all that has arrived, without any other call."""
    case = case.at_least(2)
    # A network may lose messages and try again; in real time nobody knows when the other rank has its turn.
    most = 10_000 if case.simulated else 1_000_000

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        if ep.rank == 1:
            await ep.request_short(0, log.short, 1)
            await ep.request_short(0, log.short, 2)
        await ep.compute(1e-3)
        for _ in range(most if ep.rank == 0 else 0):
            await ep.poll()
            await ep.compute(1e-4)
            if len(log.seen) == 2:
                break
        return len(log.seen)

    assert case.run(main).values[0] == 2


@pytest.mark.rule("R41", "R39")
@pytest.mark.crowds
def test_one_poll_handles_ten_messages_at_most(case: Case) -> None:
    """However many have come meanwhile, from all other ranks; what it leaves the next ones find."""
    case = case.at_least(3)
    counts = (1, 2, 14)

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        most = polls = expected = 0
        for count in counts:
            for number in range(count if ep.rank else 0):
                await ep.request_short(0, log.short, number)
            expected += (ep.size - 1) * count
            while ep.rank == 0 and len(log.seen) < expected:
                await ep.compute(1e-4)
                before = len(log.seen)
                await ep.poll()
                most = max(most, len(log.seen) - before)
                polls += 1
                assert polls < 20_000 or not case.simulated, f"{polls} polls have found {len(log.seen)} messages"
            await ep.attach()
        return most

    assert case.run(main).values[0] <= 10


@pytest.mark.rule("R42")
@pytest.mark.simulated
def test_block_until_true_returns_without_polling(case: Case) -> None:
    """No handler runs and no time passes when the condition already holds."""

    async def main(ep: Endpoint) -> tuple[int, float]:
        log = await attached(ep)
        await ep.request_short(neighbour(ep), log.short)
        await ep.compute(1e-3)
        # The message is there, unless the rank spoke to itself.
        seen, now = len(log.seen), ep.now
        await ep.block_until(lambda: True)
        return len(log.seen) - seen, ep.now - now

    assert list(case.run(main).values) == [(0, 0.0)] * case.size


@pytest.mark.rule("R42")
def test_block_until_returns_once_a_handler_made_it_true(case: Case) -> None:
    """It goes through as many messages as it takes; the predicate holds when it returns."""

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        for number in range(9):
            await ep.request_short(neighbour(ep), log.short, number)
        await ep.block_until(lambda: any(one.args == (8,) for one in log.seen), what="the last", ranks=(0,))
        return any(one.args == (8,) for one in log.seen)

    assert all(case.run(main).values)


class _Oops(Exception):
    """Raised by a predicate."""


@pytest.mark.rule("R42")
def test_a_predicate_that_raises_raises_out_of_block_until(case: Case) -> None:
    """At once or after a handler; the program may catch it and go on."""

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        caught = 0

        def fail_after(count: int) -> bool:
            if len(log.seen) >= count:
                raise _Oops("here")
            return False

        for count in (0, 1):
            await ep.request_short(neighbour(ep), log.short)
            try:
                await ep.block_until(partial(fail_after, count))
            except _Oops:
                caught += 1
        await log.until(2)
        return caught

    assert list(case.run(main).values) == [2] * case.size


@pytest.mark.rule("R42", "R60")
def test_block_until_wants_a_function(case: Case) -> None:
    """A truth value, or a condition that would have to be awaited, is refused."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        for wrong in (True, None, 1):
            condition: Any = wrong
            names(refusal(partial(ep.block_until, condition)), "predicate")

    case.run(main)


@pytest.mark.rule("R43", "R42")
def test_a_predicate_may_be_made_true_by_another_task(case: Case) -> None:
    """A task that waits sees what its sibling did, before time goes on."""

    async def main(ep: Endpoint) -> list[str]:
        done: list[str] = []
        await ep.attach()
        async with trio.open_nursery() as nursery:

            async def sibling() -> None:
                await ep.compute(1e-6)
                done.append("sibling")

            nursery.start_soon(sibling)
            await ep.block_until(lambda: bool(done))
            done.append("waiter")
        return done

    assert list(case.run(main).values) == [["sibling", "waiter"]] * case.size


@pytest.mark.rule("R43")
def test_any_number_of_tasks_may_wait(case: Case) -> None:
    """Each goes on when its own condition holds, in whatever order the messages come."""
    count = 7

    async def main(ep: Endpoint) -> list[int]:
        done: list[int] = []
        log = await attached(ep)

        async def wait_for(number: int) -> None:
            await ep.block_until(lambda: any(one.args == (number,) for one in log.seen))
            done.append(number)

        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(wait_for, number)
            for number in reversed(range(count)):
                await ep.request_short(neighbour(ep), log.short, number)
        return sorted(done)

    assert list(case.run(main).values) == [list(range(count))] * case.size


@pytest.mark.rule("R43", "R48")
def test_several_tasks_may_send_at_once(case: Case) -> None:
    """Tasks of one rank share its slots; every message arrives."""
    tasks, each = 5, 6

    async def main(ep: Endpoint) -> list[tuple[int, ...]]:
        log = await attached(ep)

        async def flood(task: int) -> None:
            for number in range(each):
                await ep.request_medium(neighbour(ep), log.medium, bytes([task]) * 40, task, number)

        async with trio.open_nursery() as nursery:
            for task in range(tasks):
                nursery.start_soon(flood, task)
        seen = await log.until(tasks * each)
        assert all(one.payload == bytes([one.args[0]]) * 40 for one in seen)
        return sorted(one.args for one in seen)

    expected = [(task, number) for task in range(tasks) for number in range(each)]
    assert list(case.run(main).values) == [expected] * case.size


@pytest.mark.rule("R44")
def test_a_rank_serves_after_its_program_has_returned(case: Case) -> None:
    """Requests to ranks that are done are handled and answered until all are."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> list[int]:
        answers: list[int] = []

        def ask(token: Token) -> None:
            token.reply_short(told, ep.rank)

        def told(token: Token, by: int) -> None:
            answers.append(by)

        await ep.attach(ask, told)
        if ep.rank == 0:
            await ep.compute(1e-3)
            for dest in range(1, ep.size):
                await ep.request_short(dest, ask)
            await ep.block_until(lambda: len(answers) == ep.size - 1)
        return sorted(answers)

    assert case.run(main).values[0] == list(range(1, case.size))


@pytest.mark.rule("R44", "R39")
def test_messages_sent_last_are_still_handled(case: Case) -> None:
    """A program that sends and returns at once has sent for good, and its replies come too."""

    async def main(ep: Endpoint) -> None:
        def ask(token: Token, payload: memoryview) -> None:
            token.reply_short(told)

        def told(token: Token) -> None:
            """Handled after both programs have returned."""

        await ep.attach(ask, told)
        for _ in range(5):
            await ep.request_medium(neighbour(ep), ask, bytes(300))

    for counts in case.run(main).statistics:
        assert [counts[name] for name in ("requests_handled", "replies_handled")] == [5, 5]


@pytest.mark.rule("R45")
@pytest.mark.simulated
def test_compute_takes_the_time_it_is_told(case: Case) -> None:
    """Seconds and flops, in the job's own time; nothing shortens it."""

    async def main(ep: Endpoint) -> tuple[float, float, float, float]:
        await ep.attach()
        start = ep.now
        await ep.compute(2.5e-5)
        middle = ep.now
        await ep.compute(flops=1000)
        late = ep.now
        with trio.move_on_after(1e-6):
            await ep.compute(1e-4)
        return start, middle, late, ep.now

    for start, middle, late, end in case.run(main).values:
        assert middle - start == pytest.approx(2.5e-5, abs=1e-12)
        assert late > middle
        assert end - late == pytest.approx(1e-4, abs=1e-12)


@pytest.mark.rule("R45")
def test_the_clock_never_goes_back(case: Case) -> None:
    """Neither in the program nor in handlers."""

    async def main(ep: Endpoint) -> bool:
        times: list[float] = [ep.now]

        def ask(token: Token) -> None:
            times.append(ep.now)
            token.reply_short(told)
            times.append(ep.now)

        def told(token: Token) -> None:
            times.append(ep.now)

        await ep.attach(ask, told)
        for step in range(12):
            times.append(ep.now)
            await ep.request_short((ep.rank + step) % ep.size, ask)
            times.append(ep.now)
            await ep.poll()
        await ep.block_until(lambda: len(times) == 1 + 24 + 36)
        times.append(ep.now)
        return times == sorted(times) and times[0] >= 0.0

    assert all(case.run(main).values)


@pytest.mark.rule("R45", "R60")
def test_wrong_amounts_of_work_are_refused(case: Case) -> None:
    """Neither negative nor endless nor of another kind; compute and charge alike."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"seconds": -1e-9}, "seconds"),
            ({"seconds": math.nan}, "seconds"),
            ({"seconds": math.inf}, "seconds"),
            ({"seconds": "1"}, "seconds"),
            ({"seconds": 1e19}, "seconds"),
            ({"seconds": 10**400}, "seconds"),
            ({"flops": 10**400}, "flops"),
            ({"flops": -1}, "flops"),
            ({"flops": math.nan}, "flops"),
        ]
        for arguments, word in wrong:
            names(refusal(partial(ep.compute, **arguments)), word)
            names(refusal(partial(ep.charge, **arguments)), word)
        names(refusal(partial(ep.compute, flops=10, threads=0)), "threads", 0)
        names(refusal(partial(ep.charge, copied=-5)), "copied", -5)
        names(refusal(partial(ep.charge, copied=10**30)), "copied", 10**30)

    case.run(main)


@pytest.mark.rule("R46")
@pytest.mark.simulated
def test_charge_takes_time_without_waiting(case: Case) -> None:
    """In the program and in handlers; the rank's next act comes after it, other ranks do not wait."""

    async def main(ep: Endpoint) -> tuple[float, float, float]:
        spent: list[float] = []

        def handler(token: Token) -> None:
            before = ep.now
            ep.charge(3e-6)
            spent.append(ep.now - before)

        await ep.attach(handler)
        before = ep.now
        ep.charge(5e-6)
        charged = ep.now - before
        ep.charge(flops=100)
        ep.charge(copied=100)
        more = ep.now - before
        await ep.request_short(neighbour(ep), handler)
        await ep.block_until(lambda: bool(spent))
        return charged, more, spent[0]

    for charged, more, spent in case.run(main).values:
        assert charged == pytest.approx(5e-6, abs=1e-12)
        assert more > charged
        assert spent == pytest.approx(3e-6, abs=1e-12)


@pytest.mark.rule("R46")
@pytest.mark.simulated
def test_plain_calls_take_no_time(case: Case) -> None:
    """Looking at oneself and at the job is free and runs no handler."""

    async def main(ep: Endpoint) -> tuple[float, int]:
        log = await attached(ep)
        await ep.request_short(neighbour(ep), log.short)
        await ep.compute(1e-4)
        seen, start = len(log.seen), ep.now
        for rank in range(ep.size):
            ep.segment_size(rank)
            ep.host_of(rank)
        _ = (ep.rank, ep.size, ep.limits, ep.host, ep.ranks_on_host, ep.simulated, ep.random.random(), ep.segment.sum())
        ep.want_progress()
        return ep.now - start, len(log.seen) - seen

    assert list(case.run(main).values) == [(0.0, 0)] * case.size


@pytest.mark.rule("R47")
def test_every_poll_takes_time(case: Case) -> None:
    """So a loop that polls gets somewhere: a nanosecond at least for each."""

    async def main(ep: Endpoint) -> bool:
        await ep.attach()
        times = []
        for _ in range(5):
            await ep.poll()
            times.append(ep.now)
            await ep.compute(0.0)
            times.append(ep.now)
        return all(later - earlier >= 0.99e-9 for earlier, later in pairwise(times))

    assert all(case.run(main).values)


@pytest.mark.rule("R47")
def test_a_program_may_spin_on_memory_across_polls(case: Case) -> None:
    """A loop over poll or compute sees a long arrive, and ends."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        if ep.rank == 0:
            await ep.compute(1e-5)
            for dest in range(1, ep.size):
                await ep.request_long(dest, log.long, b"\1", 33)
            return 1
        while not ep.segment[33]:
            await ep.poll()
            await ep.compute(1e-6)
        return int(ep.segment[33])

    assert list(case.run(main).values) == [1] * case.size


@pytest.mark.rule("R47")
@pytest.mark.simulated
@pytest.mark.once
def test_a_loop_without_progress_of_time_is_found(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task that spins without letting time pass ends the job, and the report names its rank."""
    case = case.with_ranks(min(case.size, 2))
    monkeypatch.setattr(livelock, "STILL", 5_000)  # steps, of 100,000: what counts them is the same

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        while ep.rank == ep.size - 1:
            await trio.lowlevel.checkpoint()

    with pytest.raises(Livelock, match=rf"(?s)\A.*\b{case.size - 1}\b"):
        case.run(main)


@pytest.mark.rule("R67", "R42")
@pytest.mark.simulated
def test_waiting_for_what_never_comes_is_a_deadlock_not_a_hang(case: Case) -> None:
    """The report says of every rank what it waits for, in the program's own words."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        await ep.block_until(lambda: False, what=f"godot number {ep.rank}", ranks=(neighbour(ep),))

    with pytest.raises(Deadlock, match=r"(?s)\A.*godot number") as caught:
        case.run(main)
    for rank in caught.value.report.ranks:
        (wait,) = (task.wait for task in rank.tasks)
        assert (wait.what, wait.ranks) == (f"godot number {rank.rank}", ((rank.rank + 1) % case.size,))


@pytest.mark.rule("R67")
@pytest.mark.simulated
def test_a_missing_reply_is_reported_as_what_it_is(case: Case) -> None:
    """One rank waits for an answer that nobody gives, while the others are done and serve."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        if ep.rank == 0:
            await ep.request_short(neighbour(ep), log.short)
            await ep.block_until(lambda: len(log.seen) > 5, what="the answer", ranks=(neighbour(ep),))

    with pytest.raises(Deadlock, match=r"(?s)\A.*the answer"):
        case.run(main)


@pytest.mark.rule("R67")
@pytest.mark.simulated
def test_a_rank_in_a_bare_wait_counts_as_blocked(case: Case) -> None:
    """Waiting for an event that nobody can set ends the job too, and the report says that the rank does not poll."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        await trio.Event().wait()

    with pytest.raises(Deadlock, match=r"(?s)\A.*poll"):
        case.run(main)


@pytest.mark.rule("R46")
@pytest.mark.simulated
@pytest.mark.parametrize("category", CATEGORIES)
def test_what_follows_a_charge_leaves_when_its_time_is_over(case: Case, category: str) -> None:
    """A reply after it, and a request of the call whose poll ran the handler."""
    case = case.at_least(2)
    work = 2e-3

    async def main(ep: Endpoint) -> tuple[float, list[float]]:
        over = 0.0
        came: list[float] = []

        def ask(token: Token) -> None:
            nonlocal over
            ep.charge(work)
            over = ep.now
            answer(token, category, follow)

        def follow(token: Token, *payload: memoryview) -> None:
            came.append(ep.now)

        await ep.attach(ask, follow)
        if ep.rank == 0:
            await ep.request_short(1, ask)
            await ep.block_until(lambda: len(came) == 2)
        elif ep.rank == 1:
            await ep.compute(work)  # by now the request has come
            await ep.request_short(0, follow)
        await ep.attach()
        return over, came

    values = case.run(main).values
    assert values[1][0] > 2 * work
    assert all(time >= values[1][0] for time in values[0][1])
