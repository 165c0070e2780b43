"""Reduce, reduce to all and scan: operands meet in rank order, whatever the algorithm."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from extended.collectives.algorithms.algorithm import PIECE, Algorithm, refuse_unaligned, refuse_whole
from extended.collectives.algorithms.up_and_down import AHEAD, combined, down
from extended.collectives.call import pieces
from extended.collectives.trees import arms, chain, two_level

if TYPE_CHECKING:
    import numpy.typing as npt

    from extended.collectives.call import CollectiveCall, PostedReceive, Steps
    from extended.collectives.operators import Operator
    from extended.collectives.trees import Shape
    from extended.topology import Topology

    Array = npt.NDArray[Any]


class _OnTree(Algorithm):
    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name  # type: ignore[misc]  # one class, several algorithms
        self._shape = shape

    def refusal(self, topology: Topology, nbytes: int, operator: Operator | None, eager: int) -> str:
        """Refuse what the tree cannot keep in order or in pieces."""
        if self._shape is two_level:
            return refuse_unaligned(topology)
        return refuse_whole(operator) if self._shape is arms else ""


class TreeReduce(_OnTree):
    """Combine up a tree whose subtrees are ranges of ranks."""

    def run(self, call: CollectiveCall) -> Steps:
        """Each rank combines what comes from below with its own."""
        given = call.work.given
        assert given is not None
        total = np.empty_like(given) if call.work.made is None else call.work.made
        node = self._shape(call.topology, call.root, call.rank)
        yield from combined(call, node, given, total)


class TreeAllReduce(_OnTree):
    """Combine up a tree to rank 0, which passes the result down: the same bits on every rank."""

    def run(self, call: CollectiveCall) -> Steps:
        """Up, then down."""
        given, made = call.work.given, call.work.made
        assert given is not None
        assert made is not None
        yield from combined(call, self._shape(call.topology, 0, call.rank), given, made)
        back = chain if self._shape is arms else self._shape
        yield from down(call, back(call.topology, 0, call.rank), made.view(np.uint8))


def _extra(size: int) -> int:
    """Return by how many that many ranks are over a power of two."""
    return size - (1 << (size.bit_length() - 1))


class DisseminationAllReduce(Algorithm):
    """Ranks exchange with partners at distances 1, 2, 4 ...; the ranks over a power of two join a neighbour first.

    At every step both partners combine the same two ranges of ranks, so that all get the same bits.
    """

    name = "dissemination"

    def greets(self, call: CollectiveCall) -> int | None:
        """Whoever waits has told whom it waits for, but those that get small data from above a power of two."""
        assert call.work.given is not None
        folded = call.rank < 2 * _extra(call.size) and call.rank % 2
        return call.rank - 1 if folded and call.is_eager(call.work.given.nbytes) else None

    def run(self, call: CollectiveCall) -> Steps:
        """Fold to a power of two, exchange, unfold."""
        given, made, rank = call.work.given, call.work.made, call.rank
        assert given is not None
        assert made is not None
        extra = _extra(call.size)
        core = call.size - extra
        if rank < 2 * extra and rank % 2 == 0:
            result = call.receive(rank + 1, made, core)
            call.send(rank + 1, given)
            yield result
            return
        total = given
        if rank < 2 * extra:
            total = np.empty_like(given)
            yield call.receive(rank - 1, total)
            call.combine(total, given, total)
        place, stride = (rank // 2 if rank < 2 * extra else rank - extra), 1
        while stride < core:
            other = place ^ stride
            partner = 2 * other + 1 if other < extra else other + extra
            part = np.empty_like(given)
            coming = call.receive(partner, part, stride)
            call.send(partner, total, stride)
            yield coming
            # Into the arrived operand: what was sent stays as it is until the call is over.
            call.combine(*((part, total) if other < place else (total, part)), part)
            total = part
            stride *= 2
        call.copy(made, total)
        if rank < 2 * extra:
            call.send(rank - 1, total, core)


class DisseminationScan(Algorithm):
    """In step s rank r gets from rank r - 2**s what the ranks up to there come to (after Hillis and Steele)."""

    name = "dissemination"

    def greets(self, call: CollectiveCall) -> int | None:
        """Small data tells the next rank in the first step, and the last rank has none; large data is asked for."""
        assert call.work.given is not None
        told = call.rank + 1 < call.size and call.is_eager(call.work.given.nbytes)
        return None if told else super().greets(call)

    def run(self, call: CollectiveCall) -> Steps:
        """Combine what comes on the left."""
        given, made, rank = call.work.given, call.work.made, call.rank
        assert given is not None
        assert made is not None
        total, stride = given, 1
        while stride < call.size:
            if rank + stride < call.size:
                call.send(rank + stride, total, stride)
            if rank >= stride:
                part = np.empty_like(given)
                yield call.receive(rank - stride, part, stride)
                call.combine(part, total, part)
                total = part
            stride *= 2
        call.copy(made, total)


class PipelinedScan(Algorithm):
    """From rank to rank, in pieces."""

    name = "pipelined"

    def refusal(self, topology: Topology, nbytes: int, operator: Operator | None, eager: int) -> str:
        """Refuse functions of whole arrays."""
        return refuse_whole(operator)

    def run(self, call: CollectiveCall) -> Steps:
        """Combine each piece on the left, and pass it on."""
        given, made, rank = call.work.given, call.work.made, call.rank
        assert given is not None
        assert made is not None
        ranges = pieces(given.size, max(1, PIECE // given.itemsize))

        def ask(number: int) -> tuple[Array, PostedReceive]:
            part = np.empty(ranges[number][1] - ranges[number][0], given.dtype)
            return part, call.receive(rank - 1, part, number)

        coming = deque(ask(number) for number in range(min(AHEAD, len(ranges)) if rank else 0))
        call.copy(made, given)
        for number, (low, high) in enumerate(ranges):
            mine = made[low:high]
            if rank:
                part, receive = coming.popleft()
                yield receive
                if number + AHEAD < len(ranges):
                    coming.append(ask(number + AHEAD))
                call.combine(part, mine, mine)
            if rank + 1 < call.size:
                call.send(rank + 1, mine, number)
