"""How long a message takes on a simulated network, and what is said where that is absurd for want of a unit."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import attrs

from conduit.errors import BadRequest, TimeLimit
from conduit.launch.printing import output, terminal
from conduit.launch.registry import parse_spec
from conduit.launch.run import run

if TYPE_CHECKING:
    from conduit.core.endpoint import Endpoint
    from conduit.core.token import Token

SLOW = 1e-3
"""Seconds that a round trip may take without a word.  The suite's programs poll, compute and set limits by what
networks take, which is far less: where messages are slower, checks that poll take long."""
SLOWEST = 0.1
"""Seconds that a round trip may take: beyond, the suite's programs poll for hours."""
_BYTES = 64
"""Of a message that shows what a network takes for bytes; every network takes so many in a medium message."""
_LIMITS = [10.0**power for power in range(-6, 10)]
"""Virtual seconds that the job may take which looks, one after another: as long as it is quick to see."""
_PATIENCE_S = 0.2
"""Seconds of this process that a job may take for another to follow with ten times the limit."""
_BARE = re.compile(r"(\w+)=[\d.]+(e[+-]?\d+)?(?=,|$)")


@attrs.frozen
class RoundTrip:
    """A request and its reply.

    Attributes:
        size: bytes of the request's payload; the reply has none.
        seconds: of virtual time that they take.
    """

    size: int
    seconds: float

    @property
    def name(self) -> str:
        """What it is called where one says how long it takes."""
        return f"a round trip with {self.size} bytes" if self.size else "a round trip"


def slowest(text: str, limit: float) -> RoundTrip | None:
    """Return a round trip on a network that takes longer than `limit`, None where none does.

    One without bytes is preferred, for it says more of the network.

    Args:
        text: its spec, as it was written.
        limit: in seconds of virtual time.
    """
    found = (RoundTrip(size, round_trip(text, size)) for size in (0, _BYTES))
    return next((each for each in found if each.seconds > limit), None)


@cache
def round_trip(text: str, size: int = 0) -> float:
    """Return the seconds of virtual time that a round trip takes; 0.0 where it is not seen to end.

    Args:
        text: the network's spec.
        size: bytes of the request's payload.
    """
    if not parse_spec(text).simulated:
        return 0.0
    for limit in _LIMITS:
        begin = time.process_time()
        try:
            return float(max(run(_round_trip, size, ranks=2, conduit=text, time_limit=limit).values))
        except TimeLimit:
            pass  # a longer one shows whether it comes to its end
        except Exception:  # what fails here fails in every program, which says more about it
            return 0.0
        if time.process_time() - begin > _PATIENCE_S:
            break  # something goes on for ever
    return 0.0


def meant(text: str) -> str:
    """Return what is to be said of a spec, as it was written, whose times lack units and are absurd, "" of others."""
    whole = _in_microseconds(text, SLOW)
    try:
        if whole == text or (found := slowest(text, SLOWEST)) is None or slowest(whole, SLOWEST) is not None:
            return ""
    except BadRequest:  # what stands there is no number of microseconds
        return ""
    return (
        f"{found.name} on '{text}' takes {found.seconds:.6g} s of virtual time, as a time without a unit is in "
        f"seconds; where microseconds are meant write {whole}"
    )


def warn_of_units(texts: Iterable[str]) -> None:
    """Print, once each, where times without a unit make a network absurdly slow; a process that is a rank does not.

    Args:
        texts: specs, as they were written; a `Spec` gives all times in seconds.
    """
    if output.is_first() and not output.is_framed():
        for said in filter(None, map(meant, dict.fromkeys(texts))):
            terminal.tell(f"warning: {said}")


def lacks_units(text: str) -> bool:
    """Say whether a spec gives a time without a unit."""
    return _in_microseconds(text, 0.0) != text


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


async def _round_trip(ep: Endpoint, size: int) -> float:
    """Return what a request and its reply take, on rank 0: the second ones, for the first may make a connection."""
    answers: list[int] = []

    def ask(token: Token, *payload: memoryview) -> None:
        token.reply_short(answer)

    def answer(token: Token) -> None:
        answers.append(token.rank)

    await ep.attach(ask, answer)
    took = 0.0
    if ep.rank == 0:
        for count in (1, 2):
            begin = ep.now
            await (ep.request_medium(1, ask, bytes(size)) if size else ep.request_short(1, ask))
            await ep.block_until(partial(_are, answers, count))
            took = ep.now - begin
    return took


def _are(answers: list[int], count: int) -> bool:
    return len(answers) == count
