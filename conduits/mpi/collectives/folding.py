"""Any number of ranks for algorithms that want a power of two: some ranks act for a neighbour too."""

from __future__ import annotations

import attrs


@attrs.frozen
class Fold:
    """A rank among those that act.

    Attributes:
        size: how many act, the largest power of two that there is.
        extra: how many ranks there are beyond it; the first `extra` that act do so for two.
        rank: this rank's number among those that act, or that of who acts for it.
        partner: the other rank of its pair, -1 where it is in none.
        idle: whether its partner acts for it.
    """

    size: int
    extra: int
    rank: int
    partner: int
    idle: bool

    def real(self, number: int) -> int:
        """Return the rank that acts as this number: of a pair the higher."""
        return 2 * number + 1 if number < self.extra else number + self.extra

    def members(self, low: int, high: int) -> list[int]:
        """Return the ranks for whom the numbers low to high - 1 act; they are consecutive."""
        return list(range(self._start(low), self._start(high)))

    def _start(self, number: int) -> int:
        return number + min(number, self.extra)


def folded(rank: int, size: int) -> Fold:
    """Return how a rank takes part: of the first 2 * extra ranks the odd ones act for the even ones before them."""
    most = 1 << (size.bit_length() - 1)
    extra = size - most
    if rank < 2 * extra:
        return Fold(most, extra, rank // 2, rank ^ 1, rank % 2 == 0)
    return Fold(most, extra, rank - extra, -1, False)
