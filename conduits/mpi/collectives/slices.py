"""How the ranks of a host divide a reduction: each combines slices of all operands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import attrs


class OperandSlice(NamedTuple):
    """A slice of the operand.

    Attributes:
        round: its round.
        start, stop: where it is in the operand, bytes.
        at: where it is among those of its worker, one behind the other.
    """

    round: int
    start: int
    stop: int
    at: int


@attrs.frozen
class Slices:
    """Rounds, in each of which every worker gets a slice, one behind the other.

    Attributes:
        nbytes: of the operand.
        width: bytes of a slice, whole elements.
        workers: who combines, the leader first.
    """

    nbytes: int
    width: int
    workers: tuple[int, ...]

    @classmethod
    def of(cls, nbytes: int, unit: int, size: int, leader: int, *, least: int, room: int) -> Slices:
        """Return how an operand is divided; small ones are the leader's alone.

        Args:
            nbytes: of the operand.
            unit: of an element.
            size: ranks of the host.
            leader: the one that gets all.
            least: bytes of a slice, unless an element is larger.
            room: bytes that a round has at most; an element has no more.
        """
        width = max(min(least, room) // unit, 1) * unit
        ranks = (leader, *(rank for rank in range(size) if rank != leader))
        needed = max(-(-nbytes // width), 1)
        return cls(nbytes, width, ranks[: min(max(room // width, 1), needed)])

    @property
    def turn(self) -> int:
        """Bytes of a round."""
        return self.width * len(self.workers)

    def rounds(self) -> Iterator[tuple[int, int, dict[int, int]]]:
        """Yield of each round where it begins and ends in the operand, and who has a slice of it, of how many bytes."""
        for start in range(0, max(self.nbytes, 1), self.turn):
            stop = min(start + self.turn, self.nbytes)
            few = self.workers[: max(-(-(stop - start) // self.width), 1)]
            yield (
                start,
                stop,
                {rank: min(self.width, stop - start - place * self.width) for place, rank in enumerate(few)},
            )

    def of_worker(self, rank: int) -> list[OperandSlice]:
        """Return the slices of a rank, in order."""
        if rank not in self.workers:
            return []
        first = self.workers.index(rank) * self.width
        starts = range(first, max(self.nbytes, 1) if not first else self.nbytes, self.turn)
        return [
            OperandSlice(number, start, min(start + self.width, self.nbytes), number * self.width)
            for number, start in enumerate(starts)
        ]
