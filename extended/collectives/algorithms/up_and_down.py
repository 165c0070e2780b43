"""The parts that algorithms on trees are made of: data down a tree, blocks and operands up."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from extended.collectives.algorithms.algorithm import PIECE
from extended.collectives.call import pieces

if TYPE_CHECKING:
    import numpy.typing as npt

    from extended.collectives.call import CollectiveCall, PostedReceive, Steps
    from extended.collectives.trees import TreeNode

    Array = npt.NDArray[Any]
    Bytes = npt.NDArray[np.uint8]

AHEAD = 2
"""Pieces that are asked for before they are needed: one travels while one is passed on."""

DOWN = 1 << 20
"""Tags from here on belong to data on its way down, so that it can follow data on its way up in one call."""


def down(call: CollectiveCall, node: TreeNode, data: Bytes) -> Steps:
    """Pass the root's data down a tree, piece after piece; its size is known to all."""
    ranges = pieces(data.size, PIECE)

    def ask(number: int) -> PostedReceive:
        assert node.parent is not None
        low, high = ranges[number]
        return call.receive(node.parent, data[low:high], DOWN + number)

    coming: deque[PostedReceive] = deque()
    if node.parent is not None:
        coming.extend(ask(number) for number in range(min(AHEAD, len(ranges))))
    for number, (low, high) in enumerate(ranges):
        if node.parent is not None:
            yield coming.popleft()
            if number + AHEAD < len(ranges):
                coming.append(ask(number + AHEAD))
        for child in node.children:
            call.send(child.rank, data[low:high], DOWN + number)


def up(call: CollectiveCall, node: TreeNode, given: Bytes, rows: Bytes | None) -> Steps:
    """Collect one block of bytes from every rank at the root of a tree, each subtree's in one message.

    Args:
        call: the call.
        node: this rank's place.
        given: its block.
        rows: at the root, a row for each rank.
    """
    nbytes = given.size
    if node.parent is not None and not node.children:
        call.send(node.parent, given)
        return
    in_order = isinstance(node.order, range)
    direct = rows is not None and in_order
    blocks = rows if direct else np.empty((node.high - node.low, nbytes), np.uint8)
    assert blocks is not None
    coming = [
        call.receive(child.rank, blocks[child.low - node.low : child.high - node.low])
        for child in reversed(node.children)
    ]
    call.copy(blocks[node.position - node.low], given)
    yield from coming
    if node.parent is not None:
        call.send(node.parent, blocks)
    elif not direct:
        assert rows is not None
        rows[list(node.order)] = blocks
        call.charge(copied=blocks.nbytes)


def combined(call: CollectiveCall, node: TreeNode, given: Array, total: Array) -> Steps:
    """Combine the operands of all ranks at the root of a tree, in rank order, in pieces where the operation allows it.

    Args:
        call: the call.
        node: this rank's place; positions are ranks.
        given: its operand, flat.
        total: gets what this rank's subtree comes to.
    """
    assert call.work.operator is not None
    most = max(1, PIECE // given.itemsize) if call.work.operator.elementwise else max(1, given.size)
    ranges = pieces(given.size, most)
    nearest_first = node.children[::-1]

    def ask(number: int) -> list[tuple[Array, PostedReceive]]:
        low, high = ranges[number]
        parts = [np.empty(high - low, given.dtype) for _ in nearest_first]
        return [
            (part, call.receive(child.rank, part, number)) for child, part in zip(nearest_first, parts, strict=True)
        ]

    coming = deque(ask(number) for number in range(min(AHEAD, len(ranges))))
    call.copy(total, given)
    for number, (low, high) in enumerate(ranges):
        mine = total[low:high]
        for child, (part, receive) in zip(nearest_first, coming.popleft(), strict=True):
            yield receive
            if child.rank < call.rank:
                call.combine(part, mine, mine)
            else:
                call.combine(mine, part, mine)
        if number + AHEAD < len(ranges):
            coming.append(ask(number + AHEAD))
        if node.parent is not None:
            call.send(node.parent, mine, number)
