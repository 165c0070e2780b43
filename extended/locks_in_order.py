"""What to do where ranks that have a lock wait for another: whether it is their order, all of them tell together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_IN_ONE_ORDER = "take several locks in the same order on every {}, or release one before the next is taken"


@attrs.frozen
class LocksInOrder:
    """The locks of one rank, a clue of its reports.

    Attributes:
        held: those that its tasks have, by what reports call them.
        wanted: those that they wait for.
        rank_word: what errors call a rank.
    """

    held: frozenset[str]
    wanted: frozenset[str]
    rank_word: str

    def advice(
        self, rank: int, waits: Callable[[int], Sequence[object]], others: Mapping[int, Any]
    ) -> str:  # as `conduit.contract.Clue` has it
        """Return it where who has the lock that this rank waits for waits for another one too."""
        for wanted in self.wanted:
            if self.held - {wanted} and any(wanted in each.held and each.wanted - {wanted} for each in others.values()):
                return _IN_ONE_ORDER.format(self.rank_word)
        return ""
