"""Random traffic against a plain model of what Active Messages mean."""

from collections import Counter
from typing import Any

import attrs
import numpy as np
import pytest

from conduit import Endpoint, Token
from conduit.conformance.cases import Case
from conduit.conformance.hardware import memory
from conduit.conformance.patterns import pattern
from conduit.conformance.programs import CATEGORIES, answer, send

hypothesis: Any = pytest.importorskip("hypothesis")
strategies: Any = pytest.importorskip("hypothesis.strategies")

# Every message has its own place in the segment: requests first, then replies.
PLACE = 2200


@attrs.frozen
class RandomRequest:
    """One act of one rank: some work, then a request, and how it is to be answered (None: not at all)."""

    rank: int
    number: int
    dest: int
    category: str
    nbytes: int
    args: tuple[int, ...]
    reply: str | None
    reply_nbytes: int
    pause: int

    def request_payload(self) -> bytes | None:
        """Give what the request brings, None for a short one."""
        return None if self.category == "short" else pattern(self.nbytes, self.number)

    def reply_payload(self) -> bytes | None:
        """Give what the reply brings, None for a short one."""
        return None if self.reply == "short" else pattern(self.reply_nbytes, self.number + 100)


def _expected(script: list[RandomRequest], rank: int) -> Counter[Any]:
    """Say what the handlers of a rank will see, by the meaning of the calls alone."""
    seen: Counter[Any] = Counter()
    for step in script:
        if step.dest == rank:
            seen["request", step.category, step.rank, step.number, step.args, step.request_payload()] += 1
        if step.rank == rank and step.reply is not None:
            seen["reply", step.reply, step.dest, step.number, step.args[::-1], step.reply_payload()] += 1
    return seen


def _final_segment(script: list[RandomRequest], rank: int) -> bytes:
    """Say which bytes a rank's segment holds in the end."""
    held = np.zeros(2 * PLACE * len(script), np.uint8)
    for step in script:
        if step.dest == rank and step.category.startswith("long"):
            start = 2 * PLACE * step.number + step.number % 9
            held[start : start + step.nbytes] = np.frombuffer(pattern(step.nbytes, step.number), np.uint8)
        if step.rank == rank and step.reply == "long":
            start = 2 * PLACE * step.number + PLACE + step.number % 7
            held[start : start + step.reply_nbytes] = np.frombuffer(step.reply_payload() or b"", np.uint8)
    return held.tobytes()


async def _play(ep: Endpoint, script: list[RandomRequest]) -> tuple[Counter[Any], bytes]:
    """Do this rank's part of the script, then wait until all that the model expects has come."""
    seen: Counter[Any] = Counter()

    def note(kind: str, category: str, token: Token, rest: tuple[Any, ...]) -> RandomRequest:
        payload, args = (None, rest) if category == "short" else (bytes(rest[0]), rest[1:])
        step: RandomRequest = script[args[0]]
        seen[kind, category, token.rank, args[0], args[1:], payload] += 1
        return step

    def respond(token: Token, step: RandomRequest) -> None:
        if step.reply is None:
            return
        payload = step.reply_payload() or b""
        offset = 2 * PLACE * step.number + PLACE + step.number % 7
        answer(
            token, step.reply, handlers["back_" + step.reply], step.number, *step.args[::-1],
            payload=payload, offset=offset,
        )  # fmt: skip

    def ask_short(token: Token, *rest: Any) -> None:
        respond(token, note("request", "short", token, rest))

    def ask_medium(token: Token, *rest: Any) -> None:
        respond(token, note("request", "medium", token, rest))
        rest[0][:] = bytes(len(rest[0]))

    def ask_long(token: Token, *rest: Any) -> None:
        respond(token, note("request", "long", token, rest))

    def ask_long_async(token: Token, *rest: Any) -> None:
        respond(token, note("request", "long_async", token, rest))

    def back_short(token: Token, *rest: Any) -> None:
        note("reply", "short", token, rest)

    def back_medium(token: Token, *rest: Any) -> None:
        note("reply", "medium", token, rest)

    def back_long(token: Token, *rest: Any) -> None:
        note("reply", "long", token, rest)

    functions = (ask_short, ask_medium, ask_long, ask_long_async, back_short, back_medium, back_long)
    handlers = {function.__name__: function for function in functions}
    await ep.attach(*functions)
    for step in (step for step in script if step.rank == ep.rank):
        if step.pause:
            await ep.compute(step.pause * 1e-7)
        payload = bytearray(step.request_payload() or b"")
        offset = 2 * PLACE * step.number + step.number % 9
        handler = handlers["ask_" + step.category]
        await send(ep, step.category, step.dest, handler, step.number, *step.args, payload=payload, offset=offset)
        if step.category != "long_async":
            payload[:] = bytes(len(payload))
    expected = _expected(script, ep.rank)
    await ep.block_until(lambda: seen.total() >= expected.total(), what="the rest of the script")
    await ep.attach()
    return seen, bytes(memory(ep))


def _scripts(case: Case) -> Any:
    """Give scripts of 8 to 30 steps for the ranks of a case."""
    most = min(case.limits.max_medium, case.longest(), case.longest(reply=True), PLACE - 16)
    sizes = strategies.one_of(strategies.sampled_from(case.sizes(most)), strategies.integers(0, most))
    rank = strategies.integers(0, case.size - 1)
    word = strategies.integers(-(2**31), 2**31 - 1)
    step = strategies.fixed_dictionaries(
        {
            "rank": rank,
            "dest": rank,
            "category": strategies.sampled_from((*CATEGORIES, "long_async")),
            "nbytes": sizes,
            "args": strategies.lists(word, max_size=case.limits.max_args - 1).map(tuple),
            "reply": strategies.sampled_from((None, *CATEGORIES)),
            "reply_nbytes": sizes,
            "pause": strategies.sampled_from((0, 0, 0, 1, 7, 60, 400)),
        }
    )
    return strategies.lists(step, min_size=8, max_size=30).map(_numbered)


def _numbered(steps: list[dict[str, Any]]) -> list[RandomRequest]:
    """Number the steps; a long-async request is always answered."""
    for step in steps:
        if step["category"] == "long_async" and step["reply"] is None:
            step["reply"] = "short"
    return [RandomRequest(number=number, **step) for number, step in enumerate(steps)]


@pytest.mark.rule("R39", "R22", "R14", "R73")
def test_random_traffic_means_what_the_model_says(case: Case, request: pytest.FixtureRequest) -> None:
    """Handlers see every message once with its own contents, segments end as the model's, and counts agree."""

    def check(script: list[RandomRequest]) -> None:
        result = case.run(_play, script, segment=2 * PLACE * len(script))
        for rank, (seen, held) in enumerate(result.values):
            assert seen == _expected(script, rank)
            assert held == _final_segment(script, rank)
        counts = result.statistics
        assert sum(one["requests_sent"] for one in counts) == len(script)
        assert sum(one["replies_handled"] for one in counts) == sum(step.reply is not None for step in script)

    limits = hypothesis.settings(
        max_examples=40 if request.config.getoption("full") else 6,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.seed(case.seed)(limits(hypothesis.given(_scripts(case))(check)))()
