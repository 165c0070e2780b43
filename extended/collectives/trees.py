"""Trees over the ranks of a team, for any root; each rank works out its own place only.

Every subtree is a range of positions in an order of the ranks, so that the blocks of a subtree lie side by side.  In
most shapes that order is the order of ranks; in those that follow the hosts it is host after host.

The children of a node are listed in the order in which data is sent down to them, the largest subtree first.  In the
reverse of that order each child's range adjoins what the node and the children before it cover, so that operands are
combined in rank order.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from extended.topology import Topology

    Shape = Callable[[Topology, int, int], "TreeNode"]


class Branch(NamedTuple):
    """A child and the range of positions that its subtree has."""

    rank: int
    low: int
    high: int


class TreeNode:
    """One rank's place in a tree.

    Attributes:
        parent: the rank above, None for the root.
        children: the ranks below with their subtrees, in the order of sending down.
        low: the first position of this rank's own subtree.
        high: the position after its last.
        position: its own.
        order: the rank at each position.
    """

    __slots__ = ("children", "high", "low", "order", "parent", "position")

    def __init__(self, order: Sequence[int], position: int) -> None:
        self.order = order
        self.position = position
        self.parent: int | None = None
        self.children: list[Branch] = []
        self.low, self.high = 0, len(order)

    def descend(self, low: int, high: int, root: int) -> None:
        """Halve a range of positions with a given root until this rank is alone in it.

        The half without the root gets its first position as a root, and the root as its parent.
        """
        me, order = self.position, self.order
        while high - low > 1:
            middle = (low + high + 1) // 2
            other = (middle, high) if root < middle else (low, middle)
            head = other[0]
            if other[0] <= me < other[1]:
                if me == head:
                    self.parent = order[root]
                    self.low, self.high = other
                (low, high), root = other, head
            else:
                if me == root:
                    self.children.append(Branch(order[head], *other))
                low, high = (low, middle) if root < middle else (middle, high)


def nodes(shape: Shape, topology: Topology) -> list[TreeNode]:
    """Return the place of every rank in a tree whose root is rank 0."""
    return [shape(topology, 0, rank) for rank in range(topology.size)]


def flat(topology: Topology, root: int, rank: int) -> TreeNode:
    """All ranks are children of the root: nearest last."""
    node = TreeNode(range(topology.size), rank)
    if rank != root:
        node.parent = root
        node.low, node.high = rank, rank + 1
    else:
        far_to_near = [*range(root), *range(topology.size - 1, root, -1)]
        node.children = [Branch(child, child, child + 1) for child in far_to_near]
    return node


def halving(topology: Topology, root: int, rank: int) -> TreeNode:
    """Ranks are halved until each is alone: ceil(log2 n) levels."""
    node = TreeNode(range(topology.size), rank)
    node.descend(0, topology.size, root)
    return node


def binomial(topology: Topology, root: int, rank: int) -> TreeNode:
    """The binomial tree that doubles, blind to placement: in round k who has the data sends it 2**k ranks on.

    Ranks are counted from the root on, and around; the parent of the one that is `r` on lacks the highest bit of `r`.
    """
    size = topology.size
    steps, places = _doubling(size)
    step = (rank - root) % size
    node = TreeNode([(root + each) % size for each in steps], places[step])
    level = step.bit_length()
    node.low, node.high = _doubled(places, step, level)
    node.parent = (root + step - (1 << level - 1)) % size if step else None
    for power in range(level, (size - 1).bit_length()):
        child = step + (1 << power)
        if child < size:
            node.children.append(Branch((root + child) % size, *_doubled(places, child, power + 1)))
    return node


@lru_cache(maxsize=16)
def _doubling(size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the order in which subtrees of the doubling tree lie side by side, and the place of each step in it."""
    bits = (size - 1).bit_length()
    steps = sorted(range(size), key=lambda step: f"{step:0{bits}b}"[::-1])
    places = [0] * size
    for place, step in enumerate(steps):
        places[step] = place
    return tuple(steps), tuple(places)


def _doubled(places: Sequence[int], step: int, level: int) -> tuple[int, int]:
    """Return the range of places of a subtree: the steps that agree in the lowest `level` bits."""
    return places[step], places[step] + len(range(step, len(places), 1 << level))


def two_level(topology: Topology, root: int, rank: int) -> TreeNode:
    """Hosts are halved first, one rank of each taking part, then the ranks of each host."""
    groups, mine, homes = topology.groups, topology.group_of[rank], topology.group_of[root]
    starts = [0]
    for group in groups:
        starts.append(starts[-1] + len(group))
    node = TreeNode(topology.order, starts[mine] + topology.place_of[rank])
    lead = root if mine == homes else groups[mine][0]
    if rank == lead:
        # The same halving, one position for each host.
        between = TreeNode([root if number == homes else group[0] for number, group in enumerate(groups)], mine)
        between.descend(0, len(groups), homes)
        node.parent = between.parent
        node.low, node.high = starts[between.low], starts[between.high]
        node.children = [Branch(child, starts[low], starts[high]) for child, low, high in between.children]
    node.descend(starts[mine], starts[mine + 1], starts[mine] + topology.place_of[lead])
    return node


def chain(topology: Topology, root: int, rank: int) -> TreeNode:
    """One rank after the other from the root on: its own host first, then host after host."""
    start = topology.group_of[root]
    groups = [*topology.groups[start:], *topology.groups[:start]]
    order = [root, *(each for each in groups[0] if each != root), *(each for group in groups[1:] for each in group)]
    node = TreeNode(order, order.index(rank))
    node.low = node.position
    if node.position:
        node.parent = order[node.position - 1]
    if node.position + 1 < len(order):
        node.children = [Branch(order[node.position + 1], node.position + 1, len(order))]
    return node


def arms(topology: Topology, root: int, rank: int) -> TreeNode:
    """Two chains that meet at the root: the ranks below it and those above it, in their order."""
    size = topology.size
    node = TreeNode(range(size), rank)
    if rank < root:
        node.parent, node.high = rank + 1, rank + 1
    elif rank > root:
        node.parent, node.low = rank - 1, rank
    if 0 < rank <= root:
        node.children.append(Branch(rank - 1, 0, rank))
    if root <= rank < size - 1:
        node.children.append(Branch(rank + 1, rank + 1, size))
    return node
