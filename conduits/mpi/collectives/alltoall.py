"""All-to-alls: of each rank a block to each.

Args of all: `sends`, a block for each rank; `receives`, where the blocks of each go.
"""

from __future__ import annotations

from itertools import accumulate

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
    """The ranks of a host send straight to one another; leaders swap in pairs what goes between hosts, of one size."""
    where = nodes(channel)
    own = channel.part(where.group)
    yield from linear(own, sends.some(where.group), receives.some(where.group))
    away = [rank for group in where.groups if group != where.group for rank in group]
    if not away:
        return
    leader = where.group.index(where.leader)
    mine, landing = sends.packed(channel, away), receives.landing(away)
    if channel.rank != where.leader:
        yield from gather.linear(own, mine, None, leader)
        yield from scatter.linear(own, None, landing, leader)
    else:
        out = Blocks.room([len(mine)] * own.size)
        yield from gather.linear(own, mine, out, leader)
        into = Blocks.room([len(mine)] * own.size)
        if mine:
            yield from _leaders(channel.part(where.leaders), [len(group) for group in where.groups], out, into)
        yield from scatter.linear(own, into, landing, leader)
    receives.unpack(channel, away, landing)


def _leaders(chiefs: CollectiveChannel, sizes: list[int], out: Blocks, into: Blocks) -> Steps:
    """Swap between hosts of so many ranks what goes there, which `out` has by who sends it, `into` by who gets it.

    Either has it in the order of the hosts, and of the ranks on each.
    """
    here, hosts, members = chiefs.rank, chiefs.size, sizes[chiefs.rank]
    each = out.places[0][1] // (sum(sizes) - members)  # bytes from one rank to one
    starts = list(accumulate((0 if host == here else size for host, size in enumerate(sizes)), initial=0))
    sent = Blocks.equal(out.view, (sum(sizes) - members) * members)
    for distance in range(1, hosts):
        there, source = (here + distance) % hosts, (here - distance) % hosts
        # In the order: who gets it, who sends it.
        passed = sent.packed(
            chiefs,
            [member * starts[-1] + starts[there] + rank for rank in range(sizes[there]) for member in range(members)],
        )
        landing = memoryview(bytearray(each * members * sizes[source]))
        came = chiefs.recv(source, landing)
        yield [came, chiefs.send(there, passed)]
        run = each * sizes[source]
        for member in range(members):
            begin = each * starts[source]
            chiefs.copy(landing[member * run : (member + 1) * run], into.one(member)[begin : begin + run])
