"""Scatters: to each rank its block of the root's buffer.

Args of all: `blocks`, at the root all of them, else None; `mine`, where this rank's goes, None at a root whose own
stays where it is; `root`.
"""

from __future__ import annotations

from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.nodes import nodes
from conduits.mpi.collectives.tree import binomial as place_of


def linear(channel: CollectiveChannel, blocks: Blocks | None, mine: memoryview | None, root: int) -> Steps:
    """The root sends each its own."""
    if blocks is None:
        assert mine is not None
        yield [channel.recv(root, mine)]
        return
    begun = [channel.send(each, blocks.one(each)) for each in range(channel.size) if each != root]
    _keep(channel, blocks, mine, root)
    yield begun


def binomial(channel: CollectiveChannel, blocks: Blocks | None, mine: memoryview | None, root: int) -> Steps:
    """Along a binomial tree; blocks of one size."""
    place = place_of(channel.rank, channel.size, root)
    if blocks is not None:
        _keep(channel, blocks, mine, root)
        have = blocks
        order = {rank: rank for rank in place.subtree}
    else:
        assert mine is not None
        assert place.parent is not None
        have = Blocks.room([len(mine)] * len(place.subtree))
        order = {rank: number for number, rank in enumerate(place.subtree)}
        landing = mine if len(place.subtree) == 1 else have.view
        yield [channel.recv(place.parent, landing)]
        if len(place.subtree) > 1:
            channel.copy(have.one(0), mine)
    yield [
        channel.send(child, have.packed(channel, [order[rank] for rank in subtree]))
        for child, subtree in zip(reversed(place.children), reversed(place.subtrees), strict=True)
    ]


def two_level(channel: CollectiveChannel, blocks: Blocks | None, mine: memoryview | None, root: int) -> Steps:
    """The root sends the leader of each other host the blocks of that host; leaders deal them out; of one size."""
    where = nodes(channel, root)
    own = channel.part(where.group)
    leader = where.group.index(where.leader)
    if channel.rank != where.leader:
        yield from linear(own, None, mine, leader)
        return
    if blocks is not None:
        others = [
            channel.send(chief, blocks.packed(channel, group))
            for chief, group in zip(where.leaders, where.groups, strict=True)
            if chief != root
        ]
        part = Blocks(blocks.view, tuple(blocks.places[rank] for rank in where.group))
        yield from linear(own, part, mine, leader)
        yield others
    else:
        assert mine is not None
        part = Blocks.room([len(mine)] * len(where.group))
        yield [channel.recv(root, part.view)]
        yield from linear(own, part, mine, leader)


def _keep(channel: CollectiveChannel, blocks: Blocks, mine: memoryview | None, rank: int) -> None:
    """Bring the root's own block to its place."""
    if mine is not None:
        channel.copy(blocks.one(rank), mine)
