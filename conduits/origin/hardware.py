"""The network: routers of two nodes each, hypercubes of eight routers, and metarouters that join the hypercubes.

A metarouter joins the same corner of all hypercubes, so that a way to another one goes up and down, and then along the
dimensions in which the corners differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from conduit.sim import Kernel
from conduits.globalmem.fabric import MemoryFabric
from conduits.origin import constants as c

GROUP = c.whole(c.GROUP)
PER_ROUTER = c.whole(c.PER_ROUTER)
CORNERS = GROUP // PER_ROUTER


class OriginFabric(MemoryFabric):
    """The memories and links of the machine.

    Args:
        kernel: their clock and events.
        contention: whether they are shared.
    """

    def __init__(self, kernel: Kernel, *, contention: bool) -> None:
        super().__init__(
            kernel, line=c.whole(c.LINE), service=c.ps(c.SERVICE), rate=c.bytes_per_s(c.RATE), contention=contention
        )

    def steps(self, source: int, target: int) -> Sequence[tuple[str, int]]:
        """Return the links from one node to another; the delay behind each is that of the router or hub it leads to.

        Routers are numbered hypercube by hypercube, metarouters by the corner that they join.
        """
        if source == target:
            return ()
        router, hub = c.ps(c.ROUTER), c.ps(c.HUB)
        group, corner = divmod(source // PER_ROUTER, CORNERS)
        there, last = divmod(target // PER_ROUTER, CORNERS)
        first = there * CORNERS  # router of that hypercube
        links = [(f"from node {source}", hub + router)]
        if group != there:
            links += [
                (f"router {group * CORNERS + corner} to metarouter {corner}", router),
                (f"metarouter {corner} to router {first + corner}", router),
            ]
        bit = 1
        while bit < CORNERS:
            if (corner ^ last) & bit:
                links.append((f"router {first + corner} to router {first + (corner ^ bit)}", router))
                corner ^= bit
            bit *= 2
        return [*links, (f"to node {target}", hub)]

    def routers(self, source: int, target: int) -> int:
        """Return how many routers are on the way from one node to another."""
        return max(0, len(self.steps(source, target)) - 1)
