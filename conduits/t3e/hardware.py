"""The torus: nodes, each a processor and its memory, and links between neighbours in three dimensions, both ways."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.sim import Kernel
from conduit.sim.topology import Torus
from conduits.globalmem.fabric import MemoryFabric
from conduits.t3e import constants as c

SIDE = c.whole(c.SIDE)


class T3eFabric(MemoryFabric):
    """The memories and links of the machine; routes go along one dimension after the other.

    Args:
        kernel: their clock and events.
        contention: whether they are shared.
    """

    def __init__(self, kernel: Kernel, *, contention: bool) -> None:
        super().__init__(
            kernel, line=c.whole(c.LINE), service=c.ps(c.SERVICE), rate=c.bytes_per_s(c.RATE), contention=contention
        )
        self.torus = Torus((SIDE, SIDE, SIDE), both_ways=True)

    def steps(self, source: int, target: int) -> Sequence[tuple[str, int]]:
        """Return the links from one node to another, the way into the network and out of it among them.

        Those of the torus have the coordinates of the node that they leave, and the direction.
        """
        if source == target:
            return ()
        links = [(f"from node {source}", c.ps(c.ENTRY))]
        for node, dimension, forward in self.torus.route(source, target):
            x, y, z = self.torus.coordinates(node)
            links.append((f"({x},{y},{z}) to {'+' if forward else '-'}{'xyz'[dimension]}", c.ps(c.HOP)))
        return [*links, (f"to node {target}", c.ps(c.ENTRY))]
