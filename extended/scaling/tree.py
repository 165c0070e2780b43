"""The binary tree of the broadcast: who hands on to whom.

For a PE above 0 let k be the index of its lowest 1 bit: its parent is the PE with that bit cleared, its children are
those that differ from it in one lower bit.  The larger subtree is served first.
"""


def parent(rank: int) -> int:
    """Return from whom a PE above 0 gets the data."""
    return rank & (rank - 1)


def children(rank: int, size: int) -> list[int]:
    """Return to whom a PE hands on, in this order.

    Args:
        rank: the PE.
        size: number of PEs.
    """
    bits = (size - 1).bit_length() if rank == 0 else (rank & -rank).bit_length() - 1
    return [rank | 1 << bit for bit in reversed(range(bits)) if rank | 1 << bit < size]


def is_leaf(rank: int, size: int) -> bool:
    """Return whether a PE only receives: it is odd, or the last one."""
    return rank > 0 and (rank % 2 == 1 or rank == size - 1)
