"""The end of a job: exits, errors, time limits, and what a program may still do."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import trio

from conduit import BadRequest, Deadlock, Endpoint, TimeLimit, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, attached, chain, names, neighbour, send


@pytest.mark.rule("R64")
@pytest.mark.parametrize("code", [0, 1, 7, 255])
@pytest.mark.ends
def test_exit_ends_the_job_everywhere(case: Case, code: int) -> None:
    """One rank exits; the others, which wait for ever or compute, end with it, and ``run`` raises its code."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == ep.size - 1:
            await ep.compute(1e-6)
            ep.exit(code)
        if ep.rank == 0:
            await ep.block_until(lambda: False)
        await trio.sleep_forever()

    with pytest.raises(SystemExit) as caught:
        case.run(main)
    assert caught.value.code == code


@pytest.mark.rule("R64")
@pytest.mark.ends
def test_exit_never_returns(case: Case) -> None:
    """It raises SystemExit where it is called; a program that catches that gets no further than its next call."""
    after: list[str] = []

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        with suppress(SystemExit):
            ep.exit(3)
        await ep.poll()
        after.append("went on")

    with pytest.raises(SystemExit) as caught:
        case.run(main)
    assert caught.value.code == 3
    assert after == []


@pytest.mark.rule("R64", "R32")
@pytest.mark.parametrize("where", ["request", "reply"])
@pytest.mark.ends
def test_handlers_may_exit(case: Case, where: str) -> None:
    """The job ends with the handler's code, not with an error of the handler."""

    async def main(ep: Endpoint) -> None:
        def leave(token: Token) -> None:
            ep.exit(9)

        def ask(token: Token) -> None:
            token.reply_short(leave)

        await ep.attach(leave, ask)
        if ep.rank == 0:
            await ep.request_short(neighbour(ep), leave if where == "request" else ask)
        await ep.block_until(lambda: False)

    with pytest.raises(SystemExit) as caught:
        case.run(main)
    assert caught.value.code == 9


@pytest.mark.rule("R64")
@pytest.mark.ends
def test_several_exits_end_with_one_of_their_codes(case: Case) -> None:
    """When many ranks exit at once, one of the codes is the job's."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        ep.exit(10 + ep.rank)

    with pytest.raises(SystemExit) as caught:
        case.run(main)
    assert caught.value.code in range(10, 10 + case.size)


@pytest.mark.rule("R64")
@pytest.mark.ends
def test_system_exit_in_a_rank_is_an_exit(case: Case) -> None:
    """``sys.exit`` and ``raise SystemExit`` do what ``ep.exit`` does."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == 0:
            raise SystemExit(5)
        await ep.block_until(lambda: False)

    with pytest.raises(SystemExit) as caught:
        case.run(main)
    assert caught.value.code == 5


@pytest.mark.rule("R64", "R39")
@pytest.mark.ends
def test_exit_does_not_wait_for_messages(case: Case) -> None:
    """What is still under way when a rank exits is dropped with the job; nothing hangs."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        for _ in range(3):
            await ep.request_medium(neighbour(ep), log.medium, bytes(100))
        ep.exit(2)

    with pytest.raises(SystemExit) as caught:
        case.run(main)
    assert caught.value.code == 2


class _Oops(Exception):
    """A program's own error."""


@pytest.mark.rule("R65")
@pytest.mark.ends
def test_an_exception_out_of_a_rank_is_raised_from_run(case: Case) -> None:
    """The same object, with a note that names rank and time; the other ranks end."""
    oops = _Oops("the very one")

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == ep.size - 1:
            await ep.compute(1e-6)
            raise oops
        await ep.block_until(lambda: False)

    with pytest.raises(_Oops, match=r"\Athe very one\n") as caught:
        case.run(main)
    assert caught.value is oops or not case.simulated
    names(chain(caught.value), f"rank {case.size - 1}")


@pytest.mark.rule("R65")
@pytest.mark.simulated
def test_of_several_errors_the_earliest_counts(case: Case) -> None:
    """Then the lowest rank."""
    case = case.at_least(2)

    async def main(ep: Endpoint, late: int) -> None:
        await ep.compute(1e-6 if ep.rank != late else 2e-6)
        raise _Oops(f"from {ep.rank}")

    with pytest.raises(_Oops, match=r"\Afrom 1\n"):
        case.run(main, 0)
    with pytest.raises(_Oops, match=r"\Afrom 0\n"):
        case.run(main, case.size - 1)


