"""How hosts are wired: cable by cable between two or three, through switches up to eight.

Stripes take the links of a host in an order that begins in different NIs: link 0 of each NI, then link 1 of
each.  With switches, as many as leave no link over are used (2 for four hosts of four links, 4 for eight).
Counted NI by NI, link *k* of every host goes to switch *k* modulo their number, so that the links of an NI go
to different switches.  Between two hosts wired directly each link goes to its like; of three, link 0 of each NI goes to
link 1 of the next host's.

Source: Sistare and Jackson, section 2.4; the Queen's paper, section II and Figure 1.
"""

from __future__ import annotations

import attrs

from conduit.sim.kernel import Kernel
from conduits.sunfire import constants as c
from conduits.sunfire.hardware.parts import Cable, Component, Half, Interface, Lane

NI_LINKS = c.whole(c.NI_LINKS)
_SWITCH_LINKS = c.whole(c.SWITCH_LINKS)
MAX_HOSTS = c.whole(c.MAX_HOSTS)
DIRECT_HOSTS = c.whole(c.DIRECT_HOSTS)
MAX_NIS = c.whole(c.NI_MAX)


@attrs.frozen
class ClusterTopology:
    """The hosts of a cluster, and how they are wired.

    Attributes:
        hosts: nodes, 2 to 8; without switches 2 or 3.
        nis: network interfaces of each host, 1 to 8.
        switched: whether links go through switches.
    """

    hosts: int = attrs.field()
    nis: int = attrs.field(validator=[attrs.validators.ge(1), attrs.validators.le(MAX_NIS)])
    switched: bool = True

    @hosts.validator
    def _check_hosts(self, _: object, hosts: int) -> None:
        most = MAX_HOSTS if self.switched else DIRECT_HOSTS
        if not 2 <= hosts <= most:
            how = "through switches" if self.switched else "without switches"
            raise ValueError(f"{hosts} hosts cannot be wired {how}; 2 to {most} can")

    @property
    def links(self) -> int:
        """Links of each host."""
        return self.nis * NI_LINKS

    @property
    def switches(self) -> int:
        """How many switches it has."""
        if not self.switched:
            return 0
        ports = next(size for size in (2, 4, 8) if size >= self.hosts)
        return -(-self.links * ports // _SWITCH_LINKS)


TOPOLOGIES = {
    "sis": ClusterTopology(c.whole(c.SIS_HOSTS), c.whole(c.SIS_NIS)),
    "q": ClusterTopology(c.whole(c.Q_HOSTS), c.whole(c.Q_NIS)),
}
"""The two clusters that the papers measured."""


class Inventory:
    """The parts of a cluster, wired.

    Args:
        kernel: of the job.
        topology: what it is made of.

    Attributes:
        interfaces: by host and index.
        cables: by host, NI and link of the end they are named after.
        switches: in order.
        parts: all of them by name.
    """

    def __init__(self, kernel: Kernel, topology: ClusterTopology) -> None:
        self.topology = topology
        self.interfaces = {
            (host, index): Interface(kernel, host, index)
            for host in range(topology.hosts)
            for index in range(topology.nis)
        }
        self.switches = [Component(f"switch{index}") for index in range(topology.switches)]
        self.cables: dict[tuple[int, int, int], Cable] = {}
        self._ends: dict[tuple[int, int, int], tuple[Cable, Half, Half]] = {}  # cable, outward, inward
        for host, ni, link in self.links():
            if topology.switched:
                self._lay(kernel, (host, ni, link))
            elif (host, ni, link) not in self._ends:
                self._lay(kernel, (host, ni, link), _opposite(topology.hosts, host, ni, link))
        self._lanes: dict[tuple[tuple[int, int, int], tuple[int, int, int]], Lane] = {}
        parts: list[Component] = [*self.interfaces.values(), *self.switches, *self.cables.values()]
        self.parts = {part.name: part for part in parts}
        for (host, ni, link), (cable, _, _) in self._ends.items():
            self.parts[f"link{host}.{ni}.{link}"] = cable  # a cable between hosts has a name at each end

    def links(self) -> list[tuple[int, int, int]]:
        """Return host, NI and link number of every link, first NIs' first links first."""
        topology = self.topology
        return [
            (host, ni, link) for host in range(topology.hosts) for link in range(NI_LINKS) for ni in range(topology.nis)
        ]

    def interfaces_of(self, host: int) -> list[Interface]:
        """Return the NIs of a host, in order."""
        return [self.interfaces[host, index] for index in range(self.topology.nis)]

    def halves(self, host: int, *, outward: bool) -> list[Half]:
        """Return the directions of a host's cables that leave it, or those that come in."""
        return [out if outward else into for end, (_, out, into) in self._ends.items() if end[0] == host]

    def lanes(self, source: int, target: int) -> list[Lane]:
        """Return the lanes between two hosts that work for all one knows, in the order in which stripes take them."""
        outward = [end for end in self.links() if end[0] == source and self._trusted(end)]
        if not self.topology.switched:
            found = []
            for end in outward:
                far = _opposite(self.topology.hosts, *end)
                if far[0] == target and self._trusted(far):
                    found.append(self._lane(end, far))
            return found
        inward = [end for end in self.links() if end[0] == target and self._trusted(end)]
        found = []
        for end in outward:
            switch = self._switch(end)
            other = next((other for other in inward if self._switch(other) == switch), None)
            if other is not None and self.switches[switch].trusted:
                inward.remove(other)
                found.append(self._lane(end, other))
        return found

    def between(self, source: int, target: int) -> list[Component]:
        """Return every part that could be on the way between two hosts, sorted by name."""
        found: set[Component] = {*self.switches}
        for (host, ni, link), (cable, _, _) in self._ends.items():
            far = target if self.topology.switched else _opposite(self.topology.hosts, host, ni, link)[0]
            if host in (source, target) and far in (source, target):
                found |= {self.interfaces[host, ni], cable}
        return sorted(found, key=lambda part: part.name)

    def _trusted(self, end: tuple[int, int, int]) -> bool:
        return self._ends[end][0].trusted and self.interfaces[end[:2]].trusted

    def _switch(self, end: tuple[int, int, int]) -> int:
        _, ni, link = end
        return (ni * NI_LINKS + link) % len(self.switches)

    def _lay(self, kernel: Kernel, end: tuple[int, int, int], other: tuple[int, int, int] | None = None) -> None:
        host, ni, link = end
        self.cables[end] = cable = Cable(kernel, f"link{host}.{ni}.{link}")
        self._ends[end] = cable, cable.there, cable.back
        if other is not None:
            self._ends[other] = cable, cable.back, cable.there

    def _lane(self, end: tuple[int, int, int], other: tuple[int, int, int]) -> Lane:
        found = self._lanes.get((end, other))
        if found is None:
            cable, out, _ = self._ends[end]
            halves, switch = [(out, cable)], None
            if self.topology.switched:
                far, _, into = self._ends[other]
                halves.append((into, far))
                switch = self.switches[self._switch(end)]
            found = Lane(self.interfaces[end[:2]], self.interfaces[other[:2]], halves, switch)
            self._lanes[end, other] = found
        return found


def _opposite(hosts: int, host: int, ni: int, link: int) -> tuple[int, int, int]:
    """Return the other end of a cable between hosts."""
    if hosts == 2:
        return 1 - host, ni, link
    return ((host + 1) % 3, ni, 1) if link == 0 else ((host - 1) % 3, ni, 0)
