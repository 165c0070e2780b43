"""What goes on around the algorithm of a collective: its own data are brought where the algorithm wants them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from struct import Struct
from typing import Any

from conduit import BadRequest
from conduit.words import many
from conduits.mpi.awaited.buffers import Span
from conduits.mpi.awaited.operators import ReductionOp
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import CollectiveChannel, Steps, all_gather_bytes
from conduits.mpi.collectives.combining import Combining

_Run = Callable[..., Steps]
_COUNT = Struct("<q")


def collected(channel: CollectiveChannel, run: _Run, mine: memoryview | None, blocks: Blocks) -> Steps:
    """Bring a rank's own block to its place among those of all; run."""
    if mine is not None:
        channel.copy(mine, blocks.one(channel.rank))
    yield from run(channel, blocks)


def exchanged(channel: CollectiveChannel, run: _Run, out: Blocks | None, into: Blocks) -> Steps:
    """Run; what is in place is copied out of the way first."""
    if out is None:
        everyone = range(channel.size)
        out = Blocks.room(into.sizes(everyone))
        for rank in everyone:
            channel.copy(into.one(rank), out.one(rank))
    yield from run(channel, out, into)


def reduced(
    channel: CollectiveChannel, run: _Run, mine: Span | None, into: Span | None, op: ReductionOp, *args: Any
) -> Steps:
    """Run on a copy of the operand, made where the result goes if it goes anywhere here."""
    operand, combine = _operand(channel, mine, into, op, within=into)
    result = yield from run(channel, operand, combine, *args)
    if into is not None and result is not operand:
        channel.copy(result, into.view)


def scanned(channel: CollectiveChannel, run: _Run, mine: Span | None, into: Span, op: ReductionOp, own: bool) -> Steps:
    """Run on a copy of the operand; there may be no result."""
    operand, combine = _operand(channel, mine, into, op)
    result = yield from run(channel, operand, combine, own)
    if result is not None:
        channel.copy(result, into.view)


def reduced_scattered(
    channel: CollectiveChannel,
    run: _Run,
    operand: Span,
    into: memoryview,
    counts: tuple[int, ...] | None,
    op: ReductionOp,
    call: str,
) -> Steps:
    """Run on a copy of the operand; without counts ask all ranks for theirs."""
    extent = operand.datatype.extent
    if counts is None:
        told = yield from all_gather_bytes(channel, _COUNT.pack(len(into) // extent))
        counts = tuple(_COUNT.unpack(each)[0] for each in told)
        if sum(counts) != operand.count:
            raise BadRequest(
                f"Comm.{call}: sendbuf has {many(operand.count, 'element')}, the receive buffers of all have "
                f"{counts}; they must come to as many"
            )
    data, combine = _operand(channel, operand, operand, op)
    blocks = Blocks.of_sizes(data, [count * extent for count in counts])
    result = yield from run(channel, blocks, combine)
    channel.copy(result, into)


def _operand(
    channel: CollectiveChannel, mine: Span | None, into: Span | None, op: ReductionOp, within: Span | None = None
) -> tuple[memoryview, Combining]:
    """Return a rank's operand, to be used up, and how two are combined.

    Args:
        channel: the call's.
        mine: what the program gave; None: it is in place.
        into: where the result goes.
        op: the operator.
        within: where to make the operand; None: in memory of its own.
    """
    given = mine or into
    assert given is not None
    apply: Callable[..., object] = op.apply
    if not op.is_predefined:
        apply = partial(copy_context().run, apply)  # any poll of the job may come to it, also one of another rank
    datatype = given.datatype
    operand = memoryview(bytearray(len(given.view))) if within is None else within.view
    if within is None or mine is not None:
        channel.copy(given.view, operand)
    name = op.name if op.is_predefined else ""
    return operand, Combining(
        channel, lambda one, other: apply(one, other, datatype), datatype.extent, name, datatype.name
    )
