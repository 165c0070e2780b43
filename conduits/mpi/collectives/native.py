"""The collectives that an MPI library has itself, where it is real MPI: each is one call of its own.

Args and results are those of the other algorithms.
"""

from __future__ import annotations

from conduits.mpi.collectives import reduce as reductions
from conduits.mpi.collectives import scan as scans
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining, room_like
from conduits.mpi.collectives.reduce_scatter import reduce_then_scatter


def barrier(channel: CollectiveChannel) -> Steps:
    """Wait for all."""
    yield [channel.native("Ibarrier")]


def broadcast(channel: CollectiveChannel, data: memoryview, root: int) -> Steps:
    """Broadcast."""
    yield [channel.native("Ibcast", data, root)]


def scatter(channel: CollectiveChannel, blocks: Blocks | None, mine: memoryview | None, root: int) -> Steps:
    """Scatter."""
    yield [channel.native("Iscatterv", blocks, channel.elements(mine, "MPI_BYTE"), root)]


def gather(channel: CollectiveChannel, mine: memoryview | None, blocks: Blocks | None, root: int) -> Steps:
    """Gather."""
    yield [channel.native("Igatherv", channel.elements(mine, "MPI_BYTE"), blocks, root)]


def allgather(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """Gather everywhere; each rank's own block is at its place."""
    yield [channel.native("Iallgatherv", channel.elements(None, ""), blocks)]


def alltoall(channel: CollectiveChannel, out: Blocks, into: Blocks) -> Steps:
    """Exchange blocks."""
    yield [channel.native("Ialltoallv", out, into)]


def reduce(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """Reduce to the root; with an operator of the program's own in the order of the ranks."""
    op = channel.operator(combine)
    if op is None:
        return (yield from reductions.binomial_ordered(channel, data, combine, root))
    mine = channel.elements(data, combine.datatype)
    if channel.rank != root:
        yield [channel.native("Ireduce", mine, None, op, root)]
        return None
    yield [channel.native("Ireduce", channel.elements(None, ""), mine, op, root)]
    return data


def allreduce(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """Reduce everywhere."""
    op = channel.operator(combine)
    if op is None:
        result = yield from reductions.binomial_ordered(channel, data, combine, 0)
        whole: memoryview = data if result is None else result
        yield from broadcast(channel, whole, 0)
        return whole
    yield [channel.native("Iallreduce", channel.elements(None, ""), channel.elements(data, combine.datatype), op)]
    return data


def reduce_scatter(channel: CollectiveChannel, blocks: Blocks, combine: Combining) -> Steps:
    """Reduce; each rank gets a block."""
    op = channel.operator(combine)
    if op is None:
        return (yield from reduce_then_scatter(channel, blocks, combine))
    mine = room_like(blocks.one(channel.rank))
    counts = [size // combine.unit for _, size in blocks.places]
    data, into = channel.elements(blocks.view, combine.datatype), channel.elements(mine, combine.datatype)
    yield [channel.native("Ireduce_scatter", data, into, counts, op)]
    return mine


def scan(channel: CollectiveChannel, data: memoryview, combine: Combining, own: bool) -> Steps:
    """Reduce the operands of the ranks up to this one, or before it."""
    op = channel.operator(combine)
    if op is None:
        return (yield from scans.recursive_doubling(channel, data, combine, own))
    result = room_like(data)
    mine, into = channel.elements(data, combine.datatype), channel.elements(result, combine.datatype)
    yield [channel.native("Iscan" if own else "Iexscan", mine, into, op)]
    return result if own or channel.rank else None
