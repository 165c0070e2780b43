"""Barriers that can be called again after they were cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import trio

from extended.program_lines import line_here

if TYPE_CHECKING:
    from extended import Team

_begun: WeakKeyDictionary[Team, CancelledCall] = WeakKeyDictionary()
"""The calls that were cancelled as they waited in a team's barrier: this PE has come to it, and the others know."""


class CancelledCall(NamedTuple):
    """A call that was cancelled.

    Attributes:
        name: of it.
        text: its name and line.
    """

    name: str
    text: str


async def meet(team: Team, call: str) -> None:
    """Wait until all PEs of a team are here; called again after it was cancelled, it ends what it has begun.

    Args:
        team: the PEs.
        call: that waits; another one than the call that was cancelled ends that first.
    """
    earlier = _begun.get(team)
    if earlier is not None:
        await team.end_barrier(earlier.text, _here(call))
        _begun.pop(team, None)
        if earlier.name == call:
            return
    try:
        await team.barrier(called=call)
    except trio.Cancelled:
        _begun[team] = CancelledCall(call, _here(call))
        raise


def _here(call: str) -> str:
    return f"{call} at {line_here()}"
