"""Times as intervals: what two lists have in common, and how much of a list lies between two times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

Interval = tuple[int, int]


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the same times as intervals that are in order and do not touch."""
    joined: list[list[int]] = []
    for begin, end in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    return [(begin, end) for begin, end in joined]


def intersection(one: Sequence[Interval], other: Sequence[Interval]) -> list[Interval]:
    """Return what two lists of `union` have in common."""
    found, i, j = [], 0, 0
    while i < len(one) and j < len(other):
        begin, end = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if begin < end:
            found.append((begin, end))
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return found


def difference(one: Sequence[Interval], other: Sequence[Interval]) -> list[Interval]:
    """Return what of one list of `union` is not in another."""
    if not one:
        return []
    edges = [one[0][0], *(edge for interval in other for edge in interval), max(one[-1][1], one[0][0])]
    gaps = [(begin, end) for begin, end in zip(edges[::2], edges[1::2], strict=True) if begin < end]
    return intersection(one, gaps)


def overlap(one: Sequence[Interval], other: Sequence[Interval]) -> int:
    """Return how long two lists of `union` have in common."""
    return sum(end - begin for begin, end in intersection(one, other))


class Covered:
    """Times that can be asked for any stretch of a job, however many they are.

    Args:
        intervals: in any order.

    Attributes:
        intervals: the same times as `union` returns them.
    """

    def __init__(self, intervals: Iterable[Interval] = ()) -> None:
        self.intervals = union(intervals)
        self._begin = [begin for begin, _ in self.intervals]
        self._end = [end for _, end in self.intervals]
        self._before = [0, *accumulate(end - begin for begin, end in self.intervals)]

    @property
    def total(self) -> int:
        """How long they are together."""
        return self._before[-1]

    def within(self, begin: int, end: int) -> int:
        """Return how much of them lies between two times."""
        return max(self._until(end) - self._until(begin), 0)

    def clipped(self, begin: int, end: int) -> list[Interval]:
        """Return what of them lies between two times."""
        some = self.intervals[bisect_right(self._end, begin) : bisect_left(self._begin, end)]
        return [(max(each[0], begin), min(each[1], end)) for each in some]

    def _until(self, when: int) -> int:
        index = bisect_right(self._begin, when)
        return self._before[index] - max(self._end[index - 1] - when, 0) if index else 0
