"""Ranks that a program names for the report of a deadlock, in a collection that may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import index


class LiveRanks:
    """The ranks in a collection of the program's, read anew whenever they are asked for.

    Args:
        collection: the program's; can be iterated any number of times.
        first: what is known to be right; counts where reading it raises, or gives what is no rank.
        size: number of ranks of the job.
    """

    __slots__ = ("_collection", "_first", "_size")

    def __init__(self, collection: Iterable[int], first: tuple[int, ...], size: int) -> None:
        self._collection = collection
        self._first = first
        self._size = size

    def __iter__(self) -> Iterator[int]:
        try:
            ranks = [index(rank) for rank in self._collection]
        except Exception:  # out of the program's object, while the report of another error is made
            return iter(self._first)
        return iter(ranks if all(0 <= rank < self._size for rank in ranks) else self._first)
