"""The torus: nodes, each a processor and its memory, and links between neighbours in three dimensions, both ways."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

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

    def steps(self, source: int, target: int) -> Sequence[tuple[Hashable, int]]:
        """Return the links from one node to another, the way into the network and out of it among them."""
        if source == target:
            return ()
        links: list[tuple[Hashable, int]] = [(("out", source), c.ps(c.ENTRY))]
        links += [(step, c.ps(c.HOP)) for step in self.torus.route(source, target)]
        return [*links, (("in", target), c.ps(c.ENTRY))]
