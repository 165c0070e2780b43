"""Broadcasts: `data` of the root to all."""

from __future__ import annotations

from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.nodes import nodes
from conduits.mpi.collectives.tree import binomial as place_of


def linear(channel: CollectiveChannel, data: memoryview, root: int) -> Steps:
    """The root sends to each."""
    if channel.rank != root:
        yield [channel.recv(root, data)]
    else:
        yield [channel.send(each, data) for each in range(channel.size) if each != root]


def binomial(channel: CollectiveChannel, data: memoryview, root: int) -> Steps:
    """Along a binomial tree, larger subtrees first."""
    place = place_of(channel.rank, channel.size, root)
    if place.parent is not None:
        yield [channel.recv(place.parent, data)]
    yield [channel.send(child, data) for child in reversed(place.children)]


def two_stage(channel: CollectiveChannel, data: memoryview, root: int) -> Steps:
    """From the root to one rank of each other host, then within each host, along binomial trees."""
    where = nodes(channel, root)
    if channel.rank == where.leader:
        yield from binomial(channel.part(where.leaders), data, where.leaders.index(root))
    yield from binomial(channel.part(where.group), data, where.group.index(where.leader))


def scatter_allgather(channel: CollectiveChannel, data: memoryview, root: int) -> Steps:
    """The root deals out pieces along a binomial tree, which then go round a ring."""
    size = channel.size
    place = place_of(channel.rank, size, root)
    cut = Blocks.cut(data, size)
    pieces = Blocks(data, tuple(cut.places[(rank - root) % size] for rank in range(size)))  # counted from the root
    if place.parent is not None:
        yield [channel.recv(place.parent, pieces.landing(place.subtree))]
    yield [
        channel.send(child, pieces.packed(channel, subtree))
        for child, subtree in zip(reversed(place.children), reversed(place.subtrees), strict=True)
    ]
    left, right = (channel.rank - 1) % size, (channel.rank + 1) % size
    for back in range(size - 1):
        came = channel.recv(left, pieces.one((left - back) % size))
        yield [came, channel.send(right, pieces.one((channel.rank - back) % size))]
