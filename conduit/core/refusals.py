"""Calls that are refused again and again, in a loop that catches what they raise.

They are refused when they are made, before any await: such a loop gives nothing else a turn, and would go on for ever.
"""

from __future__ import annotations

from collections.abc import Coroutine
from types import FrameType
from typing import Any, NoReturn, Protocol

from conduit.contract import Port
from conduit.core import written

MOST_REFUSED = 10_000
"""Calls of a rank that may be refused while no time passes, before that ends the job."""


class Refusing(Protocol):
    """What is seen here of the rank that makes a call: its endpoint."""

    simulated: bool
    _port: Port


class _Row:
    """Refusals one after another, of one rank at one time: who lets no time pass is the only one that runs."""

    def __init__(self) -> None:
        self.of: tuple[int, int] | None = None
        self.count = 0


_ROW = _Row()


def refuse(endpoint: Refusing, error: Exception, frame: FrameType) -> Coroutine[Any, Any, NoReturn]:
    """Raise what refuses a call; after too many, which end the job, return what raises it once others have had a turn.

    Args:
        endpoint: of the rank that makes the call.
        error: what it is refused with.
        frame: of the line that makes it.
    """
    if endpoint.simulated and _are_too_many(endpoint, error, frame):  # elsewhere time passes always
        return _refuse_in_turn(endpoint, error)
    raise error


def _are_too_many(endpoint: Refusing, error: Exception, frame: FrameType) -> bool:
    """Count a refusal; return whether there were too many, so that the job ends."""
    of = id(endpoint), endpoint._port.ticks()
    if of != _ROW.of:
        _ROW.of, _ROW.count = of, 0
    _ROW.count += 1
    if _ROW.count == MOST_REFUSED:
        error.add_note(
            f"the call at {written.place(frame.f_code, frame.f_lasti)} was refused {MOST_REFUSED} times, one after "
            "another, and the program goes on: end the loop, or let the error end it"
        )
        endpoint._port.fail(error)
    return _ROW.count >= MOST_REFUSED


def refuse_reply(endpoint: Refusing, error: Exception, frame: FrameType) -> NoReturn:
    """Raise what refuses a call that nothing awaits, as a handler makes; after too many, leave that handler.

    Args:
        endpoint: of the rank that makes the call.
        error: what it is refused with.
        frame: of the line that makes it.
    """
    if endpoint.simulated and _are_too_many(endpoint, error, frame):
        raise SystemExit(1) from error  # which `except Exception` lets pass; the job has its error
    raise error


async def _refuse_in_turn(endpoint: Refusing, error: Exception) -> NoReturn:
    """Refuse a call when it is awaited, once the others have had their turn."""
    await endpoint._port.leave_if_ending()
    raise error
