"""How long a message takes on a simulated network, and whether the suite's programs can wait for it."""

from __future__ import annotations

import re
import time
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import attrs

import conduit
from conduit.errors import BadRequest, TimeLimit
from conduit.launch.registry import parse_spec

if TYPE_CHECKING:
    from conduit import Endpoint, Token

SLOW = 1e-3
"""Seconds that a round trip may take without a word.  The suite's programs poll, compute and set limits by what
networks take, which is far less: where messages are slower, checks that poll take long."""
SLOWEST = 0.1
"""Seconds that a round trip may take: beyond, the suite's programs poll for hours."""
_LIMITS = [10.0**power for power in range(-6, 5)]
"""Virtual seconds that the job may take which looks, one after another: as long as it is quick to see."""
_PATIENCE_S = 0.2
"""Seconds of this process that a job may take for another to follow with ten times the limit."""
_BARE = re.compile(r"(\w+)=[\d.]+(e[+-]?\d+)?(?=,|$)")


def refuse_slow(text: str) -> None:
    """Refuse a network on which the suite's programs would not come to their end.

    Args:
        text: its spec, as it was written.

    Raises:
        BadRequest: a round trip takes longer than SLOWEST.
    """
    took = round_trip(text)
    if took > SLOWEST:
        raise BadRequest(
            f"a round trip on '{text}' takes {took:.6g} s of simulated time, and the suite's programs "
            f"can wait for at most {SLOWEST:g} s; give other options{_units(text)}"
        )


def slow(text: str) -> str:
    """Return what is to be said before the checks of a network on which they take long, "" of another."""
    took = round_trip(text)
    if took <= SLOW:
        return ""
    return (
        f"a round trip on '{text}' takes {took * 1e3:.6g} ms of virtual time: checks that poll take long{_units(text)}"
    )


@cache
def round_trip(text: str) -> float:
    """Return the seconds of virtual time that a request and its reply take; 0.0 where the checks are to see it."""
    if not parse_spec(text).simulated:
        return 0.0
    for limit in _LIMITS:
        begin = time.process_time()
        try:
            return float(max(conduit.run(_round_trip, ranks=2, conduit=text, time_limit=limit).values))
        except TimeLimit:
            pass  # a longer one shows whether it comes to its end
        except Exception:  # what fails here fails in the suite, which says more about it
            return 0.0
        if time.process_time() - begin > _PATIENCE_S:
            break  # something goes on for ever
    return 0.0


def meant(text: str) -> str:
    """Return what is to be said of a spec, as it was written, whose times lack units and are absurd, "" of others."""
    whole = _in_microseconds(text, SLOW)
    try:
        if whole == text or (took := round_trip(text)) <= SLOWEST or round_trip(whole) > SLOWEST:
            return ""
    except BadRequest:  # what stands there is no number of microseconds
        return ""
    return (
        f"a round trip on '{text}' takes {took:.6g} s of virtual time, as a time without a unit is in seconds; where "
        f"microseconds are meant write {whole}"
    )


def _units(text: str) -> str:
    """Say how a time is written that the spec gives without a unit, "" where it gives none."""
    if _in_microseconds(text, 0.0) == text:
        return ""
    return ": a time without a unit is in seconds, write 1us for a microsecond"


def _in_microseconds(text: str, least: float) -> str:
    """Return a spec with microseconds for each time that it gives without a unit and that is not less than `least`."""
    options: Any = type(parse_spec(text).options)
    fields = attrs.fields_dict(options)

    def with_unit(found: re.Match[str]) -> str:
        field = fields.get(found[1])
        is_time = field is not None and re.search(r"\b(s|seconds)$", field.metadata.get("help", ""))
        return f"{found[0]}us" if is_time and float(found[0].partition("=")[2]) >= least else found[0]

    name, colon, rest = text.partition(":")
    return name + colon + _BARE.sub(with_unit, rest)


async def _round_trip(ep: Endpoint) -> float:
    """Return what a request and its reply take, on rank 0: the second ones, for the first may make a connection."""
    answers: list[int] = []

    def ask(token: Token) -> None:
        token.reply_short(answer)

    def answer(token: Token) -> None:
        answers.append(token.rank)

    await ep.attach(ask, answer)
    took = 0.0
    if ep.rank == 0:
        for count in (1, 2):
            begin = ep.now
            await ep.request_short(1, ask)
            await ep.block_until(partial(_are, answers, count))
            took = ep.now - begin
    return took


def _are(answers: list[int], count: int) -> bool:
    return len(answers) == count
