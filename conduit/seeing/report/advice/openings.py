"""Calls that open accesses to a rank and close them, made over and over."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator

import attrs

from conduit.seeing.report.advice.parts import MANY, WORTH, Advice, OfLine, part, whose
from conduit.seeing.report.observer import Called, ReportRecording
from conduit.seeing.report.profile import Profile


@attrs.frozen
class _Opening:
    """Two calls between which accesses to a rank are made; the line is that of the first."""

    opened: Called
    closed: Called

    @property
    def ticks(self) -> int:
        """Picoseconds in both."""
        return self.opened.end - self.opened.begin + self.closed.end - self.closed.begin


def openings(recording: ReportRecording, found: Profile) -> list[OfLine]:
    """Many pairs of calls of one line, for accesses to other ranks that could be made between two of them."""
    lines: dict[tuple[str, int], list[_Opening]] = defaultdict(list)
    for each in _openings(recording):
        if each.opened.place and each.opened.peer != each.opened.rank:
            lines[each.opened.place, each.opened.rank].append(each)
    made, accesses = [], _accesses(recording)
    for (place, rank), several in lines.items():
        share = sum(each.ticks for each in several) / found.working
        if len(several) < MANY or share < WORTH:
            continue
        owner, most = whose(Counter(each.opened.peer for each in several), "to")
        first = several[0]
        single = all(_between(accesses[each.opened.rank, each.opened.peer], each) == 1 for each in several)
        each_for = ", for one access each time" if single else ""
        advised = Advice(
            f"Rank {rank} calls {first.opened.name} and {first.closed.name} {len(several)} times each for accesses to "
            f"{owner} at {place}{each_for}{most}. These calls take {part(share)}.",
            recording.words_at(place).opened,
            share,
        )
        made.append(OfLine(place, rank, advised))
    return made


def _openings(recording: ReportRecording) -> Iterator[_Opening]:
    """Yield the calls that open accesses, each with the next that closes those to the same rank."""
    opened: dict[tuple[int, int], Called] = {}
    for call in recording.calls:
        key = call.rank, call.peer
        if call.level == "open":
            opened[key] = call
        elif call.level == "close" and key in opened:
            yield _Opening(opened.pop(key), call)


def _accesses(recording: ReportRecording) -> dict[tuple[int, int], list[int]]:
    """Return when puts, gets and operations on one number began, by who made them and of whom, in order."""
    begun: dict[tuple[int, int], list[int]] = defaultdict(list)
    for call in recording.calls:
        if call.level in ("put/get", "atomic"):
            begun[call.rank, call.peer].append(call.begin)
    return defaultdict(list, {key: sorted(times) for key, times in begun.items()})


def _between(times: list[int], opening: _Opening) -> int:
    return bisect_right(times, opening.closed.begin) - bisect_left(times, opening.opened.end)
