"""Reductions to a root.

Args of all: `data`, this rank's operand, which is used up; `combine`; `root`.  The root gets the result, which may lie
elsewhere than its operand did; the others get None.
"""

from __future__ import annotations

from conduits.mpi.collectives import gather, pieces
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining, room_like
from conduits.mpi.collectives.nodes import nodes
from conduits.mpi.collectives.tree import binomial as place_of


def linear(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """The root gets all operands and combines them from the highest rank down."""
    if channel.rank != root:
        yield [channel.send(root, data)]
        return None
    operands = [data if each == root else room_like(data) for each in range(channel.size)]
    yield [channel.recv(each, operands[each]) for each in range(channel.size) if each != root]
    high = operands.pop()
    while operands:
        low = operands.pop()
        high = combine(low, high)
    return high


def binomial(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """Along a binomial tree under the root; the operands go round with the ranks counted from it."""
    place = place_of(channel.rank, channel.size, root)
    for child in place.children:
        came = room_like(data)
        yield [channel.recv(child, came)]
        data = combine(data, came)
    if place.parent is None:
        return data
    yield [channel.send(place.parent, data)]
    return None


def binomial_ordered(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """Along a binomial tree under rank 0, which sends the result to the root: in the order of the ranks."""
    result = yield from binomial(channel, data, combine, 0)
    if not root:
        return result
    if result is not None:
        yield [channel.send(root, result)]
        return None
    if channel.rank != root:
        return None
    result = room_like(data)
    yield [channel.recv(0, result)]
    return result


def scatter_gather(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """Each rank reduces a piece, by recursive halving; the pieces are gathered."""
    blocks = Blocks.cut(data, channel.size, combine.unit)
    mine = yield from pieces.recursive_halving(channel, blocks, combine)
    result = Blocks(room_like(data), blocks.places) if channel.rank == root else None
    yield from gather.linear(channel, mine, result, root)
    return None if result is None else result.view


def two_level(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """Within each host to its leader, then among the leaders, along binomial trees."""
    where = nodes(channel, root)
    own = channel.part(where.group)
    partial = yield from binomial_ordered(own, data, combine, where.group.index(where.leader))
    if partial is None:
        return None
    chiefs = channel.part(where.leaders)
    result = yield from binomial_ordered(chiefs, partial, combine, where.leaders.index(root))
    return result
