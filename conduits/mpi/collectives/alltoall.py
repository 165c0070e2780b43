"""All-to-alls: of each rank a block to each.

Args of all: `sends`, a block for each rank; `receives`, where the blocks of each go.
"""

from __future__ import annotations

from conduits.mpi.collectives import gather, scatter
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.nodes import nodes


def linear(channel: CollectiveChannel, sends: Blocks, receives: Blocks) -> Steps:
    """All at once, each rank beginning with the one behind it."""
    rank, size = channel.rank, channel.size
    order = [(rank + each) % size for each in range(1, size)]
    begun = [channel.recv(each, receives.one(each)) for each in reversed(order)]
    begun += [channel.send(each, sends.one(each)) for each in order]
    channel.copy(sends.one(rank), receives.one(rank))
    yield begun


def pairwise(channel: CollectiveChannel, sends: Blocks, receives: Blocks) -> Steps:
    """In round k every rank sends to the one k behind it, and receives from the one k before it."""
    rank, size = channel.rank, channel.size
    channel.copy(sends.one(rank), receives.one(rank))
    for distance in range(1, size):
        there, here = (rank + distance) % size, (rank - distance) % size
        yield [channel.recv(here, receives.one(here)), channel.send(there, sends.one(there))]


def bruck(channel: CollectiveChannel, sends: Blocks, receives: Blocks) -> Steps:
    """In round k go all blocks 2**k ranks on that have bit k in the way they have to go; blocks of one size."""
    rank, size = channel.rank, channel.size
    each = sends.places[0][1]
    have = Blocks.room([each] * size)  # by the way that they have to go
    for way in range(size):
        channel.copy(sends.one((rank + way) % size), have.one(way))
    distance = 1
    while distance < size:
        chosen = [way for way in range(size) if way & distance]
        landing = memoryview(bytearray(each * len(chosen)))
        came = channel.recv((rank - distance) % size, landing)
        yield [came, channel.send((rank + distance) % size, have.packed(channel, chosen))]
        for place, way in enumerate(chosen):
            channel.copy(landing[place * each : (place + 1) * each], have.one(way))
        distance *= 2
    for way in range(size):
        channel.copy(have.one(way), receives.one((rank - way) % size))


def two_level(channel: CollectiveChannel, sends: Blocks, receives: Blocks) -> Steps:
    """Leaders collect what their hosts send, swap it with one another in pairs, and deal it out; blocks of one size."""
    where = nodes(channel)
    own, everyone = channel.part(where.group), range(channel.size)
    leader = where.group.index(where.leader)
    mine, landing = sends.packed(channel, everyone), receives.landing(everyone)
    if channel.rank != where.leader:
        yield from gather.linear(own, mine, None, leader)
        yield from scatter.linear(own, None, landing, leader)
    else:
        out = Blocks.room([len(mine)] * len(where.group))
        yield from gather.linear(own, mine, out, leader)
        into = Blocks.room([len(mine)] * len(where.group))
        yield from _leaders(channel.part(where.leaders), where.groups, out, into, channel.size)
        yield from scatter.linear(own, into, landing, leader)
    receives.unpack(channel, everyone, landing)


def _leaders(
    chiefs: CollectiveChannel, groups: tuple[tuple[int, ...], ...], out: Blocks, into: Blocks, ranks: int
) -> Steps:  # fmt: skip
    """Swap between hosts what `out` has for each rank, by who sends it; it comes to `into`, by who gets it."""
    each, here, hosts = len(out.view) // len(out.places) // ranks, chiefs.rank, chiefs.size
    members = range(len(groups[here]))
    sent = Blocks.equal(out.view, ranks * len(members)) if each else None
    for distance in range(hosts):
        there, source = (here + distance) % hosts, (here - distance) % hosts
        passed = memoryview(bytearray(each * len(members) * len(groups[there])))
        if sent is not None:  # in the order: who gets it, who sends it
            places = [member * ranks + rank for rank in groups[there] for member in members]
            passed[:] = sent.packed(chiefs, places)
        landing = memoryview(bytearray(each * len(members) * len(groups[source]))) if distance else passed
        if distance:
            came = chiefs.recv(source, landing)
            yield [came, chiefs.send(there, passed)]
        at = 0
        for member in members:
            row = into.one(member)
            for rank in groups[source]:
                chiefs.copy(landing[at : at + each], row[rank * each : (rank + 1) * each])
                at += each
