"""The tracks of a trace: slices that never overlap on one of them, except that one may lie in another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from conduit.seeing.timeline.recording import CpuSpan, RecordedWait, Recording


class Slice(Protocol):
    """What has a begin and an end."""

    @property
    def begin(self) -> int:
        """Picoseconds."""

    @property
    def end(self) -> int:
        """Picoseconds."""


SliceT = TypeVar("SliceT", bound=Slice)


def _behind(one: Slice, other: Slice) -> bool:
    return one.end <= other.begin


def told_apart(one: Slice, other: Slice) -> bool:
    """Say whether a slice is behind another in whole nanoseconds, and which one a time is in is clear.

    Where a slice takes no time and another one begins or ends then, it is not: viewers take either, and so may lead the
    arrow of one to the other.
    """
    one_begin, one_end, begin = one.begin // 1000, one.end // 1000, other.begin // 1000
    if one_begin == one_end or begin == other.end // 1000:
        return one_end < begin
    return one_end <= begin


def lanes(slices: Iterable[SliceT], behind: Callable[[Slice, Slice], bool] = _behind) -> list[list[SliceT]]:
    """Divide slices into as few lanes as the order of their begins gives, none of which has two that overlap.

    Args:
        slices: in any order.
        behind: whether a slice may follow another one in a lane.
    """
    found: list[list[SliceT]] = []
    for each in sorted(slices, key=_times):
        lane = next((lane for lane in found if behind(lane[-1], each)), None)
        if lane is None:
            found.append([each])
        else:
            lane.append(each)
    return found


def _times(each: Slice) -> tuple[int, int]:
    return each.begin, each.end


def spans_of(recording: Recording, rank: int) -> Iterator[tuple[CpuSpan, RecordedWait | None]]:
    """Return the spans of a rank's CPU, those of polls that find nothing with the wait that lasts longest then."""
    waits = recording.waits[rank]
    coming, under_way = 0, list[RecordedWait]()
    for span in recording.cpu[rank]:
        if span.why != "waiting":
            yield span, None
            continue
        while coming < len(waits) and waits[coming].begin < span.end:
            under_way.append(waits[coming])
            coming += 1
        under_way = [wait for wait in under_way if wait.end > span.begin]
        yield span, under_way[0] if under_way else None
