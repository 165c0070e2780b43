"""Collective calls that have failed on a rank, or were cancelled there: others wait for their ends in vain.

MPI leaves open what becomes of a communicator then.  Here it is broken on that rank, and the report of a job that gets
no further says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from conduit.contract import ClueWait
from conduits.mpi.awaited.peers import ranks_in_words


@attrs.frozen
class FailedCall:
    """A collective call of one rank.

    Attributes:
        call: its name.
        comm: the name of its communicator.
        at: its line, file and number.
        error: what was raised in it, in words; "" where it was cancelled.
    """

    call: str
    comm: str
    at: str
    error: str

    @classmethod
    def of(cls, call: str, comm: str, at: str, error: BaseException) -> FailedCall:
        """Return that of a call which `error` has ended: an exception, or what cancels."""
        if not isinstance(error, Exception):
            return cls(call, comm, at, "")
        text = str(error).partition("\n")[0]
        return cls(call, comm, at, f"{type(error).__name__}{': ' * bool(text)}{text}")

    def on(self, ranks: str) -> str:
        """Return what has become of it on ranks, which are given in words."""
        return f"has failed on {ranks} with {self.error}" if self.error else f"was cancelled on {ranks}"


@attrs.frozen
class FailedCalls:
    """Those of one rank (`conduit.contract.Clue`).

    Attributes:
        calls: the last ones.
    """

    calls: tuple[FailedCall, ...]

    def advice(
        self, rank: int, waits: Callable[[int], Sequence[ClueWait]], others: Mapping[int, FailedCalls]
    ) -> str:  # fmt: skip
        """Return what has failed, each call as the first of the ranks that it has failed on alike; "" elsewhere."""
        found = []
        for each in self.calls:
            # The first one is soon found where all have failed alike.
            if next((other for other in others if each in others[other].calls), rank) == rank:
                alike = [other for other, clue in others.items() if each in clue.calls]
                found.append(_in_vain(each, alike or [rank]))
        return "; ".join(found)


def _in_vain(call: FailedCall, ranks: Sequence[int]) -> str:
    whom = "that rank" if len(ranks) == 1 else "them"
    later = f"for {whom} in a later collective"
    waiting = f"waits in it, or {later}," if call.error else f"waits {later}"
    return f"{call.call} on {call.comm} at {call.at} {call.on(ranks_in_words(ranks))}: whoever {waiting} waits in vain"
