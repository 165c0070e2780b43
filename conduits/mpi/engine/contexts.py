"""Numbers of contexts, by which messages of different communicators are told apart.

The ranks that make a communicator agree upon its number: each proposes the lowest that no communicator of its own has
had, and the highest of these is taken.  Two agreements that have a rank in common and go on at once could end with one
number so, as each may get it of another rank.  So a rank that has an agreement under way proposes, to all that it takes
part in meanwhile, numbers that are higher than all ordinary ones and that it alone ever proposes.  What two agreements
take then differs: one of them is over where the other one begins, or has such a number.

On real MPI the number is the tag of the messages by which a communicator is made, and these are what must not mix.
"""

from __future__ import annotations

from conduits.mpi.errors import ErrorClass, MpiError

CONTEXTS = 3
"""Of a communicator: what programs send, what collectives send, and what a part of its ranks sends that makes a
communicator of its own."""
P2P, HIDDEN, GROUP = range(CONTEXTS)
"""These three."""
END = 1 << 32
"""Envelopes have 32 bits for the number."""
OWN = END // 2
"""From here on each number is one rank's to propose, where all of them can be used."""


class ContextNumbers:
    """The numbers that one rank knows of.

    Args:
        rank: the rank.
        size: ranks of the job.
        end: all numbers are below it; the upper half of them are single ranks' own.

    Attributes:
        lowest: the lowest ordinary number that no communicator of this rank has had.
    """

    __slots__ = ("_end", "_first_own", "_own", "_rank", "_size", "_under_way", "lowest")

    def __init__(self, rank: int, size: int, end: int = END) -> None:
        self.lowest = 0
        self._rank = rank
        self._size = size
        self._end = end
        self._first_own = end // 2
        self._own = 0  # proposals of numbers that are this rank's own
        self._under_way = 0  # agreements

    def take(self) -> int:
        """Return the first number of a communicator that all ranks make without an agreement, each in the same order.

        For who prepares a job.
        """
        first = self.lowest
        self.lowest += CONTEXTS
        return first

    def propose(self) -> int:
        """Begin an agreement: return what this rank proposes in it; the highest of all wins.

        Raises:
            MpiError: there are no more numbers.
        """
        if self._under_way:
            proposed = self._first_own + (self._own * self._size + self._rank) * CONTEXTS
            self._own += 1
            end = self._end
        else:
            proposed, end = self.lowest, self._first_own
        if proposed + CONTEXTS > end:
            raise MpiError(
                ErrorClass.ERR_OTHER,
                f"rank {self._rank} has no number left for a communicator: it has made too many, or too many of its "
                "tasks have made one at once; use those that there are again",
            )
        self._under_way += 1
        return proposed

    def agreed(self, context: int) -> None:
        """End an agreement, with the number that was taken."""
        self._under_way -= 1
        if context < self._first_own:
            self.lowest = max(self.lowest, context + CONTEXTS)
