"""Gather to all and all-to-all without a root: dissemination for small blocks, neighbours and pairs for large ones."""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from extended.collectives.algorithms.algorithm import Algorithm

if TYPE_CHECKING:
    from collections.abc import Callable

    from extended.collectives.call import CollectiveCall, PostedReceive, Steps

WINDOW = 4
"""Blocks that are on their way at a time."""


class _Window:
    """The receives of steps 1 to ``size - 1``, a few of them asked for ahead."""

    def __init__(self, size: int, ask: Callable[[int], PostedReceive]) -> None:
        self._ask = ask
        self._steps = iter(range(1, size))
        self._coming = deque(map(ask, islice(self._steps, WINDOW - 1)))

    def next(self) -> PostedReceive:
        """Return the receive of the next step."""
        return self._coming.popleft()

    def refill(self) -> None:
        """Ask for one step more, if there is one."""
        self._coming.extend(map(self._ask, islice(self._steps, 1)))


class DisseminationAllGather(Algorithm):
    """In step s rank r sends all it has to rank r - 2**s: ceil(log2 n) steps (after Bruck)."""

    name = "dissemination"

    def greets(self, call: CollectiveCall) -> int | None:
        """The first step goes to the rank before."""
        return None

    def run(self, call: CollectiveCall) -> Steps:
        """Collect in the order of distance, and turn at the end."""
        given, made, size, rank = call.work.given, call.work.made, call.size, call.rank
        assert given is not None
        assert made is not None
        blocks = np.empty((size, given.size), np.uint8)
        call.copy(blocks[0], given)
        have = 1
        while have < size:
            count = min(have, size - have)
            coming = call.receive((rank + have) % size, blocks[have : have + count], have)
            call.send((rank - have) % size, blocks[:count], have)
            yield coming
            have += count
        call.copy(made[rank:], blocks[: size - rank])
        call.copy(made[:rank], blocks[size - rank :])


class RingAllGather(Algorithm):
    """Blocks travel from neighbour to neighbour, n - 1 steps without any copy."""

    name = "ring"

    def greets(self, call: CollectiveCall) -> int | None:
        """The first block goes to the next rank."""
        return None

    def run(self, call: CollectiveCall) -> Steps:
        """Pass on what came last."""
        given, made, size, rank = call.work.given, call.work.made, call.size, call.rank
        assert given is not None
        assert made is not None

        def ask(step: int) -> PostedReceive:
            return call.receive((rank - 1) % size, made[(rank - step) % size], step)

        coming = _Window(size, ask)
        call.copy(made[rank], given)
        for step in range(1, size):
            call.send((rank + 1) % size, made[(rank - step + 1) % size], step)
            yield coming.next()
            coming.refill()


class PairwiseAllToAll(Algorithm):
    """In step s rank r sends to rank r + s what is for it: n - 1 messages, no block travels twice.

    Args:
        name: of the algorithm.
        ahead: steps more that are sent before the one that is waited for.
    """

    def __init__(self, name: str, ahead: int) -> None:
        self.name = name  # type: ignore[misc]  # one class, several algorithms
        self._ahead = ahead

    def greets(self, call: CollectiveCall) -> int | None:
        """The first step goes to the next rank."""
        return None

    def run(self, call: CollectiveCall) -> Steps:
        """A few steps at a time."""
        call.in_turn = True
        given, made, size, rank = call.work.given, call.work.made, call.size, call.rank
        assert given is not None
        assert made is not None

        def ask(step: int) -> PostedReceive:
            source = (rank - step) % size
            return call.receive(source, made[source])

        coming, dests = _Window(size, ask), ((rank + step) % size for step in range(1, size))
        call.copy(made[rank], given[rank])
        for step in range(1, size):
            for dest in islice(dests, 1 if step > 1 else 1 + self._ahead):
                call.send(dest, given[dest])
            yield coming.next()
            coming.refill()


class DisseminationAllToAll(Algorithm):
    """In step s all blocks whose way has bit s go 2**s ranks on: ceil(log2 n) messages, bytes move often (Bruck)."""

    name = "dissemination"

    def greets(self, call: CollectiveCall) -> int | None:
        """The first step goes to the next rank."""
        return None

    def run(self, call: CollectiveCall) -> Steps:
        """Sort by the way to go, send on bit by bit, sort by origin."""
        given, made, size, rank = call.work.given, call.work.made, call.size, call.rank
        assert given is not None
        assert made is not None
        blocks = np.roll(given, -rank, axis=0)
        call.charge(copied=blocks.nbytes)
        stride = 1
        while stride < size:
            moving = [way for way in range(size) if way & stride]
            packed = blocks[moving]
            arriving = np.empty_like(packed)
            call.charge(copied=packed.nbytes)
            coming = call.receive((rank - stride) % size, arriving, stride)
            call.send((rank + stride) % size, packed, stride)
            yield coming
            blocks[moving] = arriving
            call.charge(copied=packed.nbytes)
            stride *= 2
        origins = [(rank - way) % size for way in range(size)]
        made[origins] = blocks
        call.charge(copied=blocks.nbytes)
