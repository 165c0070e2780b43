"""Flow control: crowds, floods, full queues, and no deadlock."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, MessageLog, answer, attached, linger, neighbour, send

MOST = 2000
"""Requests that no network lets out to a rank which does not poll."""
PATIENCE = 2.0
"""Simulated seconds for which a request has to wait before there is taken to be no room for it."""
BUSY = 0.5
"""Simulated seconds for which a rank does not poll."""
TRAFFIC, MUCH_TRAFFIC = 60, 720


def _payload_size(case: Case, category: str, at_most: int = 600) -> int:
    if category == "short":
        return 0
    if category == "medium":
        return int(min(case.limits.max_medium, at_most))
    return min(case.longest(), case.longest(reply=True), at_most)


@pytest.mark.rule("R50")
@pytest.mark.crowds
@pytest.mark.parametrize("category", CATEGORIES)
def test_flood_one_way(case: Case, category: str) -> None:
    """Everyone floods the next rank without waiting for anything."""
    size, count = _payload_size(case, category), 30

    async def main(ep: Endpoint) -> bool:
        log = await attached(ep)
        data = pattern(size, ep.rank)
        for number in range(count):
            await send(ep, category, neighbour(ep), log[category], number, payload=data, offset=number * size)
        seen = await log.until(count)
        source = (ep.rank - 1) % ep.size
        intact = category == "short" or all(one.payload == pattern(size, source) for one in seen)
        return intact and sorted(one.args[0] for one in seen) == list(range(count))

    assert all(case.run(main).values)


@pytest.mark.rule("R50", "R49")
@pytest.mark.crowds
@pytest.mark.parametrize("category", CATEGORIES)
def test_flood_both_ways_with_replies(case: Case, category: str) -> None:
    """Neighbours flood each other from both sides, and every request is answered in kind."""
    size, count = _payload_size(case, category, 400), 12

    async def main(ep: Endpoint) -> tuple[int, int]:
        asked = 0
        key = 5

        def ask(token: Token, *rest: int) -> None:
            nonlocal asked
            asked += 1
            offset = (token.rank * 2 + 1) * size
            answer(token, category, log[category], asked, payload=pattern(size, key), offset=offset)

        log = await attached(ep, ask)
        data = pattern(size, ep.rank)
        for _ in range(count):
            for dest in ((ep.rank + 1) % ep.size, (ep.rank - 1) % ep.size):
                await send(ep, category, dest, ask, payload=data, offset=ep.rank * 2 * size)
        seen = await log.until(2 * count)
        await ep.block_until(lambda: asked == 2 * count)
        assert category == "short" or all(one.payload == pattern(size, key) for one in seen)
        return asked, len(seen)

    assert list(case.run(main, segment=2 * case.size * size).values) == [(2 * count, 2 * count)] * case.size


@pytest.mark.rule("R51")
@pytest.mark.crowds
@pytest.mark.parametrize("category", CATEGORIES)
def test_hot_spot(case: Case, category: str) -> None:
    """All ranks flood rank 0, itself included; it answers everyone, and everyone finishes."""
    size, count = _payload_size(case, category, 300), 8

    async def main(ep: Endpoint) -> int:
        def ask(token: Token, *rest: int) -> None:
            answer(token, category, log[category], payload=pattern(size, 1), offset=0)

        log = await attached(ep, ask)
        for _ in range(count):
            await send(ep, category, 0, ask, payload=pattern(size, ep.rank), offset=ep.rank * size)
        return len(await log.until(count))

    assert list(case.run(main, segment=case.size * max(size, 1)).values) == [count] * case.size


@pytest.mark.rule("R51", "R23")
@pytest.mark.crowds
def test_hot_spot_without_replies(case: Case) -> None:
    """The same when rank 0 answers nobody."""
    count = 12

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        for number in range(count):
            await ep.request_medium(0, log.medium, pattern(64, number), number)
        if ep.rank == 0:
            seen = await log.until(count * ep.size)
            return sum(one.payload == pattern(64, one.args[0]) for one in seen)
        return 0

    assert case.run(main).values[0] == count * case.size


@pytest.mark.rule("R39", "R50")
@pytest.mark.crowds
def test_all_ranks_to_all_ranks_in_all_categories(case: Case) -> None:
    """Each asks each with each category, and gets an answer of another one; contents checked at both ends."""
    size = min(_payload_size(case, "medium"), _payload_size(case, "long"), 150)

    async def main(ep: Endpoint) -> tuple[int, int]:
        good = 0

        def check(token: Token, rest: tuple[object, ...], index: int) -> None:
            nonlocal good
            kind = CATEGORIES[index]
            body = () if kind == "short" else (bytes(rest[0]),)  # type: ignore[call-overload]
            assert body == (() if kind == "short" else (pattern(size, token.rank + index),))
            good += 1
            back = CATEGORIES[(index + 1) % 3]
            offset = (3 * (ep.size + ep.rank) + index) * size
            answer(token, back, log[back], index, payload=pattern(size, ep.rank + 7), offset=offset)

        def ask_short(token: Token, *rest: object) -> None:
            check(token, rest, 0)

        def ask_medium(token: Token, *rest: object) -> None:
            check(token, rest, 1)

        def ask_long(token: Token, *rest: object) -> None:
            check(token, rest, 2)

        log = await attached(ep, ask_short, ask_medium, ask_long)
        for step in range(ep.size):
            for index, handler in enumerate((ask_short, ask_medium, ask_long)):
                data = pattern(size, ep.rank + index)
                offset = (3 * ep.rank + index) * size
                await send(ep, CATEGORIES[index], (ep.rank + step) % ep.size, handler, payload=data, offset=offset)
        seen = await log.until(3 * ep.size)
        await ep.block_until(lambda: good == 3 * ep.size)
        return good, sum(one.payload in (None, pattern(size, one.rank + 7)) for one in seen)

    segment = 6 * case.size * size
    assert list(case.run(main, segment=segment).values) == [(3 * case.size, 3 * case.size)] * case.size


@pytest.mark.rule("R48")
@pytest.mark.parametrize("category", CATEGORIES)
def test_full_queues_empty_while_the_peer_only_polls(case: Case, category: str) -> None:
    """The sender waits for room; the peer does nothing but poll, and all arrives."""
    case = case.at_least(2)
    size, count = _payload_size(case, category, 2000), 20

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        if ep.rank == 0:
            for number in range(count):
                await send(ep, category, 1, log[category], number, payload=pattern(size, number))
        while ep.rank == 1 and len(log.seen) < count:
            await ep.poll()
            await ep.compute(1e-6)
        return len(log.seen)

    assert case.run(main).values[1] == count


@pytest.mark.rule("R48")
@pytest.mark.parametrize("category", CATEGORIES)
def test_full_queues_empty_once_the_peer_polls_at_last(case: Case, category: str) -> None:
    """The peer first computes for a long time; meanwhile the sender has filled all there is."""
    case = case.at_least(2)
    size, count = _payload_size(case, category, 2000), 20

    async def main(ep: Endpoint) -> tuple[int, int]:
        log = await attached(ep)
        if ep.rank == 0:
            for number in range(count):
                await send(ep, category, 1, log[category], number, payload=pattern(size, number))
        if ep.rank == 1:
            await ep.compute(1e-3)
            before = len(log.seen)
            await log.until(count)
            return before, len(log.seen)
        return 0, 0

    before, after = case.run(main).values[1]
    assert after == count
    assert before == 0 or not case.simulated


@pytest.mark.rule("R48", "R49")
@pytest.mark.parametrize(("category", "count"), [("short", 200), ("medium", 40)], ids=["short", "medium"])
def test_a_sender_that_waits_for_room_serves_others(case: Case, category: str, count: int) -> None:
    """While rank 0 is stuck in front of a busy rank 1, it answers everyone else, and itself, with as large messages."""
    case = case.at_least(3)
    size = 0 if category == "short" else case.limits.max_medium

    async def main(ep: Endpoint) -> tuple[float, float]:
        answered: list[float] = []

        def ask(token: Token) -> None:
            answer(token, category, told, payload=bytes(size))

        def told(token: Token, *payload: memoryview) -> None:
            answered.append(ep.now)

        log = await attached(ep, ask, told)
        if ep.rank == 0:
            for number in range(count):
                await send(ep, category, 1, log[category], number, payload=bytes(size))
        elif ep.rank == 1:
            await ep.compute(BUSY)
            woke = ep.now
            await log.until(count)
            return woke, 0.0
        else:
            await ep.compute(BUSY / 10)
            await ep.request_short(0, ask)
            await ep.block_until(lambda: bool(answered))
            return 0.0, answered[0]
        return 0.0, 0.0

    values = case.run(main).values
    if case.simulated and _is_bounded(case):
        late = max(late for _, late in values)
        assert late < values[1][0], (
            f"the last reply came at {late:.6g} s, and rank 1 polled from {values[1][0]:.6g} s on: replies wait for "
            "room that requests to rank 1 have used up"
        )


def _is_bounded(case: Case) -> bool:
    """Say whether 200 unanswered short requests are more than the conduit lets out: all here do so bound them."""
    return case.simulated


@pytest.mark.rule("R49", "R50")
@pytest.mark.parametrize("category", ["medium", "long"])
def test_replies_need_nothing_that_requests_can_use_up(case: Case, category: str) -> None:
    """Everyone fills all queues to everyone with the largest messages, whose answers are the largest too."""
    size = int(min(case.limits.max_medium if category == "medium" else case.longest(), case.longest(reply=True), 4000))
    size = min(size, case.limits.max_medium) if category == "medium" else size
    count = 5

    async def main(ep: Endpoint) -> tuple[int, int]:
        asked = 0

        def ask(token: Token, payload: memoryview, number: int) -> None:
            nonlocal asked
            asked += 1
            assert category == "long" or bytes(payload) == pattern(size, token.rank + number)
            answer(token, category, log[category], number, payload=pattern(size, ep.rank + 16 * number), offset=0)

        log = await attached(ep, ask)
        for number in range(count):
            for step in range(1, ep.size + 1):
                dest = (ep.rank + step) % ep.size
                await send(ep, category, dest, ask, number, payload=pattern(size, ep.rank + number), offset=size)
        seen = await log.until(count * ep.size)
        await ep.block_until(lambda: asked == count * ep.size)
        if category == "medium":
            seen = [one for one in seen if one.payload == pattern(size, one.rank + 16 * one.args[0])]
        return asked, len(seen)

    values = case.run(main, segment=2 * size).values
    assert list(values) == [(count * case.size, count * case.size)] * case.size


@pytest.mark.rule("R49")
def test_every_resource_of_a_reply_is_set_aside_with_its_request(case: Case) -> None:
    """Requests of one category are all out while their answers, of each category at its limit, wait for a poll."""
    case = case.at_least(2)
    medium = case.limits.max_medium
    long = case.longest(reply=True, at_most=8000)

    async def main(ep: Endpoint) -> int:
        def ask(token: Token, number: int) -> None:
            kind = number % 3
            size = (0, medium, long)[kind]
            back = CATEGORIES[kind]
            answer(token, back, log[back], number, payload=pattern(size, number), offset=number // 3 * long)

        log = await attached(ep, ask)
        for number in range(18):
            await ep.request_short(neighbour(ep), ask, number)
            if number % 6 == 5:
                # Both sides have replies under way that nobody has taken yet.
                await ep.compute(1e-4)
        seen = await log.until(18)
        return sum(one.payload in (None, pattern(len(one.payload or b""), one.args[0])) for one in seen)

    assert list(case.run(main, segment=6 * long).values) == [18] * case.size


@pytest.mark.rule("R49", "R39")
@pytest.mark.simulated  # its timeouts are milliseconds
def test_all_requests_and_replies_that_can_be_there_at_once_have_room(case: Case) -> None:
    """To a rank that works come the answers of all requests that it could send, and all that others can send to it."""
    case = case.at_least(2)
    sent = [0] * case.size

    async def main(ep: Endpoint) -> tuple[int, int]:
        def ask(token: Token, number: int) -> None:
            asked.append((token.rank, number))
            token.reply_short(log.short, number)

        async def fill(dest: int) -> None:
            waits = False
            while not waits:
                with trio.move_on_after(1e-3) as scope:
                    await ep.request_short(dest, ask, sent[ep.rank])
                    sent[ep.rank] += 1
                waits = scope.cancelled_caught
                assert sent[ep.rank] < MOST, "a rank that does not poll is sent requests without end"

        asked: list[tuple[int, int]] = []
        log = await attached(ep, ask)
        if ep.rank == 0:
            for dest in range(1, ep.size):
                await fill(dest)
            await ep.compute(BUSY)
        else:
            await ep.compute(BUSY / 5)
            await fill(0)
        await log.until(sent[ep.rank])
        await ep.attach()
        assert len(set(asked)) == len(asked)
        return len(asked), len(log.seen)

    values = case.run(main).values
    assert values[0][0] == sum(sent[1:])
    assert [seen for _, seen in values] == sent


@pytest.mark.rule("R23", "R48")
def test_unanswered_requests_give_their_slots_back(case: Case) -> None:
    """Again and again more of them than there are slots, each round to every rank, long after the last."""
    rounds = 6

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)
        for turn in range(rounds):
            for step in range(ep.size):
                for _ in range(3):
                    await ep.request_short((ep.rank + step) % ep.size, log.short, turn)
            await ep.compute(1e-5)
        return len(await log.until(rounds * 3 * ep.size))

    assert list(case.run(main).values) == [rounds * 3 * case.size] * case.size


@pytest.mark.rule("R51")
@pytest.mark.crowds
def test_nobody_starves_at_a_hot_spot(case: Case) -> None:
    """Everyone floods rank 0 without end until each has had its share answered; then all stop.

    Where one starves, the others' requests would go on for all of the time limit, which is hours of a computer's time.
    """
    share, most = 4, 10_000

    async def main(ep: Endpoint) -> bool:
        answers = satisfied = sent = 0
        stop = False

        def ask(token: Token) -> None:
            token.reply_short(told)

        def told(token: Token) -> None:
            nonlocal answers
            answers += 1

        def enough(token: Token) -> None:
            nonlocal satisfied
            satisfied += 1

        def halt(token: Token) -> None:
            nonlocal stop
            stop = True

        await ep.attach(ask, told, enough, halt)
        reported = False
        while not stop:
            await ep.request_short(0, ask)
            sent += ep.rank > 0  # those of rank 0 to itself go over no network
            assert sent < most or not case.simulated, f"rank {ep.rank} has sent {sent} requests, and another starves"
            if answers >= share and not reported:
                reported = True
                await ep.request_short(0, enough)
            if ep.rank == 0 and satisfied == ep.size:
                for dest in range(ep.size):
                    await ep.request_short(dest, halt)
                await ep.block_until(lambda: stop)
        return answers >= share

    assert all(case.run(main, time_limit=10.0 if case.simulated else None).values)


@pytest.mark.rule("R50", "R43")
def test_floods_from_several_tasks_in_all_directions(case: Case) -> None:
    """Each rank runs one flood per peer at the same time, while one of its tasks only waits."""
    count = 6

    async def main(ep: Endpoint) -> int:
        log = await attached(ep)

        async def flood(dest: int) -> None:
            for number in range(count):
                await ep.request_medium(dest, log.medium, pattern(90, number), number)

        async with trio.open_nursery() as nursery:
            for dest in range(ep.size):
                nursery.start_soon(flood, dest)
            seen = await log.until(count * ep.size)
        return sum(one.payload == pattern(90, one.args[0]) for one in seen)

    assert list(case.run(main).values) == [count * case.size] * case.size


@pytest.mark.rule("R50", "R34")
@pytest.mark.crowds
def test_a_token_goes_around_a_ring(case: Case) -> None:
    """A chain of requests, each caused by the one before, three times around."""
    rounds = 3

    async def main(ep: Endpoint) -> list[int]:
        log = await attached(ep)
        for turn in range(rounds):
            if ep.rank == 0:
                await ep.request_short(neighbour(ep), log.short, turn)
            await log.until(turn + 1)
            if ep.rank != 0:
                await ep.request_short(neighbour(ep), log.short, turn)
        return [one.args[0] for one in log.seen]

    assert list(case.run(main).values) == [list(range(rounds))] * case.size


@pytest.mark.rule("R50", "R23")
@pytest.mark.crowds
def test_mixed_sizes_from_everyone_to_everyone(case: Case) -> None:
    """Small and large messages share the queues; nobody's bytes get into another's."""
    limit = min(case.limits.max_medium, 1200)

    async def main(ep: Endpoint) -> tuple[int, int]:
        good = count = 0

        def handler(token: Token, payload: memoryview, nbytes: int) -> None:
            nonlocal good, count
            count += 1
            good += bytes(payload) == pattern(nbytes, token.rank)

        await ep.attach(handler)
        for number in range(4):
            for step in range(ep.size):
                nbytes = (number * 401 + step * 97 + ep.rank * 11) % (limit + 1)
                await ep.request_medium((ep.rank + step) % ep.size, handler, pattern(nbytes, ep.rank), nbytes)
        await ep.block_until(lambda: count == 4 * ep.size)
        return good, count

    assert list(case.run(main).values) == [(4 * case.size, 4 * case.size)] * case.size


async def _room(ep: Endpoint, handler: Callable[..., None], category: str, size: int) -> int:
    """Give how many requests can be sent to rank 1, which does not poll, before one has to wait."""
    count = 0
    waits = False
    while not waits and count < MOST:
        with trio.move_on_after(PATIENCE) as scope:
            await send(ep, category, 1, handler, payload=bytes(size))
            count += 1
        waits = scope.cancelled_caught
    assert waits, f"{count} {category} requests to a rank that does not poll have not filled what there is"
    return count


@pytest.mark.rule("R48", "R23", "R77")
@pytest.mark.simulated  # its timeouts are long, and ranks share an event
@pytest.mark.parametrize("category", ["short", "medium"])  # a long one may wait for the poll that brings it in
def test_there_is_as_much_room_in_the_end_as_in_the_beginning(case: Case, category: str) -> None:
    """After traffic of all kinds: what each message needs is given back, and once.

    A ring may have room for one more or fewer, or for a quarter of them, by where it has got to.
    """
    _look_at_room(case, category, TRAFFIC)


@pytest.mark.rule("R48", "R23", "R77")
@pytest.mark.simulated
@pytest.mark.once
def test_room_lasts(case: Case) -> None:
    """As before, after many times as much: what is lost now and then runs out at last."""
    _look_at_room(case, "medium", MUCH_TRAFFIC)


def _look_at_room(case: Case, category: str, much: int) -> None:
    """Count how many requests find room before and after so many messages of each of two ranks, and their replies."""
    case = case.at_least(2) if case.size <= 3 else case.with_ranks(3)
    medium = min(case.limits.max_medium, 4096)
    long = min(case.longest(), case.longest(reply=True), 5000)
    sizes = {"short": 0, "medium": medium, "long": long}
    polls = [trio.Event(), trio.Event()]
    room: list[int] = []

    async def traffic(ep: Endpoint, log: MessageLog, ask: Callable[..., None], asked: list[int]) -> None:
        """Send in each category, answered in each and not at all, to and from rank 1."""
        for number in range(much):
            sent, size = CATEGORIES[number % 3], sizes[CATEGORIES[number % 3]]
            payload = pattern(size - number * 7 % (size // 2) if size else 0, number)
            await send(ep, sent, 1 - ep.rank, ask, number // 3 % 4, payload=payload)
        replies = much * 3 // 4 + (room[0] if ep.rank == 1 else 0)
        await ep.block_until(lambda: len(asked) >= much and len(log.seen) >= replies)

    async def main(ep: Endpoint) -> None:
        asked: list[int] = []

        def ask(token: Token, *rest: Any) -> None:
            kind = rest[-1]
            asked.append(kind)
            if kind < 3:
                answer(token, CATEGORIES[kind], log[CATEGORIES[kind]], payload=bytes(sizes[CATEGORIES[kind]]))

        log = await attached(ep, ask)
        for turn, may_poll in enumerate(polls):
            if turn and ep.rank < 2:
                await traffic(ep, log, ask, asked)
            await ep.attach()
            if ep.rank == 0:
                await linger(ep, 2 * PATIENCE)  # and rank 1 has come to its wait by then
                room.append(await _room(ep, log[category], category, sizes[category]))
                may_poll.set()
            elif ep.rank == 1:
                await linger(ep, PATIENCE)  # until it has handled all that was sent before
                await may_poll.wait()
            await ep.attach()

    case.run(main)
    first, last = room
    some = max(1, first // 4)
    assert last >= first - some, (
        f"at first {first} {category} requests found room, and {last} after {2 * much} messages and their replies: "
        "what some of them had set aside is not given back"
    )
    assert last <= first + some, (
        f"at first {first} {category} requests found room, and {last} after {2 * much} messages and their replies: "
        "what some of them had set aside is given back twice"
    )