@pytest.mark.rule("R65")
@pytest.mark.ends
def test_an_error_before_attach_ends_the_job_too(case: Case) -> None:
    """The others wait in attach for a rank that never comes."""

    async def main(ep: Endpoint) -> None:
        if ep.rank == 0:
            raise _Oops("early")
        await ep.attach()

    with pytest.raises(_Oops, match=r"\Aearly\n"):
        case.run(main)


@pytest.mark.rule("R66", "R65")
@pytest.mark.ends
def test_cleaning_up_cannot_hang_the_job(case: Case) -> None:
    """A ``finally`` that waits, shielded or not, is cut short once the job is ending; plain code in it runs."""
    case = case.at_least(2)
    cleaned: list[int] = []

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise _Oops("the first")
        try:
            await ep.block_until(lambda: False)
        finally:
            cleaned.append(ep.rank)
            with trio.CancelScope(shield=True):
                await ep.block_until(lambda: False)

    with pytest.raises(_Oops, match=r"\Athe first\n"):
        case.run(main)
    if case.simulated:
        assert sorted(cleaned) == list(range(1, case.size))


@pytest.mark.rule("R66")
@pytest.mark.ends
def test_swallowing_the_end_does_not_keep_a_rank_alive(case: Case) -> None:
    """A program that catches everything still ends: each call of the endpoint raises again."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == 0:
            await ep.compute(1e-6)
            raise _Oops("enough")
        for _ in range(100):
            try:
                await ep.block_until(lambda: False)
            except BaseException as error:
                last = error
        raise last

    with pytest.raises(_Oops, match=r"\Aenough\n"):
        case.run(main)


@pytest.mark.rule("R66")
@pytest.mark.parametrize("how", ["well", "badly"])
@pytest.mark.ends
def test_calls_on_an_endpoint_that_was_kept_are_refused(case: Case, how: str) -> None:
    """When its job is over, however it ended; what the endpoint knows can still be read."""
    kept: list[Endpoint] = []

    def hello(token: Token) -> None:
        pass

    async def main(ep: Endpoint) -> None:
        await ep.attach(hello)
        kept.append(ep)
        if how == "badly":
            raise _Oops("so be it")

    with suppress(_Oops):
        case.run(main)
    assert len(kept) == (case.size if case.together else 1) or how == "badly"
    ep = kept[0]
    calls: list[Callable[[], Awaitable[object]]] = [
        ep.poll,
        ep.attach,
        lambda: ep.block_until(lambda: True),
        lambda: ep.compute(1e-6),
        lambda: ep.request_short(neighbour(ep), hello),
        lambda: ep.request_short(ep.rank, hello),
    ]
    for call in calls:

        async def late(call: Callable[[], Awaitable[object]] = call) -> None:
            await call()

        with pytest.raises(BadRequest, match=rf"rank {ep.rank} of a job that is over; make calls while"):
            trio.run(late)
    assert ep.now >= 0.0
    assert ep.counts.requests_sent == 0


@pytest.mark.rule("R68")
@pytest.mark.simulated
def test_a_time_limit_ends_a_job_that_something_keeps_alive(case: Case) -> None:
    """Simulated seconds; the report says what each rank waits for."""

    async def main(ep: Endpoint) -> None:
        await ep.attach()
        if ep.rank == 0:
            await ep.block_until(lambda: False, what="nothing at all")
        while True:
            await ep.compute(1e-3)

    case = case.at_least(2)
    with pytest.raises(TimeLimit, match=r"(?s)\A.*nothing at all"):
        case.run(main, time_limit=0.1)


@pytest.mark.rule("R68")
@pytest.mark.simulated
def test_a_time_limit_does_not_touch_a_job_that_keeps_it(case: Case) -> None:
    """The result is the same as without."""

    async def main(ep: Endpoint) -> float:
        await ep.attach()
        await ep.compute(1e-5)
        return ep.now

    free, limited = case.run(main, time_limit=None), case.run(main, time_limit=50.0)
    assert list(free.values) == list(limited.values)
    assert free.digest == limited.digest


@pytest.mark.rule("R69")
def test_exit_functions_run_last_first_once_main_has_returned(case: Case) -> None:
    """They may send and wait, while other ranks are still in their programs."""

    async def main(ep: Endpoint) -> list[str]:
        order: list[str] = []
        log = await attached(ep)

        async def first() -> None:
            await ep.request_short(neighbour(ep), log.short, 1)
            order.append("first")

        async def second() -> None:
            await ep.poll()
            order.append("second")

        ep.on_exit(first)
        ep.on_exit(second)
        if ep.rank == 0:
            await ep.compute(1e-4)
        order.append("main")
        return order

    result = case.run(main)
    assert list(result.values) == [["main", "second", "first"]] * case.size
    assert [counts["requests_handled"] for counts in result.statistics] == [1] * case.size


@pytest.mark.rule("R69")
@pytest.mark.parametrize("how", ["error", "exit"])
@pytest.mark.ends
def test_exit_functions_do_not_run_after_an_error_or_exit(case: Case, how: str) -> None:
    """There is nothing left to put in order."""
    ran: list[int] = []

    async def main(ep: Endpoint) -> None:
        async def tidy() -> None:
            ran.append(ep.rank)

        ep.on_exit(tidy)
        await ep.attach()
        if how == "exit":
            ep.exit(1)
        raise _Oops("no")

    with pytest.raises((_Oops, SystemExit)):
        case.run(main)
    assert ran == []


@pytest.mark.rule("R69", "R65")
@pytest.mark.ends
def test_an_error_in_an_exit_function_ends_the_job(case: Case) -> None:
    """As if the program had raised it."""

    async def main(ep: Endpoint) -> None:
        async def tidy() -> None:
            if ep.rank == 0:
                raise _Oops("while tidying")

        ep.on_exit(tidy)
        await ep.attach()

    with pytest.raises(_Oops, match=r"\Awhile tidying\n"):
        case.run(main)


@pytest.mark.rule("R1", "R65")
def test_any_value_may_be_returned(case: Case) -> None:
    """Exceptions and None included: a returned error is a value, not an error."""

    async def main(ep: Endpoint) -> Any:
        await ep.attach()
        return (None, ValueError("a value"), [ep.rank])[ep.rank % 3]

    values = case.run(main).values
    assert values[0] is None
    assert len(values) < 2 or isinstance(values[1], ValueError)


@pytest.mark.rule("R67", "R48")
@pytest.mark.simulated
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_flood_to_a_rank_that_never_polls_comes_to_rest(case: Case, category: str) -> None:
    """Everything that it can hold is sent; then nothing can happen, and nothing is tried for ever."""
    case = case.at_least(2)
    size = 0 if category == "short" else min(case.limits.max_medium, case.longest(), 300)

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        if ep.rank == 1:
            await trio.sleep_forever()
        for number in range(2000 if ep.rank == 0 else 0):
            await send(ep, category, 1, log[category], number, payload=pattern(size, number))

    with pytest.raises(Deadlock, match=r"(?s)rank 0: .*slot"):
        case.run(main)


@pytest.mark.rule("R67")
@pytest.mark.simulated
def test_a_deadlock_says_how_many_messages_nobody_has_handled(case: Case) -> None:
    """They have come to a rank that does not poll."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        if ep.rank == 1:
            await trio.sleep_forever()
        if ep.rank == 0:
            await ep.request_short(1, log.short)
        await ep.block_until(lambda: False)

    with pytest.raises(Deadlock, match=r"\b1 message\b"):
        case.run(main)


