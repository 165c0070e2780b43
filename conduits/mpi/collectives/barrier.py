"""Barriers."""

from __future__ import annotations

from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.nodes import nodes
from conduits.mpi.collectives.tree import binomial

_NOTHING = memoryview(bytearray())


def dissemination(channel: CollectiveChannel) -> Steps:
    """In round k every rank tells the one 2**k behind it, and hears of the one 2**k before it."""
    distance = 1
    while distance < channel.size:
        came = channel.recv((channel.rank - distance) % channel.size, _NOTHING)
        yield [came, channel.send((channel.rank + distance) % channel.size, _NOTHING)]
        distance *= 2


def tree(channel: CollectiveChannel) -> Steps:
    """The root of a binomial tree hears that all have come, and tells all."""
    yield from _collect(channel)
    yield from _release(channel)


def two_level(channel: CollectiveChannel) -> Steps:
    """The ranks of a host meet, then the leaders of all hosts, who let theirs go; one host needs no leader."""
    where = nodes(channel)
    if len(where.groups) == 1:
        yield from dissemination(channel)
        return
    mine = channel.part(where.group)
    yield from _collect(mine)
    if channel.rank == where.leader:
        yield from dissemination(channel.part(where.leaders))
    yield from _release(mine)


def _collect(channel: CollectiveChannel) -> Steps:
    place = binomial(channel.rank, channel.size)
    yield [channel.recv(child, _NOTHING) for child in place.children]
    if place.parent is not None:
        yield [channel.send(place.parent, _NOTHING)]


def _release(channel: CollectiveChannel) -> Steps:
    place = binomial(channel.rank, channel.size)
    if place.parent is not None:
        yield [channel.recv(place.parent, _NOTHING)]
    yield [channel.send(child, _NOTHING) for child in reversed(place.children)]
