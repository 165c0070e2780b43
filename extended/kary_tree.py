"""The tree in which barriers and calls on the heap combine what few words they have: four below each place.

Places count from 0, which is the top; those below a place follow those below the place before it.
"""

from __future__ import annotations

WIDTH = 4
"""Places below each place."""


def parent_of(place: int) -> int | None:
    """Return the place above, None for the top."""
    return (place - 1) // WIDTH if place else None


def children_of(place: int, size: int) -> range:
    """Return the places below, of a tree of that many places."""
    first = WIDTH * place + 1
    return range(min(first, size), min(first + WIDTH, size))
