"""Binomial trees of ranks.

Ranks are counted from the root on.  The parent of r is r without its lowest 1 bit; below r are those that share its
higher bits.
"""

from __future__ import annotations

import attrs


@attrs.frozen
class TreePosition:
    """A rank's place in a tree.

    Attributes:
        parent: the rank above, None at the root.
        children: the ranks below, those with the smallest subtrees first.
        subtrees: of each child, all ranks below it and itself, in the order counted from the root.
        subtree: this rank and all below it.
    """

    parent: int | None
    children: tuple[int, ...]
    subtrees: tuple[tuple[int, ...], ...]
    subtree: tuple[int, ...]


def binomial(rank: int, size: int, root: int = 0) -> TreePosition:
    """Return a rank's place in the tree of `size` ranks under `root`."""

    def real(numbers: range) -> tuple[int, ...]:
        return tuple((number + root) % size for number in numbers)

    place = (rank - root) % size
    reach = place & -place or 1 << (size - 1).bit_length()
    children, subtrees, step = [], [], 1
    while step < reach and place + step < size:
        below = range(place + step, min(place + 2 * step, size))
        children.append((below[0] + root) % size)
        subtrees.append(real(below))
        step *= 2
    parent = None if not place else (place - reach + root) % size
    return TreePosition(parent, tuple(children), tuple(subtrees), real(range(place, min(place + reach, size))))
