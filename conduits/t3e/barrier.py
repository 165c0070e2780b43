"""The barrier units: registers at each node, and a tree over the torus that combines what is written to them.

A processor writes its unit's register; where all below a node have, a packet goes to the node above, over a link of the
torus, before all others.  From the root the same way back; then each processor reads in its register that all have.
"""

from __future__ import annotations

from collections.abc import Sequence

from conduit.sim.topology import Torus
from conduit.simnet import HardwareBarrier
from conduits.t3e import constants as c


class BarrierTree(HardwareBarrier):
    """The units of the nodes of a job.

    Args:
        torus: the machine's.
        nodes: the node of each rank.
    """

    def __init__(self, torus: Torus, nodes: Sequence[int]) -> None:
        self.access_ps = c.ps(c.BARRIER_ACCESS)
        stage = c.ps(c.BARRIER_STAGE)
        self._ways = [links * stage for links in distances(torus, nodes)]

    def seen(self, arrived: Sequence[int]) -> Sequence[int]:
        """Return when each processor has read that all are there."""
        at_root = max(map(int.__add__, arrived, self._ways))
        return [at_root + way + self.access_ps for way in self._ways]


def distances(torus: Torus, nodes: Sequence[int]) -> list[int]:
    """Return how many links each node is from the root, which is in the middle along each dimension."""
    places = list(map(torus.coordinates, nodes))
    found = [0] * len(places)
    for dimension, side in enumerate(torus.shape):
        here = [place[dimension] for place in places]
        ways = [[_around(middle, place, side) for place in here] for middle in range(side)]
        found = list(map(int.__add__, found, min(ways, key=max)))
    return found


def _around(one: int, other: int, side: int) -> int:
    """Return how far apart two places of a ring are."""
    way = abs(one - other)
    return min(way, side - way)
