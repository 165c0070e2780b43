"""Reductions of which each rank gets a block.

Args of all: `blocks`, this rank's operand cut alike on all ranks, which is used up; `combine`.  Returns this rank's
block of the result.
"""

from __future__ import annotations

from conduits.mpi.collectives import reduce
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining, room_like
from conduits.mpi.collectives.scatter import linear as scattered


def reduce_then_scatter(channel: CollectiveChannel, blocks: Blocks, combine: Combining) -> Steps:
    """Reduced to rank 0, in the order of the ranks, which deals the result out."""
    whole = yield from reduce.binomial(channel, blocks.view, combine, 0)
    mine = room_like(blocks.one(channel.rank))
    yield from scattered(channel, None if whole is None else Blocks(whole, blocks.places), mine, 0)
    return mine


def pairwise(channel: CollectiveChannel, blocks: Blocks, combine: Combining) -> Steps:
    """In round k every rank sends the one k behind it that one's block; for operators that commute."""
    rank, size = channel.rank, channel.size
    mine = blocks.one(rank)
    for distance in range(1, size):
        came = room_like(mine)
        there, here = (rank + distance) % size, (rank - distance) % size
        yield [channel.recv(here, came), channel.send(there, blocks.one(there))]
        mine = combine(mine, came)
    return mine
