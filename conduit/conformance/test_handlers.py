"""Handlers: one at a time, what they may do, and what becomes of one that fails."""

from functools import partial
from typing import Any

import pytest
import trio

from conduit import ConduitError, Endpoint, HandlerError, Token
from conduit.conformance.cases import Case
from conduit.conformance.programs import attached, chain, names, neighbour, refusal


@pytest.mark.rule("R30")
def test_handlers_of_a_rank_run_one_at_a_time(case: Case) -> None:
    """No handler starts within another, except that of a reply to the rank itself, within the call that makes it."""
    count = 12

    async def main(ep: Endpoint) -> tuple[int, list[str]]:
        inside: list[str] = []
        wrong: list[str] = []
        done = 0

        def ask(token: Token, origin: int) -> None:
            if inside:
                wrong.append(f"request within {inside}")
            inside.append("request")
            token.reply_short(told, origin)
            inside.remove("request")

        def told(token: Token, origin: int) -> None:
            nonlocal done
            if inside and not (inside == ["request"] and token.rank == ep.rank):
                wrong.append(f"reply from {token.rank} within {inside}")
            inside.append("reply")
            done += 1
            inside.remove("reply")

        await ep.attach(ask, told)
        for turn in range(count):
            await ep.request_short((ep.rank + turn) % ep.size, ask, ep.rank)
        await ep.block_until(lambda: done == count)
        return done, wrong

    assert list(case.run(main).values) == [(count, [])] * case.size


FORBIDDEN = (
    "request_short",
    "request_medium",
    "request_long",
    "request_long_async",
    "poll",
    "block_until",
    "compute",
    "attach",
)


@pytest.mark.rule("R31", "R25")
@pytest.mark.parametrize("where", ["request", "reply"])
def test_handlers_may_neither_send_requests_nor_wait(case: Case, where: str) -> None:
    """Each such call is refused on the spot and by name, in handlers of requests and of replies; nothing is sent."""

    async def main(ep: Endpoint) -> list[str]:
        refused: list[str] = []

        def ask(token: Token) -> None:
            if where == "request":
                misbehave()
            token.reply_short(last)

        def last(token: Token) -> None:
            if where == "reply":
                misbehave()

        def misbehave() -> None:
            calls: dict[str, Any] = {
                "request_short": partial(ep.request_short, 0, log.short),
                "request_medium": partial(ep.request_medium, 0, log.medium, b"x"),
                "request_long": partial(ep.request_long, 0, log.long, b"x", 0),
                "request_long_async": partial(ep.request_long_async, 0, log.long, b"x", 0),
                "poll": ep.poll,
                "block_until": partial(ep.block_until, bool),
                "compute": partial(ep.compute, 1e-9),
                "attach": ep.attach,
            }
            for name in FORBIDDEN:
                message = refusal(calls[name], HandlerError)
                names(message, "handler")
                assert name in message, message
                refused.append(name)

        log = await attached(ep, ask, last)
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: len(refused) == len(FORBIDDEN))
        await ep.attach()
        assert log.seen == []
        return refused

    assert list(case.run(main).values) == [list(FORBIDDEN)] * case.size


@pytest.mark.rule("R31", "R33")
@pytest.mark.ends
def test_a_forbidden_call_that_nobody_catches_ends_the_job(case: Case) -> None:
    """It names the handler and its rank."""

    async def main(ep: Endpoint) -> None:
        def pushy(token: Token) -> None:
            _ = ep.request_short(0, pushy)

        await ep.attach(pushy)
        if ep.rank == 0:
            await ep.request_short(ep.size - 1, pushy)
        await ep.block_until(lambda: False)

    with pytest.raises(HandlerError, match=r"(?s)\A.*request_short") as caught:
        case.run(main)
    names(chain(caught.value), "pushy", case.size - 1)


@pytest.mark.rule("R32")
def test_handlers_may_ask_and_do_what_takes_no_waiting(case: Case) -> None:
    """Ranks, limits, segments, hosts, time and the plain calls for layers above are there in every handler."""

    async def main(ep: Endpoint) -> tuple[int, int]:
        done: list[bool] = []

        def look(token: Token) -> bool:
            mine = token.ep
            mine.charge(1e-9)
            mine.warn("from a handler")
            mine.segment[0] = 7
            sizes = {mine.segment_size(rank) for rank in range(mine.size)}
            hosts = [mine.host_of(rank) for rank in range(mine.size)]
            good = sizes == {64} and hosts[mine.rank] == mine.host and mine.rank in mine.ranks_on_host
            return good and mine.limits.max_args >= 16 and mine.now >= 0.0 and 0 <= mine.random.random() < 1

        def ask(token: Token) -> None:
            done.append(look(token))
            token.reply_short(last)

        def last(token: Token) -> None:
            done.append(look(token))

        await ep.attach(ask, last)
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: len(done) == 2)
        assert all(done)
        return len(done), int(ep.segment[0])

    with case.warns("from a handler"):
        result = case.run(main, segment=64)
    assert list(result.values) == [(2, 7)] * case.size


