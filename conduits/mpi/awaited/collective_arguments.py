"""What programs give to collectives: checked when a call is made, and turned into bytes and an algorithm."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from conduit import BadRequest
from conduit.words import many
from conduits.mpi.awaited.base import CommBase
from conduits.mpi.awaited.buffers import IN_PLACE, Span, VectorBuffer, numbers, of_mpi4py, share_bytes, span, whole
from conduits.mpi.awaited.datatypes import Datatype
from conduits.mpi.awaited.elements import moved, of_both
from conduits.mpi.awaited.operators import NO_OP, REPLACE, ReductionOp
from conduits.mpi.awaited.same_calls import ANY_ELEMENTS, Elements
from conduits.mpi.collectives import algorithms
from conduits.mpi.collectives.algorithms import CollAlgorithm
from conduits.mpi.collectives.blocks import Blocks
from conduits.mpi.collectives.channel import Steps
from conduits.mpi.errors import ErrorClass, MpiError

_Divided = Callable[..., VectorBuffer]
"""`equal_parts`, or `parts`."""


class ChosenAlgorithm(NamedTuple):
    """The algorithm that a call is done by.

    Attributes:
        name: of it.
        run: as `conduits.mpi.collectives.algorithms.CollAlgorithm`.
    """

    name: str
    run: Callable[..., Steps]


def root_of(comm: CommBase, call: str, root: Any) -> int:
    """Return the rank that a call is about."""
    number = whole(root, f"Comm.{call}: root", low=-(1 << 31))
    size = comm._alive(call).Get_size()
    if not 0 <= number < size:
        raise MpiError(
            ErrorClass.ERR_ROOT, f"Comm.{call}: root={number} is no rank of {comm.Get_name()}; use 0 to {size - 1}"
        )
    return number


def algorithm_of(comm: CommBase, call: str, name: Any, op: ReductionOp | None = None) -> ChosenAlgorithm:
    """Return the algorithm of a name, or the usual one where it is empty.

    Raises:
        BadRequest: there is none of this name, or it needs an operator that commutes.
    """
    style = comm._running().collectives
    found = algorithms.named(call, style)
    if not isinstance(name, str) or (name and name not in found):
        raise BadRequest(f"Comm.{call}: algorithm={name!r} is none of {', '.join(found)}")
    free = op is None or op.is_commutative
    fits = [each for each, one in found.items() if free or one.order == "ranks" or _grouped(comm, one)]
    if not name:
        name = algorithms.usual(call, style)
        name = name if name in fits else algorithms.ordered(call)
    if name not in fits:
        assert op is not None
        raise BadRequest(
            f"Comm.{call}: algorithm={name!r} changes the order of operands, and op={op.name} does not commute; use "
            f"{', '.join(fits)}"
        )
    return ChosenAlgorithm(name, found[name].run)


def _grouped(comm: CommBase, algorithm: CollAlgorithm) -> bool:
    """Return whether an algorithm combines in the order of the ranks because each host's are consecutive."""
    hosts = [comm._running().hosts[each] for each in comm.plain.group]
    changes = sum(one != other for one, other in itertools.pairwise(hosts))
    return algorithm.order == "hosts" and changes + 1 == len(set(hosts))


def operator_of(call: str, op: Any, datatype: Datatype) -> ReductionOp:
    """Return an operator that can be applied to a datatype."""
    if not isinstance(op, ReductionOp):
        if of_mpi4py(op):
            raise BadRequest(f"Comm.{call}: op is of mpi4py itself; write `from conduits.mpi import MPI` at the top")
        raise BadRequest(f"Comm.{call}: op={op!r} is no operator; give MPI.SUM or another, or one of MPI.Op.Create")
    if op is REPLACE or op is NO_OP:
        raise MpiError(ErrorClass.ERR_OP, f"Comm.{call}: op={op.name} is for windows alone; give MPI.SUM or another")
    op.check(datatype, f"Comm.{call}")
    return op


