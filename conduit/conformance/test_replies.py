"""Replies and tokens."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import BadRequest, Endpoint, HandlerError, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import first_difference, pattern
from conduit.conformance.programs import CATEGORIES, answer, attached, more_than, names, neighbour, refusal, send


@pytest.mark.rule("R22")
@pytest.mark.parametrize("asked", [*CATEGORIES, "long_async"])
def test_any_request_may_be_answered_by_any_reply(case: Case, asked: str) -> None:
    """Short, medium and long replies to each request, contents checked at both ends."""
    size = min(case.limits.max_medium, case.longest(), case.longest(reply=True), 300)

    async def main(ep: Endpoint) -> tuple[int, set[Any]]:
        good = 0

        def ask(token: Token, *rest: Any) -> None:
            nonlocal good
            args = rest if asked == "short" else rest[1:]
            if asked != "short":
                assert bytes(rest[0]) == pattern(size, args[0])
            good += 1
            kind = CATEGORIES[args[0]]
            answer(token, kind, log[kind], args[0], ep.rank, payload=pattern(size, args[0] + 50), offset=args[0] * size)

        log = await attached(ep, ask)
        for number in range(3):
            offset = (3 + number) * size
            await send(ep, asked, neighbour(ep), ask, number, payload=pattern(size, number), offset=offset)
            await log.until(number + 1)
        await ep.block_until(lambda: good == 3)
        return good, {(one.category, one.rank, one.is_request, one.args, one.payload) for one in log.seen}

    for rank, (good, seen) in enumerate(case.run(main).values):
        peer = (rank + 1) % case.size
        payloads = [None, pattern(size, 51), pattern(size, 52)]
        assert good == 3
        assert seen == {(CATEGORIES[n], peer, False, (n, peer), payloads[n]) for n in range(3)}


@pytest.mark.rule("R22")
def test_replies_go_to_the_requester_alone(case: Case) -> None:
    """Everyone asks everyone; each gets the answers to its own questions and no other."""

    async def main(ep: Endpoint) -> list[tuple[int, int, int]]:
        got: list[tuple[int, int, int]] = []

        def ask(token: Token, origin: int) -> None:
            token.reply_short(told, origin, ep.rank)

        def told(token: Token, origin: int, by: int) -> None:
            got.append((token.rank, origin, by))

        await ep.attach(ask, told)
        for step in range(ep.size):
            await ep.request_short((ep.rank + step) % ep.size, ask, ep.rank)
        await ep.block_until(lambda: len(got) == ep.size)
        return sorted(got)

    expected = [[(peer, rank, peer) for peer in range(case.size)] for rank in range(case.size)]
    assert list(case.run(main).values) == expected


@pytest.mark.rule("R23")
@pytest.mark.parametrize("category", CATEGORIES)
def test_requests_need_no_reply(case: Case, category: str) -> None:
    """More unanswered requests than any queue holds, and the sender waits for nothing from its programs."""
    count = 40

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        for number in range(count):
            await send(ep, category, neighbour(ep), log[category], number, payload=b"abc", offset=number * 3)
        return len(await log.until(count))

    assert list(case.run(main).values) == [count] * case.size


@pytest.mark.rule("R23", "R22")
def test_answered_and_unanswered_requests_may_mix(case: Case) -> None:
    """Whether a handler replies is its own choice, each time."""
    count = 48

    async def main(ep: Endpoint) -> tuple[int, list[int]]:
        asked = 0
        back: list[int] = []

        def ask(token: Token, number: int) -> None:
            nonlocal asked
            asked += 1
            if number % 3 == 0:
                token.reply_short(told, number)
            elif number % 7 == 0:
                token.reply_medium(tell, b"m", number)

        def told(token: Token, number: int) -> None:
            back.append(number)

        def tell(token: Token, payload: memoryview, number: int) -> None:
            back.append(number)

        await ep.attach(ask, told, tell)
        for number in range(count):
            await ep.request_short(neighbour(ep), ask, number)
        expected = [number for number in range(count) if number % 3 == 0 or number % 7 == 0]
        await ep.block_until(lambda: len(back) == len(expected) and asked == count)
        return asked, sorted(back)

    expected = [number for number in range(count) if number % 3 == 0 or number % 7 == 0]
    assert list(case.run(main).values) == [(count, expected)] * case.size


@pytest.mark.rule("R24")
@pytest.mark.parametrize("category", CATEGORIES)
def test_a_second_reply_is_refused(case: Case, category: str) -> None:
    """The first one counts and arrives; the second raises in the handler."""

    async def main(ep: Endpoint) -> tuple[int, str]:
        refused: list[str] = []

        def ask(token: Token) -> None:
            token.reply_short(log.short, 1)
            refused.append(
                refusal(lambda: answer(token, category, log[category], 2, payload=b"x", offset=0), HandlerError)
            )

        log = await attached(ep, ask)
        await ep.request_short(neighbour(ep), ask)
        await log.until(1)
        await ep.block_until(lambda: bool(refused))
        await ep.attach()
        return len(log.seen), refused[0]

    for count, message in case.run(main).values:
        assert count == 1
        assert "repl" in message


@pytest.mark.rule("R24", "R33")
@pytest.mark.ends
def test_a_second_reply_ends_the_job_if_nobody_catches_it(case: Case) -> None:
    """The error names the handler and the rank."""

    async def main(ep: Endpoint) -> None:
        def greedy(token: Token) -> None:
            token.reply_short(log.short)
            token.reply_short(log.short)

        log = await attached(ep, greedy)
        if ep.rank == 0:
            await ep.request_short(ep.size - 1, greedy)
        await ep.block_until(lambda: False)

    with pytest.raises(HandlerError, match=r"(?s)\A.*repl") as caught:
        case.run(main)
    names("\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])]), "greedy", case.size - 1)


@pytest.mark.rule("R25")
@pytest.mark.parametrize("asked", CATEGORIES)
@pytest.mark.parametrize("category", CATEGORIES)
def test_reply_handlers_may_not_reply(case: Case, asked: str, category: str) -> None:
    """A reply is the end of the exchange, whatever its category."""

    async def main(ep: Endpoint) -> str:
        refused: list[str] = []

        def ask(token: Token) -> None:
            answer(token, asked, last, payload=b"x")

        def last(token: Token, *rest: Any) -> None:
            assert not token.is_request
            refused.append(refusal(lambda: answer(token, category, log[category], payload=b"x"), HandlerError))

        log = await attached(ep, ask, last)
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: bool(refused))
        await ep.attach()
        assert log.seen == []
        return refused[0]

    for message in case.run(main).values:
        assert "repl" in message


@pytest.mark.rule("R26")
def test_a_token_is_dead_once_its_handler_returned(case: Case) -> None:
    """Neither the program nor another handler can reply with it, in any category."""

    async def main(ep: Endpoint) -> list[str]:
        kept: list[Token] = []
        refused: list[str] = []

        def keep(token: Token) -> None:
            kept.append(token)

        def try_later(token: Token) -> None:
            refused.append(refusal(lambda: kept[0].reply_short(log.short), HandlerError))
            token.reply_short(log.short)

        log = await attached(ep, keep, try_later)
        await ep.request_short(neighbour(ep), keep)
        await ep.block_until(lambda: bool(kept))
        for category in CATEGORIES:
            handler = log[category]
            refused.append(refusal(partial(answer, kept[0], category, handler, payload=b"x"), HandlerError))
        await ep.attach()
        await ep.request_short(neighbour(ep), try_later)
        await log.until(1)
        await ep.block_until(lambda: len(refused) == 4)
        assert len(log.seen) == 1
        return refused

    for messages in case.run(main).values:
        for message in messages:
            names(message, "handler")


@pytest.mark.rule("R27")
def test_tokens_tell_sender_kind_and_endpoint(case: Case) -> None:
    """In requests and replies, among all ranks."""

    async def main(ep: Endpoint) -> list[tuple[int, bool, bool, int]]:
        told: list[tuple[int, bool, bool, int]] = []

        def ask(token: Token, origin: int) -> None:
            told.append((token.rank, token.is_request, token.ep is ep, origin))
            token.reply_short(answered, ep.rank)

        def answered(token: Token, origin: int) -> None:
            told.append((token.rank, token.is_request, token.ep is ep, origin))

        await ep.attach(ask, answered)
        for dest in range(ep.size):
            await ep.request_short(dest, ask, ep.rank)
        await ep.block_until(lambda: len(told) == 2 * ep.size)
        return sorted(told)

    expected = sorted((rank, kind, True, rank) for rank in range(case.size) for kind in (False, True))
    assert list(case.run(main).values) == [expected] * case.size


@pytest.mark.rule("R28")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_reply_source_may_be_scribbled_over_at_once(case: Case, category: str) -> None:
    """A reply takes its payload in the call, from any buffer outside the segment."""
    limit = case.limits.max_medium if category == "medium" else case.longest(reply=True, at_most=5000)
    sizes = [size for size in case.sizes(min(limit, 5000)) if size][-16:]

    async def main(ep: Endpoint) -> bool:
        buffer = np.zeros(max(sizes), np.uint8)

        def ask(token: Token, number: int, offset: int) -> None:
            size = sizes[number]
            buffer[:size] = np.frombuffer(pattern(size, number), np.uint8)
            answer(token, category, log[category], number, payload=buffer[:size], offset=offset)
            buffer[:] = 0x77

        log = await attached(ep, ask)
        for number in range(len(sizes)):
            await ep.request_short(neighbour(ep), ask, number, sum(sizes[:number]))
        seen = await log.until(len(sizes))
        return all(one.payload == pattern(sizes[one.args[0]], one.args[0]) for one in seen)

    assert all(case.run(main, segment=sum(sizes)).values)


@pytest.mark.rule("R28", "R22")
def test_long_reply_from_the_own_segment(case: Case) -> None:
    """A long reply may come straight out of the replier's segment, which it leaves alone until it has arrived."""
    size = min(case.longest(), case.longest(reply=True), 5000)

    async def main(ep: Endpoint) -> bool:
        ep.segment[size:] = np.frombuffer(pattern(size, ep.rank), np.uint8)

        def ask(token: Token, start: int) -> None:
            token.reply_long(log.long, ep.segment[size + start :], start, start)

        log = await attached(ep, ask)
        for turn, start in enumerate((0, 1, 7, size // 2, size - 1)):
            await ep.request_short(neighbour(ep), ask, start)
            await log.until(turn + 1)
        expected = pattern(size, neighbour(ep))
        return all(one.payload == expected[one.args[0] :] for one in log.seen) and bytes(ep.segment[:size]) == expected

    assert all(case.run(main, segment=2 * size).values)


@pytest.mark.rule("R15", "R22", "R28")
@pytest.mark.parametrize("own", [False, True], ids=["buffer", "segment"])
def test_long_replies_of_every_pair_of_offsets_modulo_8(case: Case, own: bool) -> None:
    """The 64 combinations of source and destination, in sizes below and above every threshold."""
    ceiling = min(case.longest(reply=True), 5000)
    sizes = [size for size in (1, 8, 33, 400, *(edge + 21 for edge in case.thresholds), ceiling) if size <= ceiling]
    room = ceiling + 64

    async def main(ep: Endpoint) -> list[tuple[int, int, str]]:
        wrong: list[tuple[int, int, str]] = []
        done: list[int] = []
        source = ep.segment[room:] if own else np.zeros(room, np.uint8)

        def ask(token: Token, start: int, place: int, nbytes: int) -> None:
            piece = source[start : start + nbytes]
            piece[:] = np.frombuffer(pattern(nbytes, start * 8 + place), np.uint8)
            token.reply_long(check, piece, 8 + place, start, place, nbytes)

        def check(token: Token, payload: memoryview, start: int, place: int, nbytes: int) -> None:
            around = bytes(ep.segment[place : nbytes + place + 16])
            expected = bytes(8) + pattern(nbytes, start * 8 + place) + bytes(8)
            if around != expected:
                wrong.append((start, place, first_difference(around, expected)))
            payload[:] = bytes(nbytes)
            done.append(1)

        await ep.attach(ask, check)
        for index in range(64 if ep.rank < 2 else 3):
            nbytes = sizes[(index + index // 8) % len(sizes)]
            await ep.request_short(neighbour(ep), ask, index // 8, index % 8, nbytes)
            await ep.block_until(more_than(done, index))
        return wrong

    assert list(case.run(main, segment=2 * room).values) == [[]] * case.size


@pytest.mark.rule("R29", "R60")
def test_wrong_arguments_of_replies_are_refused_and_cost_nothing(case: Case) -> None:
    """Refused in the handler, with the same words as a request; the right reply can still be made."""

    async def main(ep: Endpoint) -> int:
        def stranger(token: Token) -> None:
            """A function that nobody attached."""

        def ask(token: Token) -> None:
            names(refusal(lambda: token.reply_short(stranger)), "handler", "stranger")
            names(refusal(lambda: token.reply_short(log.short, 2**32)), 2**32)
            names(refusal(lambda: token.reply_short(log.short, 1.5)), "float")
            names(refusal(lambda: token.reply_medium(log.medium, "text")), "payload", "str")
            names(refusal(lambda: token.reply_long(log.long, b"x", -1)), "offset", -1)
            names(refusal(lambda: token.reply_long(log.long, b"x", 0.5)), "offset", "float")  # type: ignore[arg-type]
            token.reply_short(log.short, 1)

        log = await attached(ep, ask)
        await ep.request_short(neighbour(ep), ask)
        await log.until(1)
        return len(log.seen)

    assert list(case.run(main).values) == [1] * case.size


@pytest.mark.rule("R29", "R33")
@pytest.mark.ends
def test_a_wrong_reply_that_nobody_catches_ends_the_job(case: Case) -> None:
    """It is an error of the handler, made from the refusal."""

    async def main(ep: Endpoint) -> None:
        def clumsy(token: Token) -> None:
            token.reply_long(log.long, b"x", -1)

        log = await attached(ep, clumsy)
        await ep.request_short(neighbour(ep), clumsy)
        await ep.block_until(lambda: False)

    with pytest.raises(HandlerError, match=r"(?s)\A.*\bclumsy\b") as caught:
        case.run(main)
    assert isinstance(caught.value.__cause__, BadRequest)
