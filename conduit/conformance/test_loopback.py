"""Messages of a rank to itself."""

from typing import Any

import numpy as np
import pytest

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, answer, attached, holds, neighbour, send


@pytest.mark.rule("R52", "R22")
@pytest.mark.parametrize("asked", [*CATEGORIES, "long_async"])
def test_a_rank_may_ask_itself(case: Case, asked: str) -> None:
    """Every request and every reply works towards the own rank, contents included."""

    async def main(ep: Endpoint) -> set[Any]:
        def ask(token: Token, *rest: Any) -> None:
            args = rest if asked == "short" else rest[1:]
            assert token.rank == ep.rank
            assert asked == "short" or bytes(rest[0]) == pattern(100, args[0])
            kind = CATEGORIES[args[0]]
            answer(token, kind, log[kind], -args[0], payload=pattern(100, 9), offset=500)

        log = await attached(ep, ask)
        for kind in range(3):
            await send(ep, asked, ep.rank, ask, kind, payload=pattern(100, kind), offset=200)
            await log.until(kind + 1)
        return {(one.category, one.rank, one.is_request, one.args, one.payload) for one in log.seen}

    for rank, seen in enumerate(case.run(main).values):
        payloads = [None, pattern(100, 9), pattern(100, 9)]
        assert seen == {(CATEGORIES[n], rank, False, (-n,), payloads[n]) for n in range(3)}


@pytest.mark.rule("R52")
def test_a_rank_floods_itself(case: Case) -> None:
    """More messages than any queue holds, with and without replies, and the handlers stay shallow."""
    count = 300

    async def main(ep: Endpoint) -> tuple[int, int]:
        asked = told = 0

        def ask(token: Token, number: int) -> None:
            nonlocal asked
            asked += 1
            if number % 2:
                token.reply_short(tell)

        def tell(token: Token) -> None:
            nonlocal told
            told += 1

        await ep.attach(ask, tell)
        for number in range(count):
            await ep.request_short(ep.rank, ask, number)
        await ep.block_until(lambda: asked == count and told == count // 2)
        return asked, told

    assert list(case.run(main).values) == [(count, count // 2)] * case.size


@pytest.mark.rule("R52", "R50")
def test_self_sends_during_other_traffic(case: Case) -> None:
    """They mix with what comes from and goes to other ranks."""
    count = 15

    async def main(ep: Endpoint) -> tuple[int, int]:
        def ask(token: Token, payload: memoryview, number: int) -> None:
            token.reply_medium(log.medium, payload, number)

        log = await attached(ep, ask)
        for number in range(count):
            await ep.request_medium(neighbour(ep), ask, pattern(120, number), number)
            await ep.request_medium(ep.rank, ask, pattern(120, number), number)
            await ep.request_long(ep.rank, log.long, pattern(120, number), 120 * number, number)
        seen = await log.until(3 * count)
        return len(seen), sum(one.payload == pattern(120, one.args[0]) for one in seen)

    assert list(case.run(main).values) == [(3 * count, 3 * count)] * case.size


@pytest.mark.rule("R53", "R35")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_sender_and_handler_of_one_rank_do_not_share_the_buffer(case: Case, category: str) -> None:
    """The handler scribbles over its payload, the sender over its source; neither sees the other's doing."""

    async def main(ep: Endpoint) -> tuple[bool, bool]:
        good: list[bool] = []

        def handler(token: Token, payload: memoryview, number: int) -> None:
            good.append(bytes(payload) == pattern(80, number))
            payload[:] = bytes(80)

        await ep.attach(handler)
        source = np.zeros(80, np.uint8)
        kept = True
        for number in range(5):
            source[:] = np.frombuffer(pattern(80, number), np.uint8)
            await send(ep, category, ep.rank, handler, number, payload=source, offset=100 + 80 * number)
            kept = kept and bytes(source) == pattern(80, number)
            source[:] = 0xFF
        await ep.block_until(lambda: len(good) == 5)
        return all(good), kept

    assert list(case.run(main).values) == [(True, True)] * case.size


@pytest.mark.rule("R52", "R31")
def test_a_self_send_obeys_the_rules_of_handlers(case: Case) -> None:
    """A chain of messages to oneself goes on by the program, one link per message."""

    async def main(ep: Endpoint) -> list[int]:
        got: list[int] = []

        def link(token: Token, number: int) -> None:
            assert token.is_request
            got.append(number)

        await ep.attach(link)
        for number in range(10):
            await ep.request_short(ep.rank, link, number)
            await ep.block_until(holds(got, number))
        return got

    assert list(case.run(main).values) == [list(range(10))] * case.size


@pytest.mark.rule("R52")
def test_a_job_of_one_rank(case: Case) -> None:
    """Alone, a rank is its own neighbour in everything."""
    case = case.with_ranks(1)

    async def main(ep: Endpoint) -> tuple[int, int, bool]:
        log = await attached(ep)
        await ep.attach()
        await ep.request_short(0, log.short)
        await ep.request_long(0, log.long, b"xyz", 3)
        await log.until(2)
        return ep.size, ep.rank, bytes(ep.segment[2:7]) == b"\0xyz\0"

    assert list(case.run(main).values) == [(1, 0, True)]