@pytest.mark.rule("R67")
@pytest.mark.simulated
def test_a_deadlock_says_of_whom_unhandled_messages_are(case: Case) -> None:
    """Two ranks have sent one each to a rank that does not poll; what is told of messages and of room is true."""
    case = case.at_least(3)

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        if ep.rank == 1:
            await trio.sleep_forever()
        if ep.rank == 0:
            await ep.request_short(1, log.short)
        if ep.rank == 2:
            await ep.request_medium(1, log.medium, b"abc")
        await ep.block_until(lambda: False)

    with pytest.raises(Deadlock) as caught:
        case.run(main)
    assert "this report lacks" not in str(caught.value), caught.value
    records = caught.value.report.ranks
    told = [(each.source, each.handler.rpartition(".")[2], each.request, each.count) for each in records[1].unhandled]
    sent = [(0, "short", True, 1), (2, "medium", True, 1)]
    assert records[1].undelivered == 2, f"undelivered() of rank 1 says {records[1].undelivered}; 2 messages are there"
    assert set(told) <= set(sent), f"unhandled() of rank 1 says {told}, and sent were {sent}: source, handler, request"
    for record in (records[1], *records[3:]):
        assert not record.slots_in_use, (
            f"slots_in_use() of rank {record.rank} says {record.slots_in_use}; it has sent nothing"
        )
