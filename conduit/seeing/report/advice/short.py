"""Short messages that take most of a rank's time, the processor's part in each, and the calls that they are for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

import attrs

from conduit.seeing.report.advice.contacts import Contacts
from conduit.seeing.report.advice.parts import BUT_CONTACTS, WORTH, Advice, in_calls, like, part, us
from conduit.seeing.report.intervals import Covered
from conduit.seeing.report.observer import SEND, ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.words import many

_MOSTLY, _SHORT, _SEVERAL = 0.5, 512, 16
"""Of a rank's time after the start, from which messages are most of it; their mean bytes at most, and how many."""

_FEWER = "Send fewer and larger messages: a short one takes its ranks about as long as one of some hundred bytes."
_FEWER_BARRIERS = (
    "Call fewer barriers: do more between two of them, and leave out those on which no access of another rank depends."
)
_FEWER_COLLECTIVES = (
    "Make fewer collective calls: give several numbers to one of them, as an array, and do more between two of them."
)


@attrs.define
class _Handled:
    """The messages that one rank sent and received, and the native operations that it made.

    Attributes:
        count: how many.
        nbytes: their payload.
        native: how many are native operations.
        barriers: how many are for barriers.
        collectives: how many are for collective calls.
    """

    count: int = 0
    nbytes: int = 0
    native: int = 0
    barriers: int = 0
    collectives: int = 0

    @property
    def short(self) -> bool:
        """Whether they are several, and of few bytes."""
        return self.count >= _SEVERAL and self.nbytes <= _SHORT * self.count


def short_messages(recording: ReportRecording, found: Profile, met: Contacts) -> list[Advice]:
    """Ranks most of whose time goes to the processor's part in short messages; said where nothing but `met` is.

    Both are without the rank's first contacts.
    """
    handled = _handled(recording, found)
    meeting = [Covered(met.get(rank, ())).within(found.started, found.length) for rank in range(found.ranks)]
    sending = {rank: max(found.accounts[rank].overhead - meeting[rank], 0) for rank in handled}
    rest = {rank: found.working - meeting[rank] for rank in handled}
    ranks = [
        rank
        for rank, each in handled.items()
        if each.short and sending[rank] >= max(_MOSTLY * rest[rank], WORTH * found.working)
    ]
    if not ranks:
        return []
    most = max(ranks, key=lambda rank: (sending[rank], -rank))
    busy, mine, but = sending[most], handled[most], BUT_CONTACTS if meeting[most] else ""
    what = f"messages{' and native operations' if mine.native else ''}"
    cause, remedy = _cause(recording, most, mine)
    return [
        Advice(
            f"Rank {like(most, len(ranks) - 1)} spends {part(busy / rest[most], but)} in sending and receiving, not in "
            f"waits: {mine.count} {what} of {many(round(mine.nbytes / mine.count), 'byte')} on the average, "
            f"{us(busy / mine.count)} of its processor for each.{cause}",
            remedy,
            busy / found.working,
        )
    ]


def _handled(recording: ReportRecording, found: Profile) -> Mapping[int, _Handled]:
    """Return what the processor of each rank had a part in: what others put and get natively is none of it."""
    barriers, collectives = in_calls(recording, "barrier"), in_calls(recording, "collective")
    handled: dict[int, _Handled] = defaultdict(_Handled)

    def add(rank: int, nbytes: int, barrier: bool, collective: bool) -> None:
        each = handled[rank]
        each.count += 1
        each.nbytes += nbytes
        each.barriers += barrier
        each.collectives += collective and not barrier

    for life in found.lives:
        line = recording.lines.get(life.message._replace(reply=False), ""), life.message.source
        for rank in set(life.way):
            add(rank, life.nbytes, line in barriers, line in collectives)
    for call in found.library:
        line = call.place, call.rank
        for rank in {call.rank, call.peer}:
            add(rank, call.nbytes, line in barriers, call.name != SEND or line in collectives)
    for call in (*found.native, *found.signals):
        line = call.place, call.rank
        add(call.rank, call.nbytes, line in barriers or call.level == "signal", line in collectives)
        handled[call.rank].native += 1
    return handled


def _cause(recording: ReportRecording, rank: int, mine: _Handled) -> tuple[str, str]:
    """Return for which calls most of a rank's messages are, as a sentence, and what to do."""
    if 2 * mine.barriers > mine.count:
        return _for_calls(recording, rank, "barrier", "barrier"), _FEWER_BARRIERS
    if 2 * mine.collectives > mine.count:
        return _for_calls(recording, rank, "collective", "collective call"), _FEWER_COLLECTIVES
    return "", _FEWER


def _for_calls(recording: ReportRecording, rank: int, level: str, name: str) -> str:
    places = Counter(call.place for call in recording.calls if (call.rank, call.level) == (rank, level))
    if not places:
        return ""
    (place, most), total = places.most_common(1)[0], places.total()
    where = f", {'' if most == total else f'{most} of them '}at {place}" if place else ""
    return f" Most of them are for {many(total, name)}{where}."
