"""What the parts of a window's interface share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import conduit
from extended.front_ends import integer
from extended.windows.calls import Call, called, unplaced
from extended.windows.constants import MODE, PROC_NULL
from extended.windows.epochs import Epochs
from extended.windows.listened import ListenedOperations
from extended.windows.making import Made
from extended.windows.operations import Operations
from extended.windows.part import Part

_NOTHING = MODE(0)


class WindowBase:
    """A rank's end of a window.

    Args:
        made: the window; programs cannot make one, whatever else they give.
    """

    def __init__(self, made: Made | None = None, *others: object, **named: object) -> None:
        if not isinstance(made, Made) or others or named:
            raise conduit.BadRequest("Win: windows are not made by calling it; write `await Win.Allocate(...)`")
        service, shape, slot, checks = made.service, made.shape, made.slot, made.checks
        self._service = service
        self._ep = service.ep
        self._shape = shape
        self._team = shape.team
        self._rank = shape.team.rank
        self._size = shape.team.size
        self._checks = checks
        self._epochs = Epochs(made.call, checks=checks, forgotten=service.ep.refuse_forgotten)
        ranks = {member.rank: rank for rank, member in enumerate(shape.members)}
        self._team.title_barriers(self._epochs.calls_of_all)
        self._part = Part(shape.memory, ranks, self._rank, self._epochs)
        operations = Operations if service.ep.call_listener is None else ListenedOperations
        self._operations = operations(service, shape, self._part, slot, self._epochs, checks=checks)
        service.fill(slot, self._part, self._operations.left_open)
        self._slot = slot
        self._notified: Call | None = None  # the Fence that has come to a barrier and not ended it: it was cancelled

    def _call(self, name: str) -> Call:
        return called(name) if self._checks else unplaced(name)

    def _member(self, call: str, name: str, rank: Any, *, null: bool = False) -> int:
        if null and isinstance(rank, Integral) and int(rank) == PROC_NULL:
            return PROC_NULL
        return integer(call, name, rank, 0, self._size - 1, f"a rank of the window, 0 to {self._size - 1}")

    def _looked_at(self, assertion: MODE) -> bool:
        """Say whether ranks tell each other what NOCHECK says that they know: they do where calls are checked."""
        return self._checks or MODE.NOCHECK not in assertion


def assertion_of(call: str, assertion: Any, allowed: MODE) -> MODE:
    """Return the assertion of a call.

    Raises:
        conduit.BadRequest: one that is not allowed there.
    """
    if type(assertion) is int and not assertion:
        return _NOTHING
    names = " | ".join(f"MODE_{one.name}" for one in MODE if one in allowed)
    number = integer(call, "assertion", assertion, 0, max(MODE) * 2 - 1, f"0, or of {names}")
    if number & ~int(allowed):
        raise conduit.BadRequest(f"{call}: assertion={MODE(number)!r} is not for this call; give 0, or of {names}")
    return MODE(number)
