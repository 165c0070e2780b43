"""Which ranks of a team share a host.

A pure function of the hosts, so one result serves all ranks of a job: with a thousand ranks, each of which works it out
for itself, a barrier would begin with a million steps.
"""

from __future__ import annotations

from functools import lru_cache


class Topology:
    """The ranks of a team by host.

    Attributes:
        size: number of ranks of the team.
        groups: the ranks of each host, ascending; hosts in the order of their first ranks.
        group_of: for every rank, the number of its group.
        place_of: for every rank, its place in its group.
        order: all ranks, group after group.
        contiguous: whether `order` is the ranks' own order, so that each host has consecutive ones.

    Args:
        hosts: the host of every rank of the team, by rank.
    """

    def __init__(self, hosts: tuple[int, ...]) -> None:
        found: dict[int, list[int]] = {}
        for rank, host in enumerate(hosts):
            found.setdefault(host, []).append(rank)
        self.size = len(hosts)
        self.groups = tuple(map(tuple, found.values()))
        number_of = {host: number for number, host in enumerate(found)}
        self.group_of = tuple(number_of[host] for host in hosts)
        self.place_of = [0] * self.size
        for group in self.groups:
            for place, rank in enumerate(group):
                self.place_of[rank] = place
        self.order = tuple(rank for group in self.groups for rank in group)
        self.contiguous = self.order == tuple(range(self.size))

    @property
    def shared(self) -> bool:
        """Whether there are several hosts and some host has several ranks, so that levels make sense."""
        return 1 < len(self.groups) < self.size


@lru_cache(maxsize=16)
def topology(hosts: tuple[int, ...]) -> Topology:
    """Return the topology of a team whose ranks are on these hosts."""
    return Topology(hosts)
