"""The steps of one exchange from its call to its return: what each of its picoseconds went to, and by which constants.

An exchange is cut at the events of its critical path (`PathEdge`), and these at the spans of the CPUs.  So the steps
add up to all of it, whatever the network is, and none of them is computed again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import attrs

from conduit.seeing.timeline.recording import CpuSpan, Recording

HARDWARE = -1
"""Where a step is that takes no CPU's time."""


class PathEdge(NamedTuple):
    """A stretch of the critical path: from one event to the next that it leads to.

    Attributes:
        begin: picoseconds.
        end: picoseconds.
        name: what the event does that begins it, in words; "" where that is no network's own.
        owner: the rank to which that belongs, -1 if to none.
        until: what ends it: "notice" where that is a rank's polling loop, "timer" where it is a timer, else "".
        rank: of which rank.
        parts: what it is made of, backwards from its end: picoseconds, and names of constants behind a colon.
    """

    begin: int
    end: int
    name: str
    owner: int
    until: str
    rank: int
    parts: Sequence[tuple[int, str]]


@attrs.define
class MessageStep:
    """What happens at one place for one reason, by constants of one group, on one leg of the exchange.

    Attributes:
        leg: "request" until the handler begins, then "reply"; of what is no message "".
        where: the rank whose CPU it takes, HARDWARE where it takes none.
        what: what that does, as a `CpuListener` hears it, or "wire", "notice" or "timer".
        name: which step of the network's protocol it is in, "" where it has none.
        group: what the names of its constants begin with, "" where it has none.
        begin: when it happens for the first time, picoseconds from the call on.
        ticks: how long it lasts in all, picoseconds.
        times: how often it happens.
        constants: picoseconds by the names of constants; what is missing to `ticks` is of none.
        links: picoseconds by the names of links and engines that were taken meanwhile.
    """

    leg: str
    where: int
    what: str
    name: str
    group: str
    begin: int
    ticks: int = 0
    times: int = 0
    constants: Counter[str] = attrs.field(factory=Counter)
    links: Counter[str] = attrs.field(factory=Counter)


class _Piece(NamedTuple):
    """A stretch that is all of one kind."""

    begin: int
    end: int
    where: int
    what: str
    constant: str


def steps_of(edges: Sequence[PathEdge], recording: Recording, turn: int | None) -> list[MessageStep]:
    """Return the steps of an exchange, in the order in which they first happen.

    What a timer has sent again are other steps than what was sent before: each has a time that a message takes.

    Args:
        edges: its critical path, from the call of rank 0 to its return, without gaps.
        recording: of the job.
        turn: when the handler of the request begins, None where there is none.

    Raises:
        ValueError: the edges have gaps.
    """
    start = edges[0].begin
    cpus = [[span for span in spans if span.end > start] for spans in recording.cpu]
    links = {name: carried.rows() for name, carried in recording.links.items()}
    found: dict[tuple[int, str, int, str, str, str], MessageStep] = {}
    last, timers = None, 0
    owner, now = 0, start
    for edge in edges:
        if edge.begin != now:
            raise ValueError(f"the critical path has a gap from {now} to {edge.begin} ps")
        now = edge.end
        if edge.owner >= 0:
            owner = edge.owner
        for piece in _pieces(edge, cpus, owner):
            leg = "" if turn is None else "request" if piece.begin < turn else "reply"
            key = leg, piece.where, piece.what, edge.name, piece.constant.partition(".")[0]
            timers += last is not None and last.what == "timer" != piece.what
            step = found.get((timers, *key))
            if step is None:
                step = found[timers, *key] = MessageStep(*key, piece.begin - start)
            step.ticks += piece.end - piece.begin
            step.times += step is not last
            last = step
            if piece.constant:
                step.constants[piece.constant] += piece.end - piece.begin
            else:
                step.links.update(_taken(links, piece))
    return list(found.values())


def _pieces(edge: PathEdge, cpus: Sequence[Sequence[CpuSpan]], owner: int) -> Iterator[_Piece]:
    """Cut an edge where what is known of it changes."""
    parts = _placed(edge)
    others = [rank for rank in range(len(cpus)) if rank != owner]
    spans = {rank: _within(cpus[rank], edge) for rank in (owner, *others)}
    cuts = {edge.begin, edge.end}
    for span in (*parts, *(span for found in spans.values() for span in found)):
        cuts.update((span.begin, span.end))
    for begin, end in pairwise(sorted(cuts)):
        constant = _at(parts, begin)
        where, what = HARDWARE, "wire"
        for rank, found in spans.items():
            why, _, own = _at(found, begin).partition(":")
            if why and (not constant or own in ("", constant)):  # else it goes on with something else meanwhile
                where, what, constant = rank, why, constant or own
                break
        if where == HARDWARE and edge.until and not constant:
            where, what = edge.rank, edge.until
        yield _Piece(begin, end, where, what, constant)


def _at(spans: Sequence[CpuSpan], when: int) -> str:
    """Return what a time is spent on, "" where no span has it."""
    return next((span.why for span in spans if span.begin <= when < span.end), "")


def _placed(edge: PathEdge) -> list[CpuSpan]:
    """Return the parts of an edge that have names, each at its time."""
    placed, end = [], edge.end
    for ticks, label in reversed(edge.parts):
        begin = max(end - ticks, edge.begin)
        if label and begin < end:
            placed.append(CpuSpan(begin, end, label.partition(":")[2]))
        end = begin
    return placed


def _within(spans: Sequence[CpuSpan], edge: PathEdge) -> list[CpuSpan]:
    """Return what a CPU does during an edge; polls that find nothing are not counted."""
    first = max(0, bisect_right(spans, edge.begin, key=lambda span: span.begin) - 1)
    found = []
    for span in spans[first:]:
        if span.begin >= edge.end:
            break
        if span.end > edge.begin and span.why != "waiting":
            found.append(CpuSpan(max(span.begin, edge.begin), min(span.end, edge.end), span.why))
    return found


def _taken(links: Mapping[str, Sequence[tuple[int, int, int]]], piece: _Piece) -> dict[str, int]:
    """Return how long links and engines were taken during a piece."""
    taken = {}
    for name, rows in links.items():
        ticks = 0
        for index in range(bisect_right(rows, (piece.end,)) - 1, -1, -1):
            begin, end, _ = rows[index]
            if end <= piece.begin:
                break
            ticks += min(end, piece.end) - max(begin, piece.begin)
        if ticks:
            taken[name] = ticks
    return taken
