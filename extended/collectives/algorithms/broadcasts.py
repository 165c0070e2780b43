"""Broadcast along a tree: the first message says what comes, and brings it along where it is small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from extended.collectives.algorithms.algorithm import Algorithm
from extended.collectives.algorithms.up_and_down import down

if TYPE_CHECKING:
    from extended.collectives.call import CollectiveCall, Steps
    from extended.collectives.operators import Operator
    from extended.collectives.trees import Shape
    from extended.topology import Topology


class TreeBroadcast(Algorithm):
    """Broadcast along one shape of tree.

    Args:
        name: of the algorithm.
        shape: of the tree.
    """

    def __init__(self, name: str, shape: Shape) -> None:
        self.name = name  # type: ignore[misc]  # one class, several algorithms
        self.shape = shape

    def run(self, call: CollectiveCall) -> Steps:
        """Pass the head on first, so that the ranks below get ready while large data is still under way."""
        node, data = self.shape(call.topology, call.root, call.rank), call.work.made
        assert data is not None
        piggybacks = call.piggybacks(data.size)
        if piggybacks and node.parent is not None:
            call.copy(data, np.frombuffer(call.unexpected.head.payload, np.uint8))
        for child in node.children:
            call.send_head(child.rank, data if piggybacks else None)
        if not piggybacks:
            yield from down(call, node, data)


class EagerBroadcast(TreeBroadcast):
    """The root sends small data to everybody at once."""

    def refusal(self, topology: Topology, nbytes: int, operator: Operator | None, eager: int) -> str:
        """Refuse what is not small."""
        return f"{nbytes} bytes are over the {eager} that are sent at once" if nbytes > eager else ""
