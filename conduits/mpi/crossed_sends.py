"""Sends that wait for one another: each rank would receive only once its own large message has gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from conduit.contract import ClueWait

_APART = "write `request = await comm.Isend(...)` in its place, then the receive, then `await request.Wait()`"
_TO_ITSELF = f"a large message to oneself waits for its receive: {_APART}"
_TO_OTHERS = (
    "each rank of the cycle waits in a send for the receive that another is to make after its own send: let one of "
    f"them receive first, or write `await comm.Sendrecv(...)` for the send and the receive, or {_APART}"
)


class UntilReceived(str):
    """What a call waits for that sends and does not return before a receive takes a large message, in words."""

    __slots__ = ()


@attrs.frozen
class Unasked:
    """Whose messages are at a rank that no receive asks for: the others' sends go on (`conduit.contract.Clue`).

    Attributes:
        senders: their ranks.
    """

    senders: frozenset[int]

    def advice(self, rank: int, waits: Callable[[int], Sequence[ClueWait]], others: Mapping[int, Unasked]) -> str:
        """Return what to do where a rank waits in a send that is one of a cycle, as its lowest rank; "" elsewhere."""
        if max(self.senders, default=-1) < rank:  # as on nearly all ranks of a large cycle
            return ""
        at, known = rank, dict[int, None]()
        while not known or at != rank:
            known[at] = None
            sends = [each for each in waits(at) if isinstance(each.what, UntilReceived)]
            if len(sends) != 1:
                return ""
            (dest,) = sends[0].ranks
            if dest < rank or (dest in known and dest != rank):
                return ""
            if dest not in others or at not in others[dest].senders:
                return ""
            at = dest
        return _TO_OTHERS if len(known) > 1 else _TO_ITSELF
