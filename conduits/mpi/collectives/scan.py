"""Prefix reductions: each rank gets what the operands of the ranks up to it, or before it, make together.

Args of all: `data`, this rank's operand, which is used up; `combine`; `own`, whether its own operand counts.  Returns
the result, None at rank 0 where it does not.
"""

from __future__ import annotations

from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining, room_like


def linear(channel: CollectiveChannel, data: memoryview, combine: Combining, own: bool) -> Steps:
    """Each waits for the one before it."""
    before = None
    if channel.rank:
        before = room_like(data)
        yield [channel.recv(channel.rank - 1, before)]
        data = combine(before, data)
    if channel.rank + 1 < channel.size:
        yield [channel.send(channel.rank + 1, data)]
    return data if own else before


def recursive_doubling(channel: CollectiveChannel, data: memoryview, combine: Combining, own: bool) -> Steps:
    """In round k pairs at a distance of 2**k swap what the 2**k ranks around them make together."""
    rank = channel.rank
    before: memoryview | None = None  # of all lower ranks that this one has heard of
    around = room_like(data)
    channel.copy(data, around)
    distance = 1
    while distance < channel.size:
        peer = rank ^ distance
        if peer < channel.size:
            came = room_like(data)
            yield [channel.recv(peer, came), channel.send(peer, around)]
            if peer < rank:
                before = came if before is None else combine(came, before)
                around = combine(came, around)
            else:
                around = combine(around, came)
        distance *= 2
    if not own:
        return before
    return data if before is None else combine(before, data)
