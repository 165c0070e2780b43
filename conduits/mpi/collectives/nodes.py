"""Which ranks share a host: the ranks of a host have a leader, which speaks for them to other hosts."""

from __future__ import annotations

import attrs

from conduits.mpi.collectives.channel import CollectiveChannel


@attrs.frozen
class Nodes:
    """The ranks of a channel by host.

    Attributes:
        groups: the ranks of each host, in order; hosts in the order of their lowest ranks.
        leaders: the leader of each.
        here: which of them is this rank's.
    """

    groups: tuple[tuple[int, ...], ...]
    leaders: tuple[int, ...]
    here: int

    @property
    def group(self) -> tuple[int, ...]:
        """The ranks of this host."""
        return self.groups[self.here]

    @property
    def leader(self) -> int:
        """The leader of this host."""
        return self.leaders[self.here]

    @property
    def consecutive(self) -> bool:
        """Whether the ranks of each host are consecutive."""
        return all(group[-1] - group[0] + 1 == len(group) for group in self.groups)


def nodes(channel: CollectiveChannel, root: int | None = None) -> Nodes:
    """Return who shares a host.

    Args:
        channel: of the call, with the ranks and their hosts.
        root: who leads its host; else, and elsewhere, the lowest rank does.
    """
    members: dict[int, list[int]] = {}
    for rank, host in enumerate(channel.hosts):
        members.setdefault(host, []).append(rank)
    groups = tuple(tuple(each) for each in members.values())
    leaders = tuple(root if root is not None and root in each else each[0] for each in groups)
    return Nodes(groups, leaders, list(members).index(channel.hosts[channel.rank]))
