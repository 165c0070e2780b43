"""Algorithms rehearsed by their own steps: what several calls take, one behind the other, as programs make them.

A rank may leave a scan long before others and begin the next one, so what takes least alone may not be what takes least
again and again.  Of large data some pieces are rehearsed; what more bytes take follows from the last ones.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from extended.collectives.algorithms.algorithm import PIECE
from extended.collectives.algorithms.model import rounded
from extended.collectives.algorithms.rehearsal import GREETING, Rehearsal, Rehearsed
from extended.collectives.algorithms.small import REPEATED
from extended.collectives.call import CollectiveCall, PostedReceive, Work
from extended.collectives.signature import CALLS, Signature

if TYPE_CHECKING:
    from collections.abc import Iterator

    from extended.collectives.algorithms.algorithm import Algorithm
    from extended.collectives.algorithms.model import Model
    from extended.collectives.call import CollectiveWait
    from extended.collectives.operators import Operator
    from extended.topology import Topology

REHEARSED_BYTES = 8 * PIECE
"""Of data at most; the rest is taken to go at the pace of the second half of it."""

_TAGS = 1 << 32
"""More than an algorithm has."""


class _NoOperator:
    """What combines nothing: no data is there."""

    name = "rehearsed"

    def __init__(self, *, elementwise: bool) -> None:
        self.elementwise = elementwise

    def combine(self, left: object, right: object, out: object) -> None:
        """Leave everything as it is."""


class _Rank:
    """The calls of one rank; what they send and receive, in the place of `extended.collectives.send_queue`.

    Args:
        stage: what all ranks have in common.
        rank: this one.
    """

    def __init__(self, stage: _Stage, rank: int) -> None:
        self.eager_bytes = stage.model.eager_bytes
        self._stage, self._rank = stage, rank
        self._sequence = 0
        self._awaited: CollectiveWait | None = None
        self._receives: dict[tuple[int, int], PostedReceive] = {}
        self._arrived: set[tuple[int, int]] = set()
        self._steps = self._calls()

    def _calls(self) -> Iterator[CollectiveWait]:
        stage = self._stage
        for sequence in range(REPEATED):
            self._sequence = sequence
            call = stage.call(self, self._rank, sequence)
            greeted = stage.algorithm.greets(call)
            if greeted is not None:
                stage.on.send(stage.on.between(self._rank, greeted, 0, GREETING))
            yield from stage.algorithm.run(call)

    def go_on(self) -> None:
        """Do what can be done before something else has come."""
        while self._awaited is None or self._awaited.done:
            self._awaited = next(self._steps, None)
            if self._awaited is None:
                self._steps = iter(())
                return

    def take(self, sent: Rehearsed) -> None:
        """Take a message with data."""
        receive = self._receives.pop((sent.source, sent.tag), None)
        if receive is None:
            self._arrived.add((sent.source, sent.tag))
            return
        receive.arrived(sent.nbytes)
        self.go_on()

    def send(self, call: CollectiveCall, dest: int, data: memoryview, tag: int) -> None:
        """Send as soon as it can be."""
        on = self._stage.on
        on.send(on.between(self._rank, dest, len(data), self._sequence * _TAGS + tag))

    def send_head(self, call: CollectiveCall, dest: int, data: memoryview | None) -> None:
        """Refuse what is not rehearsed."""
        raise NotImplementedError

    def receive(self, call: CollectiveCall, source: int, into: memoryview, tag: int) -> PostedReceive:
        """Ask for data that is large."""
        on, receive, place = self._stage.on, PostedReceive(into), (source, self._sequence * _TAGS + tag)
        if place in self._arrived:
            self._arrived.remove(place)
            on.copy(self._rank, len(into))
            receive.arrived(len(into))
        else:
            self._receives[place] = receive
            on.receive(on.between(source, self._rank, len(into), place[1]))
        return receive

    def charge(self, flops: int, copied: int) -> None:
        """Let the CPU copy.  What it works takes as long by each algorithm that is worth it."""
        self._stage.on.copy(self._rank, copied)


class _Stage:
    """All ranks of a team with their calls by one algorithm.

    Args:
        call: its kind.
        algorithm: that is rehearsed.
        model: of the network.
        topology: of the team.
        nbytes: of one rank's contribution.
        operator: of a reduction.
    """

    def __init__(
        self, call: str, algorithm: Algorithm, model: Model, topology: Topology, nbytes: int, operator: Operator
    ) -> None:
        self.algorithm, self.model = algorithm, model
        self.on = Rehearsal(model, topology.group_of)
        self._topology = topology
        self._signature = Signature((CALLS.index(call), 0, 0))
        # The same memory for all, which nobody looks at.
        self._memory = np.empty(nbytes, np.uint8), np.empty(nbytes, np.uint8)
        self._operator = operator
        self._members = range(topology.size)

    def call(self, rank: _Rank, number: int, sequence: int) -> CollectiveCall:
        """Return one call of a rank."""
        work = Work(*self._memory, self._operator)
        return CollectiveCall(rank, (0, 0), self._members, self._topology, number, sequence, self._signature, work)

    def took(self) -> float:
        """Return what the calls take until the last rank has done them."""
        ranks = [_Rank(self, rank) for rank in self._members]

        def take(sent: Rehearsed) -> None:
            if sent.tag >= 0:
                ranks[sent.dest].take(sent)

        self.on.taken = take
        for rank in ranks:
            rank.go_on()
        self.on.run()
        return max(self.on.ended)


def fastest(
    call: str, algorithms: tuple[Algorithm, ...], model: Model, topology: Topology, nbytes: int, operator: Operator
) -> str:
    """Return the algorithm whose calls take least, the first of equals.

    Args:
        call: the collective, a reduction to all or a scan.
        algorithms: those that there are.
        model: of the network.
        topology: of the team.
        nbytes: of one rank's contribution.
        operator: of the reduction.
    """
    return _fastest(call, algorithms, model, topology, rounded(nbytes, model.eager_bytes), operator.elementwise)


@lru_cache(maxsize=1024)
def _fastest(
    call: str, algorithms: tuple[Algorithm, ...], model: Model, topology: Topology, nbytes: int, elementwise: bool
) -> str:
    operator = cast("Any", _NoOperator(elementwise=elementwise))

    def took(algorithm: Algorithm, size: int) -> float:
        return _Stage(call, algorithm, model, topology, size, operator).took()

    def takes(algorithm: Algorithm) -> float:
        rehearsed, half = REHEARSED_BYTES, REHEARSED_BYTES // 2
        if nbytes <= rehearsed:
            return took(algorithm, nbytes)
        whole = took(algorithm, rehearsed)
        return whole + (whole - took(algorithm, half)) / (rehearsed - half) * (nbytes - rehearsed)

    allowed = [each for each in algorithms if not each.refusal(topology, nbytes, operator, model.eager_bytes)]
    return min(allowed, key=takes).name
