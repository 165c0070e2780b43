"""Sends that wait for one another: each rank would receive only once its own large message has gone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol

_APART = "write `request = await comm.Isend(...)` in its place, then the receive, then `await request.Wait()`"
_TO_ITSELF = f"a large message to oneself waits for its receive: {_APART}"
_TO_OTHERS = (
    "each rank of the cycle waits in a send for the receive that another is to make after its own send: let one of "
    f"them receive first, or write `await comm.Sendrecv(...)` for the send and the receive, or {_APART}"
)


class UntilReceived(str):
    """What a call waits for that sends and does not return before a receive takes a large message, in words."""

    __slots__ = ()


class SendWait(Protocol):
    """What a rank waits for."""

    @property
    def what(self) -> str:
        """In words, those of a send being `UntilReceived`."""
        ...

    @property
    def ranks(self) -> Iterable[int]:
        """Who must bring it about."""
        ...


def on_crossed_sends(
    first: int, waits: Callable[[int], Iterable[SendWait]], unasked: Callable[[int], Collection[int]]
) -> str:
    """Return what to do where a rank waits in a send that is one of a cycle, as its lowest rank; "" elsewhere.

    Args:
        first: the rank.
        waits: returns what a rank waits for.
        unasked: returns whose messages are at a rank that no receive asks for: the others' sends go on.
    """
    if max(unasked(first), default=-1) < first:  # as on nearly all ranks of a large cycle
        return ""
    rank, known = first, dict[int, None]()
    while not known or rank != first:
        known[rank] = None
        sends = [each for each in waits(rank) if isinstance(each.what, UntilReceived)]
        if len(sends) != 1:
            return ""
        (dest,) = sends[0].ranks
        if dest < first or (dest in known and dest != first) or rank not in unasked(dest):
            return ""
        rank = dest
    return _TO_OTHERS if len(known) > 1 else _TO_ITSELF
