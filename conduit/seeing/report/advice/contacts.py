"""First contacts: what the first message between two ranks took more than later ones like it."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import median
from typing import TypeAlias

import attrs

from conduit.seeing.report.advice.parts import SMALL
from conduit.seeing.report.epochs import spans_of
from conduit.seeing.report.intervals import Covered, Interval
from conduit.seeing.report.observer import Called, ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.seeing.timeline.recording import MessageLife

Contacts: TypeAlias = Mapping[int, Sequence[Interval]]
"""By rank, what of its time went to first contacts, one for each pair."""
_LONGER = 3
"""Times that a first message takes at least, of what later ones like it do."""
_NOT_ITS_OWN = ("receive", "handler", "reply", "interrupt", "waiting", "compute")
"""What a rank's time goes to in the call of a message that is not for this message: polls, and waits for slots."""
_SENDING = ("call", "receive")
"""What a rank's time goes to as a library sends: in a call of its own, or where it goes on in a poll."""


@attrs.frozen
class _Sent:
    """A message: from whom to whom, when, how long its sender was at it, and what others are like it."""

    source: int
    dest: int
    begin: int
    own: int
    kind: tuple[object, ...]


def contacts(recording: ReportRecording, found: Profile) -> Contacts:
    """Return what first contacts took of the ranks' time."""
    extra: dict[int, list[Interval]] = defaultdict(list)
    sent = [*_of_lives(recording, found), *_of_library(recording, found)]
    for source, begin, ticks in _extra(sorted(sent, key=lambda each: each.begin)):
        extra[source].append((begin, begin + ticks))
    return extra


def _of_lives(recording: ReportRecording, found: Profile) -> Iterator[_Sent]:
    """Yield the requests between two ranks."""
    others = spans_of(recording, _NOT_ITS_OWN)
    for life in found.lives:
        if not life.message.reply and life.message.source != life.message.dest:
            source, dest = life.way
            own = _own_part(life, others[source], found.times.computing[dest])
            yield _Sent(source, dest, life.begin, own, (life.category, *_alike(recording, source, dest, life.nbytes)))


def _own_part(life: MessageLife, others: Covered, computing: Covered) -> int:
    """Return what a call took for its own message, as far as its receiver did not keep it waiting."""
    begin, end = life.begin, life.end
    return max(end - begin - others.within(begin, end) - computing.within(begin, end), 0)


def _of_library(recording: ReportRecording, found: Profile) -> Iterator[_Sent]:
    """Yield the messages of a library between two ranks; in real time they are told without what follows the call."""
    if recording.in_real_time:
        return
    sent: dict[int, list[Called]] = defaultdict(list)
    for call in found.library:
        if call.rank != call.peer:
            sent[call.rank].append(call)
    for rank, calls in sent.items():
        spans = [(span.begin, span.end) for span in recording.cpu[rank] if span.why in _SENDING]
        begins = [begin for begin, _ in spans]
        ends = [*(then.begin for _, then in pairwise(calls)), recording.length]
        for call, end in zip(calls, ends, strict=True):
            index = bisect_right(begins, call.begin) - 1
            own = min(spans[index][1], end) - call.begin if index >= 0 else 0
            kind = call.name, *_alike(recording, rank, call.peer, call.nbytes)
            yield _Sent(rank, call.peer, call.begin, max(own, 0), kind)


def _alike(recording: ReportRecording, source: int, dest: int, nbytes: int) -> tuple[object, ...]:
    """Return what messages have in common that take about as long."""
    return max(nbytes, SMALL).bit_length(), recording.hosts[source] == recording.hosts[dest]


def _extra(sent: Sequence[_Sent]) -> Iterator[tuple[int, int, int]]:
    """Yield of each pair whose first message took longer than it would have later: the sender, from when, how long.

    Where there is no later one like it, of the pair or else of another, it takes as much longer as others do.

    Args:
        sent: the messages, in the order in which they were sent.
    """
    later: dict[tuple[object, ...], list[int]] = defaultdict(list)
    firsts: dict[tuple[int, int], _Sent] = {}
    for each in sent:
        way = each.source, each.dest
        if firsts.setdefault(way, each) is not each:
            later[*each.kind, *way].append(each.own)
            later[each.kind].append(each.own)
    usual = {kind: median(times) for kind, times in later.items()}
    more: list[tuple[_Sent, float, bool]] = []
    for each in firsts.values():
        after = usual.get((*each.kind, each.source, each.dest), usual.get(each.kind))
        more.append((each, each.own if after is None else _longer(each.own, after), after is None))
    connecting = median([ticks for _, ticks, alone in more if not alone] or [0])
    for each, ticks, alone in more:
        extra = min(connecting, each.own) if alone else ticks
        if extra:
            yield each.source, each.begin, int(extra)


def _longer(first: int, later: float) -> float:
    """Return how much longer than later messages a first one took, 0 where they are about alike."""
    return first - later if first > _LONGER * later else 0
