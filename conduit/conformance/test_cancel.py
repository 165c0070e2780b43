"""Cancellation: where a call can be cancelled, and that it leaves the queues sound."""

from collections.abc import Callable
from typing import Any

import attrs
import pytest
import trio

from conduit import ConduitError, Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, attached, linger, neighbour, send


def _calls(ep: Endpoint, log: Any) -> dict[str, Callable[[], Any]]:
    return {
        "request_short": lambda: ep.request_short(neighbour(ep), log.short),
        "request_medium": lambda: ep.request_medium(neighbour(ep), log.medium, b"abc"),
        "request_long": lambda: ep.request_long(neighbour(ep), log.long, b"abc", 0),
        "request_self": lambda: ep.request_short(ep.rank, log.short),
        "poll": lambda: ep.poll(),
        "block_until": lambda: ep.block_until(lambda: True),
        "block_until_false": lambda: ep.block_until(lambda: False),
        "compute": lambda: ep.compute(1e-6),
    }


@pytest.mark.rule("R75", "R76")
@pytest.mark.parametrize("name", _calls(None, None))  # type: ignore[arg-type]
def test_every_call_is_a_cancellation_point(case: Case, name: str) -> None:
    """In a scope that is cancelled already the call raises and has done nothing."""

    async def main(ep: Endpoint) -> tuple[bool, int]:
        log = await attached(ep)
        passed = False
        with trio.CancelScope() as scope:
            scope.cancel()
            await _calls(ep, log)[name]()
            passed = True
        await ep.attach()
        await ep.compute(1e-4)
        await ep.poll()
        return passed, len(log.seen)

    assert list(case.run(main).values) == [(False, 0)] * case.size


@pytest.mark.rule("R75")
def test_a_call_that_need_not_wait_survives_a_later_cancellation(case: Case) -> None:
    """What was done before the scope is cancelled stays done."""

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        with trio.CancelScope() as scope:
            await ep.request_short(neighbour(ep), log.short)
            scope.cancel()
        return len(await log.until(1))

    assert list(case.run(main).values) == [1] * case.size


@pytest.mark.rule("R77")
def test_a_cancelled_wait_leaves_nothing_behind(case: Case) -> None:
    """Its predicate is not evaluated any more, and the next wait works."""

    async def main(ep: Endpoint) -> tuple[int, bool]:
        log = await attached(ep)
        looked = 0

        def predicate() -> bool:
            nonlocal looked
            looked += 1
            return False

        with trio.move_on_after(1e-5) as scope:
            await ep.block_until(predicate)
        before = looked
        await ep.request_short(neighbour(ep), log.short)
        await log.until(1)
        return looked - before, scope.cancelled_caught

    assert list(case.run(main).values) == [(0, True)] * case.size


@pytest.mark.rule("R77", "R43")
def test_a_handler_may_cancel_a_scope(case: Case) -> None:
    """The waiting task of the handler's own rank leaves its wait."""

    async def main(ep: Endpoint) -> tuple[bool, int]:
        scope = trio.CancelScope()

        def stop(token: Token) -> None:
            scope.cancel()

        log = await attached(ep, stop)
        with scope:
            await ep.request_short(neighbour(ep), stop)
            await ep.block_until(lambda: False)
        await ep.request_short(neighbour(ep), log.short)
        return scope.cancelled_caught, len(await log.until(1))

    assert list(case.run(main).values) == [(True, 1)] * case.size


