"""How fast a processor moves bytes between another node's memory and its own.

Measured moves of three sizes give two slopes: up to the second size, and beyond it for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from conduit.sim.units import US, duration


@attrs.frozen
class Pace:
    """How long the bytes of a move take in addition to the first few.

    Attributes:
        first: bytes that take none.
        bend: bytes up to which the first slope holds.
        slopes: bytes per second, up to `bend` and from there on.
    """

    first: int
    bend: int
    slopes: tuple[float, float]

    def ticks(self, nbytes: int) -> int:
        """Return what a move of `nbytes` takes longer than one of `first`, picoseconds."""
        near = max(0, min(nbytes, self.bend) - self.first)
        far = max(0, nbytes - self.bend)
        return duration(near, self.slopes[0]) + duration(far, self.slopes[1])


def through(points: Sequence[tuple[int, float]]) -> Pace:
    """Return the pace of a machine whose moves were measured: three sizes in bytes, each with its microseconds."""
    (small, first), (bend, second), (large, third) = points
    near, far = (second - first) * US, (third - second) * US
    return Pace(small, bend, ((bend - small) * 1e12 / near, (large - bend) * 1e12 / far))
