"""How long a message takes on a simulated network, and whether the suite's programs can wait for it."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import conduit
from conduit.errors import BadRequest

if TYPE_CHECKING:
    from conduit import Endpoint, Token
    from conduit.launch.registry import Spec

SLOWEST = 1e-3
"""Seconds that a round trip may take.  The suite's programs poll, compute and set limits by what networks take, which
is far less: where messages are slower they poll for hours, and what they compare comes in another order."""


def refuse_slow(spec: Spec) -> None:
    """Refuse a network on which the suite's programs would not come to their end.

    Raises:
        BadRequest: a round trip takes longer than SLOWEST.
    """
    if not spec.simulated:
        return
    took = 0.0
    with suppress(Exception):  # what fails here fails in the suite, which says more about it
        took = max(conduit.run(_round_trip, ranks=2, conduit=spec.text).values)
    if took > SLOWEST:
        raise BadRequest(
            f"a round trip on '{spec.text}' takes {took:.6g} s of simulated time, and the suite's programs can wait "
            f"for at most {SLOWEST:g} s; give other options: a time without a unit is in seconds, write 1us for a "
            "microsecond"
        )


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