@pytest.mark.rule("R77", "R34")
@pytest.mark.simulated  # its timeouts are microseconds
def test_a_wait_can_time_out_and_be_made_again(case: Case) -> None:
    """Many short waits in a row; the messages come in between."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> tuple[int, int]:
        log = await attached(ep)
        if ep.rank == 0:
            for dest in range(1, ep.size):
                await ep.compute(3e-5)
                await ep.request_short(dest, log.short)
            return 1, 0
        timeouts = 0
        while not log.seen:
            with trio.move_on_after(7e-6) as scope:
                await ep.block_until(lambda: bool(log.seen))
            timeouts += scope.cancelled_caught
        return len(log.seen), timeouts

    values = case.run(main).values
    assert [seen for seen, _ in values] == [1] * case.size
    assert all(timeouts > 0 for _, timeouts in values[1:])


@pytest.mark.rule("R76")
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_cancelled_send_is_whole_or_has_not_happened(case: Case, category: str) -> None:
    """Sends cut off at many different instants: what arrived is what returned, at most one more, and intact."""
    case = case.at_least(2)
    size = 0 if category == "short" else min(case.limits.max_medium, case.longest(), 900)

    async def main(ep: Endpoint) -> tuple[list[int], list[int], bool]:
        log = await attached(ep)
        returned: list[int] = []
        if ep.rank == 0:
            for number in range(24):
                with trio.move_on_after((number % 12) * 0.31e-6):
                    payload = pattern(size, number)
                    await send(ep, category, 1, log[category], number, payload=payload, offset=number * size)
                    returned.append(number)
        await ep.attach()
        await linger(ep, 4e-3)
        got = [one.args[0] for one in log.seen]
        intact = all(one.payload in (None, pattern(size, one.args[0])) for one in log.seen)
        return returned, sorted(got), intact

    values = case.run(main).values
    returned, got = values[0][0], values[1][1]
    assert values[1][2]
    assert len(got) == len(set(got))
    assert set(returned) <= set(got)


@pytest.mark.rule("R76", "R77", "R48")
@pytest.mark.parametrize("category", CATEGORIES)
def test_cancelled_waits_for_a_slot_lose_no_slot(case: Case, category: str) -> None:
    """A sender in front of a busy peer gives up many times; afterwards all slots serve as before."""
    case = case.at_least(2)
    size = 0 if category == "short" else min(case.limits.max_medium, case.longest(), 300)

    async def main(ep: Endpoint) -> tuple[int, int]:
        log = await attached(ep)
        sent = given_up = 0
        if ep.rank == 0:
            for number in range(30):
                with trio.move_on_after(2e-5) as scope:
                    await send(ep, category, 1, log[category], number, payload=pattern(size, number))
                    sent += 1
                given_up += scope.cancelled_caught
            for number in range(30):
                await send(ep, category, 1, log[category], 100 + number, payload=pattern(size, number))
            await ep.attach()
            return sent, given_up
        if ep.rank == 1:
            await ep.compute(8e-4)
            await ep.block_until(lambda: sum(one.args[0] >= 100 for one in log.seen) == 30)
        await ep.attach()
        return sum(one.args[0] < 100 for one in log.seen), 0

    values = case.run(main).values
    assert values[1][0] >= values[0][0]
    assert values[0][0] + values[0][1] == 30
    # The one send that is under way when time is up may arrive although its caller gave up.
    assert values[1][0] <= 30


@pytest.mark.rule("R76", "R77")
@pytest.mark.simulated  # its timeouts end at one instant
@pytest.mark.parametrize("turn", range(3))
def test_waits_for_a_slot_cancelled_at_the_instant_of_a_poll_lose_no_slot(case: Case, turn: int) -> None:
    """Their time is up just when a sibling comes out of its work, polls, and takes the replies in that free slots."""
    case = attrs.evolve(case.at_least(2), seed=case.seed + turn)
    rounds, period = 6, 1e-2

    async def ask(ep: Endpoint, log: Any, scope: trio.CancelScope) -> None:
        with scope:
            await ep.request_short(1, log.short, 0)

    async def crowd(ep: Endpoint, log: Any, start: float) -> None:
        """Wait for slots in many tasks, while rank 1 is busy; then work while it answers, until their time is up."""
        scopes = [trio.CancelScope() for _ in range(40)]
        async with trio.open_nursery() as nursery:
            for scope in scopes:
                nursery.start_soon(ask, ep, log, scope)
            await trio.sleep_until(start + 1e-3)
            end = ep.now + 5e-3
            for scope in scopes:
                scope.deadline = end
            await ep.compute(end - ep.now)
            await ep.poll()

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        begin = trio.current_time() + period
        for number in range(rounds if ep.rank < 2 else 0):
            start = begin + number * period
            await trio.sleep_until(start)
            if ep.rank == 0:
                await crowd(ep, log, start)
            else:
                await ep.compute(2e-3)
                with trio.move_on_at(start + period / 2):
                    await ep.block_until(lambda: False)
        for _ in range(100 if ep.rank == 0 else 0):
            await ep.request_short(1, log.short, 1)
        if ep.rank == 1:
            await ep.block_until(lambda: sum(one.args[0] for one in log.seen) >= 100)
        await ep.attach()
        return sum(one.args[0] for one in log.seen)

    assert case.run(main).values[1] == 100


@pytest.mark.rule("R77", "R43")
def test_a_cancelled_task_does_not_hold_up_its_siblings(case: Case) -> None:
    """Of several tasks in front of a full queue the middle ones give up; those behind them get their slots."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> list[int]:
        log = await attached(ep)
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                for task in range(12):
                    nursery.start_soon(_impatient, ep, log, task)
        if ep.rank == 1:
            await ep.compute(3e-4)
        await ep.attach()
        await linger(ep, 4e-3)
        return sorted(one.args[0] for one in log.seen)

    got = case.run(main).values[1]
    assert len(got) == len(set(got))
    assert {task for task in range(12) if task % 3 != 1} <= set(got)


async def _impatient(ep: Endpoint, log: Any, task: int) -> None:
    """Send one message; every third task waits only for a short time."""
    with trio.move_on_after(1e-6 * (1 + task) if task % 3 == 1 else 1.0):
        await ep.request_medium(1, log.medium, pattern(64, task), task)


@pytest.mark.rule("R75", "R65")
@pytest.mark.ends
def test_a_cancelled_attach_ends_the_job(case: Case) -> None:
    """The others could never leave it."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        if ep.rank == 0:
            with trio.move_on_after(1e-5):
                await ep.attach()
            await trio.sleep_forever()
        await ep.block_until(lambda: False)

    with pytest.raises(ConduitError, match=r"(?s)\A.*attach"):
        case.run(main)
