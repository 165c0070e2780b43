"""How fast a processor moves bytes between another node's memory and its own.

Measured moves of three sizes give two slopes: up to the second size, and beyond it for ever.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from conduit.contract import Constant
from conduit.sim.units import US, duration
from conduit.simnet.constants import named, number


@attrs.frozen
class Pace:
    """How long the bytes of a move take in addition to the first few.

    Attributes:
        first: bytes that take none.
        bend: bytes up to which the first slope holds.
        slopes: bytes per second, up to `bend` and from there on.
        names: of the constants that give these.
    """

    first: int
    bend: int
    slopes: tuple[float, float]
    names: tuple[str, str]
    _known: dict[int, int] = attrs.field(factory=dict, init=False, eq=False, repr=False)

    def ticks(self, nbytes: int) -> int:
        """Return what a move of `nbytes` takes longer than one of `first`, picoseconds."""
        found = self._known.get(nbytes)
        if found is None:
            found = self._known[nbytes] = self._reckon(nbytes)
        return found

    def _reckon(self, nbytes: int) -> int:
        near = max(0, min(nbytes, self.bend) - self.first)
        far = max(0, nbytes - self.bend)
        return sum(
            named(duration(some, slope), name)
            for some, slope, name in zip((near, far), self.slopes, self.names, strict=True)
        )


def through(points: Sequence[tuple[int, Constant]]) -> Pace:
    """Return the pace of a machine from measured moves: three sizes in bytes, each with the time that it took."""
    (small, first), (bend, second), (large, third) = points
    near, far = (number(second) - number(first)) * US, (number(third) - number(second)) * US
    slopes = (bend - small) * 1e12 / near, (large - bend) * 1e12 / far
    return Pace(small, bend, slopes, (second.name, third.name))
