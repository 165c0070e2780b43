"""Scatter and gather along trees, and gather to all by a gather and a broadcast."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from extended.collectives.algorithms.algorithm import Algorithm
from extended.collectives.algorithms.up_and_down import down, up

if TYPE_CHECKING:
    from extended.collectives.call import CollectiveCall, Steps
    from extended.collectives.trees import Shape


class _OnTree(Algorithm):
    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name  # type: ignore[misc]  # one class, several algorithms
        self.shape = shape


class TreeScatter(_OnTree):
    """Each subtree's blocks go down in one message."""

    def run(self, call: CollectiveCall) -> Steps:
        """Split what comes from above among the ranks below."""
        node, mine = self.shape(call.topology, call.root, call.rank), call.work.made
        assert mine is not None
        count = node.high - node.low
        if node.parent is None:
            assert call.work.given is not None
            blocks = call.work.given
            if not isinstance(node.order, range):
                blocks = blocks[list(node.order)]
                call.charge(copied=blocks.nbytes)
        elif call.piggybacks(count * mine.size):
            blocks = np.frombuffer(call.unexpected.head.payload, np.uint8).reshape(count, mine.size)
        else:
            blocks = np.empty((count, mine.size), np.uint8)
        parts = [(child.rank, blocks[child.low - node.low : child.high - node.low]) for child in node.children]
        for child, part in parts:
            if not call.piggybacks(part.size):
                call.send_head(child, None)  # so that it gets ready while the blocks are still under way
        if node.parent is not None and not call.piggybacks(blocks.size):
            yield call.receive(node.parent, blocks)
        for child, part in parts:
            if call.piggybacks(part.size):
                call.send_head(child, part)
            else:
                call.send(child, part)
        call.copy(mine, blocks[node.position - node.low])


class TreeGather(_OnTree):
    """Each subtree's blocks go up in one message."""

    def run(self, call: CollectiveCall) -> Steps:
        """Collect at the root."""
        assert call.work.given is not None
        node = self.shape(call.topology, call.root, call.rank)
        yield from up(call, node, call.work.given, call.work.made)


class TreeAllGather(_OnTree):
    """Gather at rank 0, then broadcast from there."""

    def run(self, call: CollectiveCall) -> Steps:
        """Up, then down the same tree."""
        assert call.work.given is not None
        assert call.work.made is not None
        node = self.shape(call.topology, 0, call.rank)
        yield from up(call, node, call.work.given, call.work.made if node.parent is None else None)
        yield from down(call, node, call.work.made.reshape(-1))