def given(buffer: Any, call: str, name: str, *, in_place: bool = True) -> Any:
    """Return a buffer that a call needs, None for IN_PLACE.

    Raises:
        BadRequest: there is none, or it cannot be in place here.
    """
    if buffer is None:
        raise BadRequest(
            f"Comm.{call}: {name}=None, and this rank needs one; give an array or a list such as [array, MPI.INT]"
        )
    if buffer is IN_PLACE:
        if not in_place:
            raise BadRequest(f"Comm.{call}: {name}=MPI.IN_PLACE is not allowed on this rank; give a buffer")
        return None
    return buffer


def sent(buffer: Any, call: str, *, combined: bool = False) -> Span | None:
    """Return a rank's own data, None for IN_PLACE; `combined`: operands of a reduction."""
    buffer = given(buffer, call, "sendbuf")
    return None if buffer is None else span(buffer, f"Comm.{call}: sendbuf", combined=combined)


def received(buffer: Any, call: str) -> Span:
    """Return where the result of a reduction goes on a rank."""
    buffer = given(buffer, call, "recvbuf", in_place=False)
    return span(buffer, f"Comm.{call}: recvbuf", writable=True, combined=True)


def apart(call: str, one: Span | VectorBuffer | None, other: Span | VectorBuffer | None) -> None:
    """Raise MpiError where two buffers of a call share bytes."""
    if one is not None and other is not None and share_bytes(one, other):
        raise MpiError(
            ErrorClass.ERR_BUFFER, f"Comm.{call}: sendbuf and recvbuf share bytes; give MPI.IN_PLACE, or two buffers"
        )


def fitting(call: str, give: int, take: int) -> None:
    """Raise MpiError where a rank's own block has two sizes, bytes."""
    if give != take:
        raise MpiError(
            ErrorClass.ERR_COUNT,
            f"Comm.{call}: sendbuf gives this rank's own block {give} bytes, recvbuf has {take} for it; give counts "
            "and datatypes that agree",
        )


def operands(
    comm: CommBase, call: str, sendbuf: Any, recvbuf: Any, op: Any, *, result: bool = True
) -> tuple[Span | None, Span | None, ReductionOp]:
    """Return a reduction's operand, where its result goes, and the operator.

    Args:
        comm: the communicator of the call.
        call: its name.
        sendbuf: as given.
        recvbuf: as given.
        op: as given.
        result: whether this rank has one; else `recvbuf` counts for nothing.
    """
    comm._alive(call)
    into = received(recvbuf, call) if result else None
    if result:
        mine = sent(sendbuf, call, combined=True)
    else:
        mine = span(given(sendbuf, call, "sendbuf", in_place=False), f"Comm.{call}: sendbuf", combined=True)
    apart(call, mine, into)
    if mine is not None and into is not None and (mine.count, mine.datatype) != (into.count, into.datatype):
        raise BadRequest(
            f"Comm.{call}: sendbuf has {many(mine.count, 'element')} of {mine.datatype.name}, recvbuf {into.count} of "
            f"{into.datatype.name}; give as many of the same"
        )
    some = mine or into
    assert some is not None
    return mine, into, operator_of(call, op, some.datatype)


def rooted(
    comm: CommBase, call: str, whole_: Any, own: Any, root: int, divided: _Divided, *, gathers: bool
) -> tuple[Blocks | None, memoryview | None, Elements]:
    """Return the blocks of a root, None elsewhere, this rank's own, None where it is in place, and what they hold.

    Args:
        comm: the communicator of the call.
        call: its name.
        whole_: the root's buffer, as given.
        own: the buffer of each rank, as given.
        root: the rank.
        divided: `equal_parts` or `parts`.
        gathers: whether data go to the root.
    """
    plain = comm._alive(call)
    rank, size = plain.Get_rank(), plain.Get_size()
    names = ("recvbuf", "sendbuf") if gathers else ("sendbuf", "recvbuf")
    at_root = rank == root
    own = given(own, call, names[1], in_place=at_root)
    mine = None if own is None else span(own, f"Comm.{call}: {names[1]}", writable=not gathers)
    if not at_root:
        assert mine is not None
        return None, mine.view, moved(mine)
    many = divided(given(whole_, call, names[0], in_place=False), size, f"Comm.{call}: {names[0]}", writable=gathers)
    apart(call, mine, many)
    if mine is not None:
        one = len(many.part(rank))
        fitting(call, *((len(mine.view), one) if gathers else (one, len(mine.view))))
    elements = of_both(call, *((mine, many) if gathers else (many, mine)))
    return Blocks(many.view, many.places), None if mine is None else mine.view, elements


