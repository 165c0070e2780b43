"""Limits: how many arguments, which values, how much payload."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from conduit import BadRequest, Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, answer, attached, more_than, names, neighbour, refusal, send


@pytest.mark.rule("R8")
def test_limits_are_not_below_the_minimum(case: Case) -> None:
    """16 arguments and 512 bytes of every kind of payload are what programs may count on."""
    limits = case.limits
    assert limits.max_args >= 16
    assert min(limits.max_medium, limits.max_long_request, limits.max_long_reply) >= 512


@pytest.mark.rule("R8")
def test_limits_are_the_same_on_every_rank_all_the_time(case: Case) -> None:
    """Every rank is told the conduit's limits, before attach and after."""

    async def main(ep: Endpoint) -> set[tuple[int, int, int, int]]:
        def told() -> tuple[int, int, int, int]:
            return (
                ep.limits.max_args,
                ep.limits.max_medium,
                ep.limits.max_long_request,
                ep.limits.max_long_reply,
            )

        before = told()
        await ep.attach()
        return {before, told()}

    limits = case.limits
    expected = {(limits.max_args, limits.max_medium, limits.max_long_request, limits.max_long_reply)}
    assert list(case.run(main).values) == [expected] * case.size


def _some_args(count: int, salt: int) -> tuple[int, ...]:
    """Give arguments that differ by position, every second one negative."""
    return tuple((position * 1_000_003 + salt * 7919 + 1) * (-1) ** position for position in range(count))


@pytest.mark.rule("R9", "R10", "R22")
@pytest.mark.parametrize("category", CATEGORIES)
def test_every_number_of_arguments(case: Case, category: str) -> None:
    """Each number of arguments arrives with each category, in requests and in replies, negative ones too."""

    async def main(ep: Endpoint) -> list[list[tuple[int, ...]]]:
        asked: list[tuple[int, ...]] = []

        def ask(token: Token, *rest: Any) -> None:
            args = rest if category == "short" else rest[1:]
            asked.append(args)
            answer(token, category, log[category], *(-value for value in args), payload=b"ab")

        log = await attached(ep, ask)
        for count in range(ep.limits.max_args + 1):
            await send(ep, category, neighbour(ep), ask, *_some_args(count, ep.rank), payload=b"abc", offset=8)
        await log.until(ep.limits.max_args + 1)
        await ep.block_until(lambda: len(asked) == ep.limits.max_args + 1)
        return [sorted(asked, key=len), sorted((seen.args for seen in log.seen), key=len)]

    for rank, (asked, answered) in enumerate(case.run(main).values):
        source = (rank - 1) % case.size
        counts = range(case.limits.max_args + 1)
        assert asked == [_some_args(count, source) for count in counts]
        assert answered == [tuple(-value for value in _some_args(count, rank)) for count in counts]


