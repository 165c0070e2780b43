"""Calls that are refused again and again, in a loop that catches what they raise.

They are refused when they are made, before any await: such a loop gives nothing else a turn, and would go on for ever.
"""

from __future__ import annotations

from types import CodeType
from typing import NoReturn

from conduit.core import written
from conduit.core.endpoint import Endpoint
from conduit.errors import BadRequest

MOST_REFUSED = 100_000
"""Calls of a rank that may be refused while no time passes, before that ends the job."""


class _Row:
    """Refusals one after another, of one rank at one time: who lets no time pass is the only one that runs."""

    def __init__(self) -> None:
        self.of: tuple[int, int] | None = None
        self.count = 0


_ROW = _Row()


def are_too_many(endpoint: Endpoint, error: BadRequest, code: CodeType, lasti: int) -> bool:
    """Count a refusal; return whether there were too many, so that the job ends, and the call is to give it a turn.

    Args:
        endpoint: of the rank that makes the call.
        error: what it is refused with.
        code: of the line that makes it.
        lasti: where in that.
    """
    if not endpoint.simulated:  # time passes always
        return False
    of = id(endpoint), endpoint._port.ticks()
    if of != _ROW.of:
        _ROW.of, _ROW.count = of, 0
    _ROW.count += 1
    if _ROW.count == MOST_REFUSED:
        error.add_note(
            f"the call at {written.place(code, lasti)} was refused {MOST_REFUSED} times, one after another, and the "
            "program goes on: end the loop, or let the error end it"
        )
        endpoint._port.fail(error)
    return _ROW.count >= MOST_REFUSED


async def refuse_in_turn(endpoint: Endpoint, error: BadRequest) -> NoReturn:
    """Refuse a call when it is awaited, once the others have had their turn."""
    await endpoint._port.leave_if_ending()
    raise error