def collected(
    comm: CommBase, call: str, sendbuf: Any, recvbuf: Any, divided: _Divided
) -> tuple[memoryview | None, Blocks, Elements]:
    """Return a rank's own block, None where it is in place, where the blocks of all go, and what they hold."""
    plain = comm._alive(call)
    mine = sent(sendbuf, call)
    into = divided(
        given(recvbuf, call, "recvbuf", in_place=False), plain.Get_size(), f"Comm.{call}: recvbuf", writable=True
    )
    apart(call, mine, into)
    if mine is not None:
        fitting(call, len(mine.view), len(into.part(plain.Get_rank())))
    return None if mine is None else mine.view, Blocks(into.view, into.places), of_both(call, mine, into)


def exchanged(
    comm: CommBase, call: str, sendbuf: Any, recvbuf: Any, divided: _Divided
) -> tuple[Blocks | None, Blocks, Elements]:
    """Return a rank's blocks for all, None where they are in place, where those of all go, and what they hold."""
    plain = comm._alive(call)
    rank, size = plain.Get_rank(), plain.Get_size()
    buffer = given(sendbuf, call, "sendbuf")
    out = None if buffer is None else divided(buffer, size, f"Comm.{call}: sendbuf")
    into = divided(given(recvbuf, call, "recvbuf", in_place=False), size, f"Comm.{call}: recvbuf", writable=True)
    apart(call, out, into)
    if out is not None:
        fitting(call, len(out.part(rank)), len(into.part(rank)))
    # With counts of its own each pair of ranks may exchange other data, and each way.
    elements = ANY_ELEMENTS if call == "Alltoallv" else of_both(call, out, into)
    return None if out is None else Blocks(out.view, out.places), Blocks(into.view, into.places), elements


def scattered_operands(
    comm: CommBase, call: str, sendbuf: Any, recvbuf: Any, recvcounts: Any, op: Any, *, equal: bool
) -> tuple[Span, memoryview, tuple[int, ...] | None, ReductionOp]:
    """Return the operand of a reduce-scatter, where this rank's block goes, and all counts.

    Args:
        comm: the communicator of the call.
        call: its name.
        sendbuf: as given.
        recvbuf: as given.
        recvcounts: as given.
        op: as given.
        equal: whether all blocks have one size.
    """
    plain = comm._alive(call)
    rank, size = plain.Get_rank(), plain.Get_size()
    mine, into = sent(sendbuf, call, combined=True), received(recvbuf, call)
    apart(call, mine, into)
    operand = mine or into
    counts = None
    if recvcounts is not None:
        counts = numbers(recvcounts, size, f"Comm.{call}: recvcounts")
    elif equal:
        if operand.count % size:
            raise BadRequest(
                f"Comm.{call}: {many(operand.count, 'element')} cannot be divided among {size} ranks; give a multiple"
            )
        counts = (operand.count // size,) * size
    elif mine is None:
        raise BadRequest(f"Comm.{call}: recvcounts=None tells no blocks where sendbuf is MPI.IN_PLACE; give counts")
    if mine is not None and mine.datatype != into.datatype:
        raise BadRequest(
            f"Comm.{call}: sendbuf has elements of {mine.datatype.name}, recvbuf of {into.datatype.name}; give the same"
        )
    if counts is not None and sum(counts) != operand.count:
        raise BadRequest(
            f"Comm.{call}: the counts {counts} come to {many(sum(counts), 'element')}, the operand has {operand.count}"
        )
    take = into.count if counts is None else counts[rank]
    if take > into.count or (mine is not None and take != into.count):
        raise BadRequest(f"Comm.{call}: this rank's block is {take} elements, recvbuf has {into.count}; give as many")
    return operand, into.view[: take * into.datatype.extent], counts, operator_of(call, op, operand.datatype)
