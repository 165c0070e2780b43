"""Reductions: every rank gets the result.

Args of all: `data`, this rank's operand, which is used up; `combine`.  Returns the result, the same bits everywhere.
"""

from __future__ import annotations

from conduits.mpi.collectives import allgather, broadcast, pieces, reduce
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining, room_like
from conduits.mpi.collectives.folding import folded
from conduits.mpi.collectives.nodes import nodes


def reduce_broadcast(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """Reduced to rank 0, which broadcasts, both along binomial trees."""
    result = yield from reduce.binomial(channel, data, combine, 0)
    result = data if result is None else result
    yield from broadcast.binomial(channel, result, 0)
    return result


def recursive_doubling(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """In round k pairs at a distance of 2**k swap what they have; where that does not come out even, pairs begin."""
    fold = folded(channel.rank, channel.size)
    if fold.idle:
        yield [channel.send(fold.partner, data)]
        yield [channel.recv(fold.partner, data)]
        return data
    if fold.partner >= 0:
        came = room_like(data)
        yield [channel.recv(fold.partner, came)]
        data = combine(came, data)
    distance = 1
    while distance < fold.size:
        number = fold.rank ^ distance
        peer = fold.real(number)
        came = room_like(data)
        yield [channel.recv(peer, came), channel.send(peer, data)]
        data = combine(came, data) if number < fold.rank else combine(data, came)
        distance *= 2
    if fold.partner >= 0:
        yield [channel.send(fold.partner, data)]
    return data


def scatter_allgather(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """Each rank reduces a piece, by recursive halving; the pieces go to all by recursive doubling."""
    blocks = Blocks.cut(data, channel.size, combine.unit)
    mine = yield from pieces.recursive_halving(channel, blocks, combine)
    result = Blocks(room_like(data), blocks.places)
    channel.copy(mine, result.one(channel.rank))
    yield from allgather.recursive_doubling(channel, result)
    return result.view


def ring(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """Pieces of the result go round until they are complete, and round again to all."""
    blocks = Blocks.cut(data, channel.size, combine.unit)
    mine = yield from pieces.ring(channel, blocks, combine)
    result = Blocks(room_like(data), blocks.places)
    channel.copy(mine, result.one(channel.rank))
    yield from allgather.ring(channel, result)
    return result.view


def two_level(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """Within each host to its leader, among the leaders by recursive doubling, and back within each host."""
    where = nodes(channel)
    own = channel.part(where.group)
    leader = where.group.index(where.leader)
    result = yield from reduce.binomial_ordered(own, data, combine, leader)
    if result is not None:
        result = yield from recursive_doubling(channel.part(where.leaders), result, combine)
    else:
        result = data
    yield from broadcast.binomial(own, result, leader)
    return result
