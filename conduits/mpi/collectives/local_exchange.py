"""Collectives whose ranks exchange through shared memory within a host, and by a leader between hosts.

What one rank writes there, all others of its host read: it is copied in once, and out by each.  So a broadcast has no
tree within a host.  In a reduction each rank combines a slice of all operands, where they lie.  Where each byte has one
reader, as in scatters, gathers and all-to-alls, messages copy as often, and there is no such algorithm.

Whoever reads pieces of several ranks takes them in the order of the pieces, and of the ranks: all in the same, so that
no two wait for one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from conduits.mpi.collectives import allreduce as allreductions
from conduits.mpi.collectives import broadcast as broadcasts
from conduits.mpi.collectives import reduce as reductions
from conduits.mpi.collectives.allgather import swap_of_leaders
from conduits.mpi.collectives.barrier import dissemination
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps
from conduits.mpi.collectives.combining import Combining
from conduits.mpi.collectives.nodes import Nodes, nodes
from conduits.mpi.collectives.scatter import linear as scattered
from conduits.mpi.collectives.slices import OperandSlice, Slices
from conduits.mpi.interface import SharedPiece, SharedTake

_OPERANDS, _RESULTS, _BLOCKS, _WHOLE, _ARRIVED, _RELEASED = range(6)  # parts of a call


def barrier(channel: CollectiveChannel) -> Steps:
    """The leader of a host hears that all have come, then the leaders meet, and each tells its own."""
    where = nodes(channel)
    own, leader = _of_host(channel, where)
    others = [rank for rank in range(own.size) if rank != leader]
    if own.rank != leader:
        yield [own.tell([leader], _ARRIVED), own.hear([leader], _RELEASED)]
        return
    if others:
        yield [own.hear(others, _ARRIVED)]
    yield from dissemination(channel.part(where.leaders))
    if others:
        yield [own.tell(others, _RELEASED)]


def broadcast(channel: CollectiveChannel, data: memoryview, root: int) -> Steps:
    """From the root to one rank of each other host along a binomial tree; that writes once for its host."""
    where = nodes(channel, root)
    own, leader = _of_host(channel, where)
    if own.rank == leader:
        yield from broadcasts.binomial(channel.part(where.leaders), data, where.leaders.index(root))
    yield from _to_host(own, data, leader)


def reduce(channel: CollectiveChannel, data: memoryview, combine: Combining, root: int) -> Steps:
    """Within each host by slices, which its leader collects; then among the leaders, along a binomial tree."""
    if not _divisible(channel, data, combine):
        return (yield from reductions.two_level(channel, data, combine, root))
    where = nodes(channel, root)
    own, leader = _of_host(channel, where)
    slices = _slices(own, data, combine, leader)
    mine = yield from _combine(own, data, combine, slices)
    yield from _collect(own, data, mine, slices, [leader])
    if own.rank != leader:
        return None
    chiefs = channel.part(where.leaders)
    return (yield from reductions.binomial_ordered(chiefs, data, combine, where.leaders.index(root)))


def allreduce(channel: CollectiveChannel, data: memoryview, combine: Combining) -> Steps:
    """Within each host by slices, which on one host all collect; else leaders go on by recursive doubling."""
    if not _divisible(channel, data, combine):
        return (yield from allreductions.two_level(channel, data, combine))
    where = nodes(channel)
    own, leader = _of_host(channel, where)
    slices = _slices(own, data, combine, leader)
    mine = yield from _combine(own, data, combine, slices)
    if len(where.groups) == 1:
        yield from _collect(own, data, mine, slices, range(own.size))
        return data
    yield from _collect(own, data, mine, slices, [leader])
    if own.rank == leader:
        data = yield from allreductions.recursive_doubling(channel.part(where.leaders), data, combine)
    yield from _to_host(own, data, leader)
    return data


def reduce_scatter(channel: CollectiveChannel, blocks: Blocks, combine: Combining) -> Steps:
    """Reduced to rank 0, as `reduce` has it, which deals the result out."""
    whole = yield from reduce(channel, blocks.view, combine, 0)
    mine = memoryview(bytearray(len(blocks.one(channel.rank))))
    yield from scattered(channel, None if whole is None else Blocks(whole, blocks.places), mine, 0)
    return mine


def allgather(channel: CollectiveChannel, blocks: Blocks) -> Steps:
    """Each writes its block for its host; leaders swap those of their hosts, and write those of the others."""
    where = nodes(channel)
    own, leader = _of_host(channel, where)
    here = blocks.some(where.group)
    yield from _swap(own, here)
    away = [rank for group in where.groups if group != where.group for rank in group]
    if not away:
        return
    if own.rank == leader:
        yield from swap_of_leaders(channel, blocks, where)
        if own.size > 1:
            yield from _to_host(own, blocks.packed(channel, away), leader)
    else:
        landing = blocks.landing(away)
        yield from _to_host(own, landing, leader)
        blocks.unpack(channel, away, landing)


def _of_host(channel: CollectiveChannel, where: Nodes) -> tuple[CollectiveChannel, int]:
    """Return the channel of this rank's host, and the leader's rank there."""
    return channel.part(where.group), where.group.index(where.leader)


def _cuts(own: CollectiveChannel, nbytes: int) -> list[tuple[int, int]]:
    """Return where the pieces begin and end of so many bytes; there is one at least."""
    piece = own.exchange.piece
    return [(start, min(start + piece, nbytes)) for start in range(0, max(nbytes, 1), piece)]


def _land(view: memoryview, start: int, came: bytes) -> None:
    view[start : start + len(came)] = came


def _to_host(own: CollectiveChannel, data: memoryview, leader: int) -> Steps:
    """The leader writes, all others read."""
    if own.size == 1:
        return
    cuts = _cuts(own, len(data))
    if own.rank == leader:
        others = tuple(rank for rank in range(own.size) if rank != leader)
        yield [own.share(data, [SharedPiece(start, stop, others) for start, stop in cuts], _WHOLE)]
    else:
        yield [
            own.take(
                [
                    SharedTake(leader, _WHOLE, number, 0, stop - start, len(data), partial(_land, data, start))
                    for number, (start, stop) in enumerate(cuts)
                ]
            )
        ]


def _swap(own: CollectiveChannel, blocks: Blocks) -> Steps:
    """Each writes its block, which all others read."""
    if own.size == 1:
        return
    others = tuple(rank for rank in range(own.size) if rank != own.rank)
    mine = blocks.one(own.rank)
    takes = [
        SharedTake(rank, _BLOCKS, number, 0, stop - start, size, partial(_land, blocks.one(rank), start))
        for rank in others
        for size in blocks.sizes([rank])
        for number, (start, stop) in enumerate(_cuts(own, size))
    ]
    takes.sort(key=_number)
    pieces = [SharedPiece(start, stop, others) for start, stop in _cuts(own, len(mine))]
    yield [own.share(mine, pieces, _BLOCKS), own.take(takes)]


def _number(take: SharedTake) -> int:
    return take.number


# -- reductions ----------------------------------------------------------------------------------------------


def _divisible(channel: CollectiveChannel, data: memoryview, combine: Combining) -> bool:
    """Return whether an operand may be cut, or needs not be.

    Operators of programs get it whole: there are no datatypes of several numbers, and some take so many for one.
    """
    return bool(combine.op) or len(data) <= channel.exchange.slice


def _slices(own: CollectiveChannel, data: memoryview, combine: Combining, leader: int) -> Slices:
    exchange = own.exchange
    return Slices.of(len(data), combine.unit, own.size, leader, least=exchange.slice, room=exchange.piece)


def _combine(own: CollectiveChannel, data: memoryview, combine: Combining, slices: Slices) -> Steps:
    """Write this rank's operand, and combine its slices of all; returns them, one behind the other.

    From the highest rank down: what is read of a lower one is combined into what there is.
    """
    if own.size == 1:
        return data
    mine = slices.of_worker(own.rank)
    result = memoryview(bytearray(sum(each.stop - each.start for each in mine)))
    pieces = []
    for start, stop, wanted in slices.rounds():
        wanted.pop(own.rank, None)
        pieces.append(SharedPiece(start, stop, tuple(wanted), tuple(wanted.values())))
    while pieces and not pieces[-1].readers:
        pieces.pop()
    begun = [own.share(data, pieces, _OPERANDS)] if pieces else []
    if mine:
        begun.append(own.take(_operands(own, data, combine, slices, mine, result)))
    yield begun
    return result


def _operands(
    own: CollectiveChannel,
    data: memoryview,
    combine: Combining,
    slices: Slices,
    mine: list[OperandSlice],
    result: memoryview,
) -> list[SharedTake]:
    """Return what a rank takes of the operands of the others, each time with what it does then."""
    highest, takes = own.size - 1, []
    for each in mine:
        partial_ = result[each.at : each.at + each.stop - each.start]
        here = data[each.start : each.stop]
        if own.rank == highest:
            own.copy(here, partial_)
        offset = each.start - each.round * slices.turn
        for rank in reversed(range(own.size)):
            if rank != own.rank:
                land = partial(_fold, combine, partial_, rank == highest, here if rank - 1 == own.rank else None)
                size = each.stop - each.start
                takes.append(SharedTake(rank, _OPERANDS, each.round, offset, offset + size, slices.nbytes, land))
    return takes


def _fold(combine: Combining, result: memoryview, first: bool, then: memoryview | None, came: bytes) -> None:
    """Combine what came of one rank into a result, and this rank's own operand if it is next.

    Args:
        combine: the operator.
        result: what there is of higher ranks.
        first: whether there is none.
        then: this rank's operand, None where it is not next.
        came: read, or combined where it was read, in the time of a copy.
    """
    if first:
        result[:] = came
    elif came:
        combine.apply(memoryview(bytearray(came)), result)  # operators of programs may want to write there
    if then is not None:
        combine(then, result)


def _collect(
    own: CollectiveChannel, data: memoryview, mine: memoryview, slices: Slices, readers: Sequence[int]
) -> Steps:
    """Bring the results of all workers together in `data`, of each that reads."""
    if own.size == 1:
        return
    begun = []
    others = tuple(rank for rank in readers if rank != own.rank)
    if own.rank in slices.workers and others:
        pieces = [SharedPiece(start, stop, others) for start, stop in _cuts(own, len(mine))]
        begun.append(own.share(mine, pieces, _RESULTS))
    if own.rank in readers:
        for each in slices.of_worker(own.rank):
            own.copy(mine[each.at : each.at + each.stop - each.start], data[each.start : each.stop])
        takes = [take for rank in slices.workers if rank != own.rank for take in _results(own, data, slices, rank)]
        if takes:
            begun.append(own.take(sorted(takes, key=_number)))
    if begun:
        yield begun


def _results(own: CollectiveChannel, data: memoryview, slices: Slices, worker: int) -> list[SharedTake]:
    """Return what a rank takes of the results of a worker."""
    theirs = slices.of_worker(worker)
    total = sum(each.stop - each.start for each in theirs)
    takes = []
    for number, (start, stop) in enumerate(_cuts(own, total)):
        # Those that the piece has any of; each part of one is a run of its own.
        few = theirs[start // slices.width : -(-stop // slices.width)]
        land = partial(_deal, data, few, start)
        takes.append(SharedTake(worker, _RESULTS, number, 0, stop - start, total, land, max(len(few), 1)))
    return takes


def _deal(data: memoryview, few: Sequence[OperandSlice], start: int, came: bytes) -> None:
    """Bring slices to their places, of which `came` has the bytes from `start` on."""
    end = start + len(came)
    for each in few:
        low, high = max(each.at, start), min(each.at + each.stop - each.start, end)
        to = each.start + low - each.at
        data[to : to + high - low] = came[low - start : high - start]
