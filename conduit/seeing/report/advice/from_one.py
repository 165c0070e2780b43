"""One rank that deals with many by itself, while the others wait in a meeting for it."""

from __future__ import annotations

from collections import Counter

from conduit.seeing.report.advice.contacts import Contacts
from conduit.seeing.report.advice.parts import BUT_CONTACTS, WORTH, Advice, in_calls
from conduit.seeing.report.intervals import Covered, overlap
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.words import many

_HALF = 0.5
"""Of the time after the start, below which the waits of the others are not told."""
_FEW = 4
"""Part of the ranks that may be elsewhere while all others wait at one line."""
_MANY = 7
"""Ranks that one accesses at least: handed on, what these get takes three steps in the place of seven."""


def from_one(recording: ReportRecording, found: Profile, met: Contacts) -> list[Advice]:
    """Return whom the others wait for at one line most of the time, where that one accesses several of them.

    The time is that in which no rank was in a first contact.
    """
    meeting = Covered(each for times in met.values() for each in times)
    rest = found.working - meeting.within(found.started, found.length)
    if rest < WORTH * found.working:
        return []
    waited = [_waited(recording, found, rank, meeting) for rank in range(found.ranks)]
    mostly = [each.most_common(1)[0][0] if each else "" for each in waited]
    place = Counter(mostly).most_common(1)[0][0]
    apart = [rank for rank, where in enumerate(mostly) if where != place]
    if not place or not apart or len(apart) * _FEW > found.ranks:
        return []
    waiting = [rank for rank, where in enumerate(mostly) if where == place]
    share = sum(waited[rank][place] for rank in waiting) / len(waiting) / rest
    meetings = in_calls(recording, "barrier", "collective")
    if share < _HALF or any((place, rank) not in meetings for rank in waiting):
        return []
    rank = max(apart, key=lambda each: (waited[each].total(), -each))
    peers = _peers(recording, found, mostly[rank], rank)
    if not mostly[rank] or len(peers) < _MANY or (mostly[rank], rank) in meetings:
        return []
    return [
        Advice(
            f"Rank {rank} accesses {many(len(peers), 'rank')} one after the other at {mostly[rank]}: "
            f"{many(peers.total(), 'time')}; the others wait at {place} for {100 * share:.0f} % of the time after the "
            f"start{BUT_CONTACTS if rest < found.working else ''}.",
            recording.words_at(mostly[rank]).from_one,
            share * rest / found.working,
        )
    ]


def _waited(recording: ReportRecording, found: Profile, rank: int, meeting: Covered) -> Counter[str]:
    """Return how long a rank waited after the start, by line, but while ranks met: picoseconds."""
    times: Counter[str] = Counter()
    blocked = found.times.blocked[rank]
    for wait in recording.waits[rank]:
        if wait.end > max(wait.begin, found.started):
            stretch = max(wait.begin, found.started), wait.end
            while_met = overlap(blocked.clipped(*stretch), meeting.clipped(*stretch))
            times[wait.place] += blocked.within(*stretch) - while_met
    return times


def _peers(recording: ReportRecording, found: Profile, place: str, rank: int) -> Counter[int]:
    """Return how often a rank accessed which other ones from a line."""
    own = [life.message for life in found.lives if not life.message.reply and life.message.source == rank]
    peers = Counter(message.dest for message in own if recording.lines.get(message) == place)
    peers.update(call.peer for call in found.native if (call.place, call.rank) == (place, rank))
    return peers
