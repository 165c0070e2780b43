"""What a network says that messages cost (`ep.costs`), against what they take: layers choose by it."""

from collections.abc import Callable

import pytest

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.programs import answer, send
from conduit.contract import MessageCosts

FACTOR = 4
"""Assumed: what is said may be rounded, or leave a part out; a wrong unit is off by a thousand."""
LARGE = 1 << 18
TRIPS = 5

pytestmark = pytest.mark.simulated


async def _half_trips(ep: Endpoint, sizes: list[tuple[str, int]]) -> list[float]:
    """Give half of a round trip between ranks 0 and 1 for each category and size, seconds."""
    told: list[int] = []

    def tell(token: Token, *rest: object) -> None:
        told.append(1)

    def ask_of(category: str) -> Callable[..., None]:
        def ask(token: Token, *payload: memoryview) -> None:
            answer(token, category, tell, payload=bytes(*payload))

        return ask

    asks = {category: ask_of(category) for category, _ in sizes}
    await ep.attach(tell, *asks.values())
    found: list[float] = []
    for category, nbytes in sizes:
        data, begun = bytes(nbytes), 0.0
        for trip in range(TRIPS + 1):
            if trip == 1:  # the first warms up
                begun = ep.now
            if ep.rank == 0:
                await send(ep, category, 1, asks[category], payload=data)
                await ep.block_until(lambda: bool(told))
                told.clear()
        found.append((ep.now - begun) / TRIPS / 2)
    return found


def _said(case: Case, where: str) -> tuple[MessageCosts, int]:
    """Return what the network says that messages `where` cost, and how many of two ranks are on a host there."""
    together = 1 if where == "off_host" else 2
    most = case.cls.max_ranks_per_host(case.options)
    said: MessageCosts | None = getattr(case.cls.costs(case.options), where)
    if said is None or (most is not None and most < together):
        pytest.skip("the network does not say what these cost, or has none")
    return said, together


def _near(said: float, took: float, what: str) -> None:
    wrong = (
        f"costs() says that {what} takes {said:.3g} s, and it takes {took:.3g} s: look at its unit, and what it lacks"
    )
    assert took / FACTOR <= said <= took * FACTOR, wrong


