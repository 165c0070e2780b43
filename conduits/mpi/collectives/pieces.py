"""Reductions of pieces, each to the rank that it belongs to: parts of other algorithms, and collectives by themselves.

Args of all: `blocks`, this rank's operand cut alike on all ranks, in their order, which is used up; `combine`, of an
operator that commutes.  Returns this rank's block of the result.
"""

from __future__ import annotations

from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining, room_like
from conduits.mpi.collectives.folding import folded


def ring(channel: CollectiveChannel, blocks: Blocks, combine: Combining) -> Steps:
    """Partial results go round and end where they belong."""
    rank, size = channel.rank, channel.size
    left, right = (rank - 1) % size, (rank + 1) % size
    partial = blocks.one(left)
    for back in range(1, size):
        own = blocks.one((rank - back - 1) % size)
        came = room_like(own)
        yield [channel.recv(left, came), channel.send(right, partial)]
        partial = combine(own, came)
    return partial if size > 1 else blocks.one(rank)


def recursive_halving(channel: CollectiveChannel, blocks: Blocks, combine: Combining) -> Steps:
    """Pairs swap the halves that they do not need, at half the distance each time.

    Where that does not come out even, pairs of neighbours begin.
    """
    fold = folded(channel.rank, channel.size)
    mine = blocks.one(channel.rank)
    if fold.idle:
        yield [channel.send(fold.partner, blocks.view)]
        yield [channel.recv(fold.partner, mine)]
        return mine
    if fold.partner >= 0:
        came = room_like(blocks.view)
        yield [channel.recv(fold.partner, came)]
        blocks = Blocks(combine(came, blocks.view), blocks.places)
    low, high = 0, fold.size
    while high - low > 1:
        middle = (low + high) // 2
        keep, give = ((low, middle), (middle, high)) if fold.rank < middle else ((middle, high), (low, middle))
        peer = fold.real(fold.rank ^ (middle - low))
        kept = blocks.run(fold.members(*keep))
        given = blocks.run(fold.members(*give))
        assert kept is not None, "the blocks lie in the order of the ranks"
        assert given is not None
        came = room_like(kept)
        yield [channel.recv(peer, came), channel.send(peer, given)]
        combine(came, kept)
        low, high = keep
    if fold.partner >= 0:
        yield [channel.send(fold.partner, blocks.one(fold.partner))]
    return blocks.one(channel.rank)
