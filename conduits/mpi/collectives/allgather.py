"""All-gathers: of each rank its block to all.

Arg of all: `blocks`, the same geometry everywhere up to displacements, this rank's own block in its place.
"""

from __future__ import annotations

from conduits.mpi.collectives import broadcast, gather
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.folding import folded
from conduits.mpi.collectives.nodes import Nodes, nodes
from conduits.mpi.collectives.tree import binomial


def ring(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """Every block goes round."""
    rank, size = channel.rank, channel.size
    left, right = (rank - 1) % size, (rank + 1) % size
    for back in range(size - 1):
        came = channel.recv(left, blocks.one((left - back) % size))
        yield [came, channel.send(right, blocks.one((rank - back) % size))]


def bruck(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """In round k every rank passes all that it has to the rank 2**k before it."""
    rank, size = channel.rank, channel.size
    distance = 1
    while distance < size:
        passed = min(distance, size - distance)
        mine = [(rank + each) % size for each in range(passed)]
        theirs = [(rank + distance + each) % size for each in range(passed)]
        yield from _swap(channel, blocks, (rank - distance) % size, mine, (rank + distance) % size, theirs)
        distance *= 2


def recursive_doubling(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """In round k pairs at a distance of 2**k swap all that they have.

    Where that does not come out even, pairs of neighbours begin.
    """
    fold = folded(channel.rank, channel.size)
    everyone = range(channel.size)
    if fold.idle:
        yield [channel.send(fold.partner, blocks.one(channel.rank))]
        landing = blocks.landing(everyone)
        yield [channel.recv(fold.partner, landing)]
        blocks.unpack(channel, everyone, landing)
        return
    if fold.partner >= 0:
        yield [channel.recv(fold.partner, blocks.one(fold.partner))]
    distance = 1
    while distance < fold.size:
        peer = fold.rank ^ distance
        low, other = fold.rank & -distance, peer & -distance
        mine, theirs = fold.members(low, low + distance), fold.members(other, other + distance)
        yield from _swap(channel, blocks, fold.real(peer), mine, fold.real(peer), theirs)
        distance *= 2
    if fold.partner >= 0:
        yield [channel.send(fold.partner, blocks.packed(channel, everyone))]


def gather_broadcast(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """To rank 0 along a binomial tree, and back along it."""
    place = binomial(channel.rank, channel.size)
    landings = [blocks.landing(subtree) for subtree in place.subtrees]
    yield [channel.recv(child, landing) for child, landing in zip(place.children, landings, strict=True)]
    for subtree, landing in zip(place.subtrees, landings, strict=True):
        blocks.unpack(channel, subtree, landing)
    if place.parent is not None:
        yield [channel.send(place.parent, blocks.packed(channel, place.subtree))]
    yield from _tell(channel, channel, blocks, 0)


def two_level(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """Leaders collect the blocks of their hosts, swap them and tell their hosts; on one host alone nobody leads."""
    where = nodes(channel)
    if len(where.groups) == 1:
        yield from recursive_doubling(channel, blocks)
        return
    own = channel.part(where.group)
    leader = where.group.index(where.leader)
    if channel.rank != where.leader:
        yield from gather.linear(own, blocks.one(channel.rank), None, leader)
    else:
        yield from gather.linear(own, None, blocks.some(where.group), leader)
        yield from swap_of_leaders(channel, blocks, where)
    yield from _tell(channel, own, blocks, leader)


def swap_of_leaders(channel: CollectiveChannel, blocks: Blocks, where: Nodes) -> Steps:
    """A leader sends the blocks of its host to all other leaders, and gets those of their hosts."""
    far = [(chief, group) for chief, group in zip(where.leaders, where.groups, strict=True) if chief != channel.rank]
    landings = [blocks.landing(group) for _, group in far]
    begun = [channel.recv(chief, landing) for (chief, _), landing in zip(far, landings, strict=True)]
    together = blocks.packed(channel, where.group)
    yield begun + [channel.send(chief, together) for chief, _ in far]
    for (_, group), landing in zip(far, landings, strict=True):
        blocks.unpack(channel, group, landing)


def _swap(
    channel: CollectiveChannel, blocks: Blocks, there: int, mine: list[int], here: int, theirs: list[int]
) -> Steps:  # fmt: skip
    """Send the blocks `mine` to `there` and get the blocks `theirs` from `here`."""
    landing = blocks.landing(theirs)
    came = channel.recv(here, landing)
    yield [came, channel.send(there, blocks.packed(channel, mine))]
    blocks.unpack(channel, theirs, landing)


def _tell(channel: CollectiveChannel, own: CollectiveChannel, blocks: Blocks, root: int) -> Steps:
    """Send all blocks from the root to those of `own`."""
    everyone = range(channel.size)
    if own.rank == root:
        yield from broadcast.binomial(own, blocks.packed(channel, everyone), root)
    else:
        landing = blocks.landing(everyone)
        yield from broadcast.binomial(own, landing, root)
        blocks.unpack(channel, everyone, landing)