@pytest.mark.rule("R88")
@pytest.mark.once
@pytest.mark.parametrize("where", ["off_host", "on_host"])
def test_costs_are_what_messages_take(case: Case, where: str) -> None:
    """Two ranks alone, by half of round trips: a short message, and a byte more of each kind of payload."""
    said, together = _said(case, where)
    case = case.with_ranks(2)
    largest = min(case.longest(), case.longest(reply=True), LARGE)
    medium = 512  # which all networks carry; larger ones may travel in another way
    sizes = [("short", 0), ("medium", medium // 2), ("medium", medium), ("long", largest // 2), ("long", largest)]
    result = case.run(_half_trips, sizes, segment=largest, ranks_per_host=together)
    short, *pairs = result.values[0]
    _near(said.start, short, f"a short message ({where}.start)")
    _near(said.medium_byte, (pairs[1] - pairs[0]) / (medium - medium // 2), f"a medium byte ({where}.medium_byte)")
    _near(said.long_byte, (pairs[3] - pairs[2]) / (largest - largest // 2), f"a long byte ({where}.long_byte)")
    _near(said.long_start + largest * said.long_byte, pairs[3], f"a long message of {largest} bytes ({where})")
    part = said.send + said.receive
    assert part <= said.start * 1.25, (
        f"{where}: send and receive are parts of start={said.start:.3g} s, not {part:.3g} s"
    )


@pytest.mark.rule("R88")
@pytest.mark.once
@pytest.mark.parametrize("where", ["off_host", "on_host"])
def test_a_poll_takes_what_costs_say(case: Case, where: str) -> None:
    """One that finds nothing; a network that says nothing of it says 0."""
    said, together = _said(case, where)
    if not said.poll:
        pytest.skip("the network does not say what a poll takes")
    took = case.with_ranks(2).run(_polled, ranks_per_host=together).values[0]
    _near(said.poll, took, f"a poll that finds nothing ({where}.poll)")


async def _polled(ep: Endpoint) -> float:
    """Give the time of a poll that finds nothing, seconds."""
    await ep.attach()
    begun = ep.now
    for _ in range(TRIPS):
        await ep.poll()
    return (ep.now - begun) / TRIPS


@pytest.mark.rule("R88")
@pytest.mark.once
@pytest.mark.parametrize("where", ["off_host", "on_host"])
def test_send_and_receive_are_what_processors_are_taken_for(case: Case, where: str) -> None:
    """A request that waits for nothing, and a poll that takes one reply, each with the poll that it begins with."""
    said, together = _said(case, where)
    sent, received = case.with_ranks(2).run(_taken_for, 3 * said.start, ranks_per_host=together).values[0]
    _near(said.send + said.poll, sent, f"a short request takes its sender ({where}.send and .poll)")
    _near(said.receive + said.poll, received, f"taking a short message takes its receiver ({where}.receive and .poll)")


async def _taken_for(ep: Endpoint, back: float) -> tuple[float, float]:
    """Give the time of a short request, and of a poll that finds its reply, `back` s later or as much again."""
    told: list[int] = []

    def tell(token: Token) -> None:
        told.append(1)

    def ask(token: Token) -> None:
        token.reply_short(tell)

    await ep.attach(tell, ask)
    sent = received = 0.0
    for trip in range(TRIPS + 1 if ep.rank == 0 else 0):
        begun = ep.now
        await ep.request_short(1, ask)
        away = ep.now
        while not told:
            await ep.compute(back)
            polled = ep.now
            await ep.poll()
        told.clear()
        if trip:  # the first warms up
            sent, received = sent + away - begun, received + ep.now - polled
    return sent / TRIPS, received / TRIPS


@pytest.mark.rule("R88")
@pytest.mark.once
@pytest.mark.parametrize("where", ["off_host", "on_host"])
def test_automatic_replies_take_what_costs_say(case: Case, where: str) -> None:
    """By how much longer half of a round trip takes of requests both ways, which no handler replies to."""
    said, together = _said(case, where)
    case = case.with_ranks(2)
    answered, unanswered = case.run(_replied_and_not, ranks_per_host=together).values[0]
    took, share = unanswered - answered, said.send + said.receive
    if said.answered:
        assert share / FACTOR <= took <= share * FACTOR, (
            f"costs() says {where}.answered=True, and an automatic reply takes its ranks {took:.3g} s, where a message "
            f"takes them {share:.3g} s"
        )
    else:
        assert took < share / FACTOR, (
            f"costs() says {where}.answered=False, and an automatic reply takes its ranks {took:.3g} s: it is a message"
        )


async def _replied_and_not(ep: Endpoint) -> tuple[float, float]:
    """Give half of a round trip of a request and its reply, and of two requests, seconds."""
    told: list[int] = []

    def tell(token: Token) -> None:
        told.append(1)

    def ask(token: Token) -> None:
        token.reply_short(tell)

    await ep.attach(tell, ask)
    begun, found = 0.0, []
    for handler in (ask, tell):
        for trip in range(TRIPS + 1):
            if trip == 1:  # the first warms up
                begun = ep.now
            if ep.rank == 0:
                await ep.request_short(1, handler)
            if ep.rank == 0 or handler is tell:
                await ep.block_until(lambda: bool(told))
                told.clear()
            if ep.rank and handler is tell:
                await ep.request_short(0, handler)
        found.append((ep.now - begun) / TRIPS / 2)
    return found[0], found[1]


@pytest.mark.rule("R88")
def test_costs_are_made_of_options_and_constants_alone(case: Case) -> None:
    """Every rank, and every job, is told the same."""

    async def main(ep: Endpoint) -> object:
        await ep.attach()
        return ep.costs

    ask: Callable[[object], object] = case.cls.costs
    first = ask(case.options)
    assert list(case.run(main).values) == [first] * case.size
    assert ask(case.options) == first


@pytest.mark.rule("R88")
@pytest.mark.once
def test_a_byte_that_a_processor_copies_costs_no_more_than_one_in_a_message(case: Case) -> None:
    """A medium message of one host is copied at least once."""
    costs = case.cls.costs(case.options)
    if costs.copy_byte is None or costs.on_host is None:
        pytest.skip("the network does not say what these cost")
    assert costs.copy_byte <= FACTOR * costs.on_host.medium_byte, (
        f"copy_byte={costs.copy_byte:.3g} s, and a byte of a message within a host {costs.on_host.medium_byte:.3g} s: "
        "it is seconds of a byte, not bytes per second"
    )