class _Index:
    """What is no int but can stand for one."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


VALUES: list[tuple[Any, int]] = [
    (0, 0),
    (-1, -1),
    (1, 1),
    (127, 127),
    (128, 128),
    (-129, -129),
    (2**16, 2**16),
    (2**31 - 1, 2**31 - 1),
    (-(2**31), -(2**31)),
    (2**31, -(2**31)),
    (2**32 - 1, -1),
    (2**32 - 2**16, -(2**16)),
    (True, 1),
    (False, 0),
    (_Index(-5), -5),
    (np.int8(-3), -3),
    (np.uint32(2**32 - 7), -7),
    (np.int64(12), 12),
]


@pytest.mark.rule("R10")
@pytest.mark.parametrize("category", CATEGORIES)
def test_arguments_arrive_signed(case: Case, category: str) -> None:
    """Whatever has 32 bits may be passed, signed or unsigned, and arrives as a signed int; replies do the same."""

    async def main(ep: Endpoint) -> tuple[list[tuple[int, ...]], bool]:
        def ask(token: Token, *rest: Any) -> None:
            args = rest if category == "short" else rest[1:]
            answer(token, category, log[category], *args, *(value for value, _ in VALUES[args[0] :][:2]), payload=b"r")

        log = await attached(ep, ask)
        for index, (value, _) in enumerate(VALUES):
            await send(ep, category, neighbour(ep), ask, index, value, payload=b"q")
        seen = await log.until(len(VALUES))
        plain = all(type(arg) is int for one in seen for arg in one.args)
        return sorted(one.args for one in seen), plain

    expected = [
        (index, arrived, *(value for _, value in VALUES[index : index + 2]))
        for index, (_, arrived) in enumerate(VALUES)
    ]
    assert list(case.run(main).values) == [(sorted(expected), True)] * case.size


@pytest.mark.rule("R10", "R60")
def test_arguments_of_the_wrong_kind_are_refused(case: Case) -> None:
    """Wider integers, floats and everything else are refused, whatever the position and the call."""
    wrong: list[tuple[Any, object]] = [
        (2**32, 2**32),
        (-(2**31) - 1, -(2**31) - 1),
        (10**30, 10**30),
        (1.0, "float"),
        (np.float32(1), "float32"),
        ("1", "str"),
        (None, "no value"),
        (b"\1", "bytes"),
        (np.array([1]), "ndarray"),
    ]

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        for value, word in wrong:
            for category in (*CATEGORIES, "long_async"):
                handler = log[category.partition("_")[0]]
                message = refusal(partial(send, ep, category, 0, handler, 1, value, payload=b"x"))
                names(message, word)
                assert "arg" in message

    case.run(main)


@pytest.mark.rule("R9", "R60")
def test_one_argument_too_many_is_refused(case: Case) -> None:
    """The message tells how many there were and how many are allowed; replies are refused alike."""

    async def main(ep: Endpoint) -> None:
        most = ep.limits.max_args
        args = range(most + 1)
        refused: list[str] = []

        def ask(token: Token) -> None:
            calls = [partial(answer, token, category, log[category], *args, payload=b"x") for category in CATEGORIES]
            refused.extend(map(refusal, calls))

        log = await attached(ep, ask)
        for category in (*CATEGORIES, "long_async"):
            handler = log[category.partition("_")[0]]
            refused.append(refusal(partial(send, ep, category, 0, handler, *args, payload=b"x")))
        await ep.request_short(neighbour(ep), ask)
        await ep.block_until(lambda: len(refused) == 7)
        for message in refused:
            names(message, most + 1, most)

    case.run(main)


async def _exchange(
    ep: Endpoint, category: str, sizes: list[int], offset: Callable[[int], int], replied: bool
) -> list[tuple[int, bool, bool]]:
    """Send a payload of each size to the next rank, which checks it and, where asked, sends it back."""
    found: list[tuple[int, bool, bool]] = []
    returned: list[int] = []

    def ask(token: Token, payload: memoryview, number: int) -> None:
        found.append((number, True, bytes(payload) == pattern(sizes[number], number)))
        if replied:
            place = offset(number) + max(sizes) + 8
            answer(token, category, back, number, payload=pattern(sizes[number], number + 1), offset=place)

    def back(token: Token, payload: memoryview, number: int) -> None:
        found.append((number, False, bytes(payload) == pattern(sizes[number], number + 1)))
        returned.append(number)

    await ep.attach(ask, back)
    for number, size in enumerate(sizes):
        await send(ep, category, neighbour(ep), ask, number, payload=pattern(size, number), offset=offset(number))
        if replied:
            # One at a time: long payloads share their place.
            await ep.block_until(more_than(returned, number))
    await ep.block_until(lambda: len(found) == len(sizes) * (2 if replied else 1))
    return sorted(found)


@pytest.mark.rule("R11", "R13", "R22")
def test_medium_payloads_of_every_telling_size(case: Case) -> None:
    """Mediums of 0, 1, odd sizes, around every threshold and at the limit arrive whole, there and back."""
    sizes = case.sizes(case.limits.max_medium)

    async def main(ep: Endpoint) -> list[tuple[int, bool, bool]]:
        return await _exchange(ep, "medium", sizes, lambda number: 0, True)

    expected = [(number, request, True) for number in range(len(sizes)) for request in (False, True)]
    assert list(case.run(main).values) == [expected] * case.size


@pytest.mark.rule("R11", "R13")
def test_medium_requests_of_every_size_without_reply(case: Case) -> None:
    """The same sizes one after another, as fast as they go."""
    sizes = case.sizes(case.limits.max_medium)

    async def main(ep: Endpoint) -> list[tuple[int, bool, bool]]:
        return await _exchange(ep, "medium", sizes, lambda number: 0, False)

    assert list(case.run(main).values) == [[(number, True, True) for number in range(len(sizes))]] * case.size


@pytest.mark.rule("R11", "R14", "R22")
def test_long_payloads_of_every_telling_size(case: Case) -> None:
    """Longs of 0, 1, odd sizes and around every threshold arrive whole, there and back."""
    room = min(case.longest(), case.longest(reply=True), 1 << 14)
    sizes = case.sizes(room)

    async def main(ep: Endpoint) -> list[tuple[int, bool, bool]]:
        return await _exchange(ep, "long", sizes, lambda number: number % 5, True)

    expected = [(number, request, True) for number in range(len(sizes)) for request in (False, True)]
    assert list(case.run(main, segment=2 * room + 64).values) == [expected] * case.size


@pytest.mark.rule("R11", "R14")
@pytest.mark.parametrize("reply", [False, True], ids=["request", "reply"])
def test_long_payload_at_the_limit(case: Case, reply: bool) -> None:
    """The longest payload arrives whole (2 MiB of it, or what a segment holds, where the limit is beyond)."""
    size = case.longest(reply=reply, at_most=1 << 21)
    case = case.with_ranks(min(case.size, 2))

    async def main(ep: Endpoint) -> bool:
        good: list[bool] = []

        def check(token: Token, payload: memoryview, key: int) -> None:
            good.append(bytes(payload) == pattern(size, key))

        def ask(token: Token, key: int) -> None:
            token.reply_long(check, pattern(size, key), 0, key)

        await ep.attach(check, ask)
        if ep.rank == 0 and reply:
            await ep.request_short(neighbour(ep), ask, 3)
            await ep.block_until(lambda: bool(good))
        elif ep.rank == 0:
            await ep.request_long(neighbour(ep), check, pattern(size, 5), 0, 5)
        if ep.rank == 1 and not reply:
            await ep.block_until(lambda: bool(good))
        return all(good)

    assert all(case.run(main, segment=size).values)


@pytest.mark.rule("R11", "R60")
@pytest.mark.parametrize("call", ["request_medium", "request_long", "request_long_async", "reply_medium", "reply_long"])
def test_one_byte_beyond_the_limit_is_refused(case: Case, call: str) -> None:
    """Never cut short: the message names the size and the limit, and nothing is sent."""
    case = case.with_ranks(min(case.size, 2))
    name = "max_medium" if "medium" in call else "max_long_reply" if "reply" in call else "max_long_request"
    limit = getattr(case.limits, name)
    if limit >= 1 << 32:
        pytest.skip(f"{name}={limit}: no buffer here is larger")
    # Zeros that nobody touches take no memory.
    payload = np.zeros(limit + 1, np.uint8)

    async def main(ep: Endpoint) -> str:
        refused: list[str] = []

        def ask(token: Token) -> None:
            refused.append(refusal(lambda: _reply(token)))

        def _reply(token: Token) -> None:
            answer(token, call.removeprefix("reply_"), log[call.removeprefix("reply_")], payload=payload)

        log = await attached(ep, ask)
        if call.startswith("reply"):
            await ep.request_short(neighbour(ep), ask)
            await ep.block_until(lambda: bool(refused))
        else:
            category = call.removeprefix("request_")
            handler = log[category.partition("_")[0]]
            refused.append(refusal(lambda: send(ep, category, neighbour(ep), handler, payload=payload)))
        assert log.seen == []
        return refused[0]

    for message in case.run(main, segment=64).values:
        names(message, "payload", limit + 1, name, limit)


@pytest.mark.rule("R60")
def test_a_refused_call_does_nothing_and_the_job_goes_on(case: Case) -> None:
    """After any number of refused calls the next right one works, and only it is counted."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        for _ in range(20):
            refusal(lambda: ep.request_short(ep.size, log.short))
            refusal(lambda: ep.request_medium(neighbour(ep), log.medium, bytes(ep.limits.max_medium + 1)))
            refusal(lambda: ep.request_long(neighbour(ep), log.long, b"12345678", -1))
        await ep.request_short(neighbour(ep), log.short, 4)
        await log.until(1)

    result = case.run(main)
    assert [counts["requests_sent"] for counts in result.statistics] == [1] * case.size


@pytest.mark.rule("R60")
def test_bad_requests_are_value_errors(case: Case) -> None:
    """Programs that know nothing of this package's errors can catch them all the same."""

    async def main(ep: Endpoint) -> None:
        log = await attached(ep)
        with pytest.raises(ValueError, match=r"\A.*dest"):
            await ep.request_short(-1, log.short)

    assert issubclass(BadRequest, ValueError)
    case.run(main)