class _Oops(Exception):
    """What a program of its own might raise."""


@pytest.mark.rule("R33")
@pytest.mark.parametrize("where", ["request", "reply"])
@pytest.mark.ends
def test_a_handler_that_raises_ends_the_job(case: Case, where: str) -> None:
    """``run`` raises HandlerError made from it, which names the rank, the handler and the sender."""

    async def main(ep: Endpoint) -> None:
        def failing(token: Token) -> None:
            raise _Oops("the reason")

        def ask(token: Token) -> None:
            token.reply_short(failing)

        await ep.attach(failing, ask)
        if ep.rank == 0:
            await ep.request_short(ep.size - 1, failing if where == "request" else ask)
        await ep.block_until(lambda: False)

    with pytest.raises(HandlerError, match=r"(?s)\A.*\bfailing\b") as caught:
        case.run(main)
    assert isinstance(caught.value.__cause__, _Oops)
    failed, sender = (case.size - 1, 0) if where == "request" else (0, case.size - 1)
    names(chain(caught.value), f"rank {failed}", sender)


class _Finding(ConduitError):
    """An error that a layer above the core defines."""


@pytest.mark.rule("R33")
@pytest.mark.ends
def test_a_layers_own_error_passes_out_of_a_handler_as_it_is(case: Case) -> None:
    """A ConduitError is not wrapped; a note names rank, handler and sender."""

    async def main(ep: Endpoint) -> None:
        def failing(token: Token) -> None:
            raise _Finding("what was found")

        await ep.attach(failing)
        if ep.rank == 0:
            await ep.request_short(ep.size - 1, failing)
        await ep.block_until(lambda: False)

    with pytest.raises(_Finding, match=r"\Awhat was found\n") as caught:
        case.run(main)
    names(chain(caught.value), "failing", f"rank {case.size - 1}")


@pytest.mark.rule("R34")
def test_handlers_do_not_run_while_a_rank_computes_or_waits_for_trio(case: Case) -> None:
    """Only calls that poll run handlers; what came in the meantime is handled by the next one."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> list[int]:
        log = await attached(ep)
        if ep.rank != 1:
            if ep.rank == 0:
                await ep.request_short(1, log.short)
            return [0, 0, 1]
        await ep.compute(1e-2)
        computed = len(log.seen)
        await trio.sleep(1e-2)
        slept = len(log.seen)
        if ep.simulated:
            await ep.poll()
        else:  # where nothing says that it has come by now
            await ep.block_until(lambda: log.seen)
        return [computed, slept, len(log.seen)]

    assert list(case.run(main).values) == [[0, 0, 1]] * case.size


@pytest.mark.rule("R34", "R43")
def test_a_handler_may_wake_a_task_through_a_trio_event(case: Case) -> None:
    """A task that waits for an event of Trio's goes on when a handler sets it while another task polls."""

    async def main(ep: Endpoint) -> list[str]:
        order: list[str] = []
        event = trio.Event()

        def ring(token: Token) -> None:
            order.append("handler")
            event.set()

        async def sleeper() -> None:
            await event.wait()
            order.append("task")

        await ep.attach(ring)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(sleeper)
            await ep.request_short(neighbour(ep), ring)
            await ep.block_until(event.is_set)
        return order

    assert list(case.run(main).values) == [["handler", "task"]] * case.size


@pytest.mark.rule("R34")
def test_a_handler_may_start_a_task(case: Case) -> None:
    """What a handler may not do itself a task that it starts may: send a request of its own."""

    async def main(ep: Endpoint) -> tuple[int, ...]:
        async def answer(dest: int, number: int) -> None:
            await ep.request_short(dest, log.short, number)

        async with trio.open_nursery() as nursery:

            def ask(token: Token, number: int) -> None:
                nursery.start_soon(answer, token.rank, number + 1)

            log = await attached(ep, ask)
            await ep.request_short(neighbour(ep), ask, ep.rank)
            await log.until(1)
            # Everyone has its answer, so no handler will start a task any more.
            await ep.attach()
        return log.seen[0].args

    assert list(case.run(main).values) == [(rank + 1,) for rank in range(case.size)]


@pytest.mark.rule("R32")
def test_what_a_handler_returns_is_of_no_account(case: Case) -> None:
    """A value that a handler gives back is neither sent nor an error."""

    async def main(ep: Endpoint) -> int:
        got: list[int] = []

        def handler(token: Token) -> Any:
            got.append(1)
            return "ignored"

        await ep.attach(handler)
        await ep.request_short(neighbour(ep), handler)
        await ep.block_until(lambda: bool(got))
        return len(got)

    assert list(case.run(main).values) == [1] * case.size
