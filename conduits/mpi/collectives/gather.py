"""Gathers: of each rank its block into the root's buffer.

Args of all: `mine`, this rank's, None at a root whose own is in its place; `blocks`, at the root where all go, else
None; `root`.
"""

from __future__ import annotations

from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.nodes import nodes
from conduits.mpi.collectives.tree import binomial as place_of


def linear(channel: CollectiveChannel, mine: memoryview | None, blocks: Blocks | None, root: int) -> Steps:
    """Each sends the root its own."""
    if blocks is None:
        yield [channel.send(root, mine)]
        return
    begun = [channel.recv(each, blocks.one(each)) for each in range(channel.size) if each != root]
    _keep(channel, mine, blocks, root)
    yield begun


def binomial(channel: CollectiveChannel, mine: memoryview | None, blocks: Blocks | None, root: int) -> Steps:
    """Along a binomial tree; blocks of one size."""
    place = place_of(channel.rank, channel.size, root)
    if blocks is not None:
        _keep(channel, mine, blocks, root)
        have = blocks
        order = {rank: rank for rank in place.subtree}
    else:
        assert mine is not None
        assert place.parent is not None
        if not place.children:
            yield [channel.send(place.parent, mine)]
            return
        have = Blocks.room([len(mine)] * len(place.subtree))
        order = {rank: number for number, rank in enumerate(place.subtree)}
        channel.copy(mine, have.one(0))
    chosen = [[order[rank] for rank in subtree] for subtree in place.subtrees]
    landings = [have.landing(ranks) for ranks in chosen]
    yield [channel.recv(child, landing) for child, landing in zip(place.children, landings, strict=True)]
    for ranks, landing in zip(chosen, landings, strict=True):
        have.unpack(channel, ranks, landing)
    if place.parent is not None:
        yield [channel.send(place.parent, have.view)]


def two_level(channel: CollectiveChannel, mine: memoryview | None, blocks: Blocks | None, root: int) -> Steps:
    """The leader of each host collects the blocks of its host and sends them to the root; of one size."""
    where = nodes(channel, root)
    own = channel.part(where.group)
    leader = where.group.index(where.leader)
    if channel.rank != where.leader:
        yield from linear(own, mine, None, leader)
    elif blocks is None:
        assert mine is not None
        part = Blocks.room([len(mine)] * len(where.group))
        yield from linear(own, mine, part, leader)
        yield [channel.send(root, part.view)]
    else:
        far = [(chief, group) for chief, group in zip(where.leaders, where.groups, strict=True) if chief != root]
        landings = [blocks.landing(group) for _, group in far]
        begun = [channel.recv(chief, landing) for (chief, _), landing in zip(far, landings, strict=True)]
        yield from linear(own, mine, Blocks(blocks.view, tuple(blocks.places[rank] for rank in where.group)), leader)
        yield begun
        for (_, group), landing in zip(far, landings, strict=True):
            blocks.unpack(channel, group, landing)


def _keep(channel: CollectiveChannel, mine: memoryview | None, blocks: Blocks, rank: int) -> None:
    """Bring the root's own block to its place."""
    if mine is not None:
        channel.copy(mine, blocks.one(rank))
