"""Late polls: who computes while a message lies there whose handling would let another rank go on.

A poll helps where a reply is waited for, a slot, a lock that is released, or the rest of a barrier to which all have
come.  It does not where others wait for what the rank does after its computation: for its own coming to a barrier, or a
message that its program sends then.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import attrgetter
from typing import TypeVar

import attrs

from conduit.seeing.report.epochs import Meeting, MeetingEpochs, Times
from conduit.seeing.report.intervals import Covered, Interval, intersection, union
from conduit.seeing.report.observer import Called, ReportRecording
from conduit.seeing.timeline.recording import NEVER, MessageLife, RecordedWait

K = TypeVar("K")
T = TypeVar("T")

SLOT = "a free request slot"
"""What waits for such a slot begin with."""
_HARDLY = 10
"""Part of a wait that may follow the reply which ends it: in real time a process polls on until it notices."""


@attrs.frozen
class LatePoll:
    """A rank that computed while messages for it had been sent, each of which kept another rank from going on.

    Attributes:
        rank: which.
        messages: how many.
        unpolled: picoseconds that it computed while one of them lay there or was on its way.
        cost: picoseconds that other ranks were blocked for that, the sum of them.
        saved: picoseconds by which the job would about be shorter.
        longest: picoseconds of the longest such stretch.
        waiters: the lines at which the others waited.
        losses: by rank, when it was blocked for that.
    """

    rank: int
    messages: int
    unpolled: int
    cost: int
    saved: int
    longest: int
    waiters: tuple[str, ...]
    losses: dict[int, list[Interval]] = attrs.field(repr=False)


@attrs.define
class _Of:
    """What one rank's late polls come to, while they are looked for."""

    held_up: list[Interval] = attrs.field(factory=list)
    losses: dict[int, list[Interval]] = attrs.field(factory=lambda: defaultdict(list))
    messages: set[object] = attrs.field(factory=set)
    places: Counter[str] = attrs.field(factory=Counter)


def late_polls(
    recording: ReportRecording,
    lives: Sequence[MessageLife],
    met: Sequence[Meeting],
    times: Times,
    within: MeetingEpochs,
) -> list[LatePoll]:
    """Return who polled late, the costliest first."""
    found: dict[int, _Of] = defaultdict(_Of)
    looker = _Looker(recording, lives, met, times)
    for rank in range(recording.ranks):
        for wait in recording.waits[rank]:
            if wait.end > wait.begin:
                for late, message, lies in looker.reasons(rank, wait):
                    _add(found[late], rank, wait, message, intersection([lies], times.computing[late].clipped(*lies)))
    made = [_late_poll(rank, each, within) for rank, each in found.items() if each.losses]
    return sorted(made, key=lambda late: (-late.cost, late.rank))


def _add(to: _Of, rank: int, wait: RecordedWait, message: object, stretches: list[Interval]) -> None:
    lost = intersection(stretches, [(wait.begin, wait.end)])
    if lost:
        to.held_up += stretches
        to.losses[rank] += lost
        to.messages.add(message)
        if wait.place:
            to.places[wait.place] += sum(end - begin for begin, end in lost)


def _late_poll(rank: int, each: _Of, within: MeetingEpochs) -> LatePoll:
    stretches = union(each.held_up)
    losses = {waiter: union(times) for waiter, times in each.losses.items()}
    return LatePoll(
        rank,
        len(each.messages),
        sum(end - begin for begin, end in stretches),
        sum(Covered(times).total for times in losses.values()),
        within.saved(losses),
        max(end - begin for begin, end in stretches),
        tuple(place for place, _ in each.places.most_common(3)),
        losses,
    )


class _Looker:
    """Finds which messages a wait could have been over earlier for."""

    def __init__(
        self, recording: ReportRecording, lives: Sequence[MessageLife], met: Sequence[Meeting], times: Times
    ) -> None:
        self._times = times
        self._met = met
        self._complete = [each.complete for each in met]
        self._after: dict[int, list[int]] = {}
        self._requests = {life.message: life for life in lives if not life.message.reply}
        self._came: dict[int, list[MessageLife]] = defaultdict(list)
        self._between: dict[tuple[int, int], list[MessageLife]] = defaultdict(list)
        for life in sorted(lives, key=lambda life: life.done):
            source, dest = life.way
            if source != dest and life.noticed != NEVER:
                self._came[dest].append(life)
                self._between[source, dest].append(life)
        for between in self._between.values():
            between.sort(key=lambda life: life.end)
        self._asks = _by(recording.calls, "lock", lambda call: call.rank, "begin")
        self._holds = _by(recording.calls, "hold", lambda call: call.name, "end")

    def reasons(self, rank: int, wait: RecordedWait) -> Iterator[tuple[int, object, Interval]]:
        """Yield who could have polled, which message, and when that was on its way or lay there."""
        if wait.what.startswith(SLOT):
            for late in wait.ranks:
                for life in _in(self._between[rank, late], wait):
                    yield late, life.message, (life.end, life.noticed)
            return
        last = self._last(rank, wait)
        ask = _latest(self._asks.get(rank, ()), wait.begin, lambda call: call.begin)
        if ask is not None and wait.end <= ask.end:
            yield from self._of_lock(rank, wait, ask, last)
        elif last is not None and last.message.reply:
            yield from self._answered(last)
        else:
            yield from self._of_meeting(rank, wait)

    def _last(self, rank: int, wait: RecordedWait) -> MessageLife | None:
        """Return the reply that ended a wait, after which it hardly waited more, or else the last request before."""
        came = self._came[rank]
        blocked = self._times.blocked[rank]
        hardly = blocked.within(wait.begin, wait.end) // _HARDLY
        last = index = bisect_right(came, wait.end, key=lambda life: life.done) - 1
        while index >= 0 and came[index].handled >= wait.begin:
            if blocked.within(came[index].done, wait.end) > hardly:
                break
            if came[index].message.reply:
                return came[index]
            index -= 1
        some = last >= 0 and came[last].handled >= wait.begin and not came[last].message.reply
        return came[last] if some else None

    def _answered(self, reply: MessageLife) -> Iterator[tuple[int, object, Interval]]:
        request = self._requests.get(reply.message._replace(reply=False))
        if request is not None and request.noticed > request.end:
            yield reply.way[0], request.message, (request.end, request.noticed)

    def _of_lock(
        self, rank: int, wait: RecordedWait, ask: Called, last: MessageLife | None
    ) -> Iterator[tuple[int, object, Interval]]:
        """A lock that was free is answered; one that is not is passed on when its home hears that it is released."""
        if last is None:
            return
        if last.message.reply:
            if not self._times.blocked[rank].within(wait.end, ask.end):
                yield from self._answered(last)
            return
        hold = _latest(self._holds.get(ask.name, ()), wait.end, lambda call: call.end)
        if hold is not None and hold.rank != ask.peer:
            left = _latest(self._between[hold.rank, ask.peer], hold.end, lambda life: life.end)
            if left is not None:
                yield ask.peer, left.message, (left.end, left.noticed)

    def _computing_after(self, index: int) -> list[int]:
        """Return who computes between all ranks' coming to a meeting and the last one's leaving it."""
        if index not in self._after:
            since, until = self._complete[index], max(self._met[index].left)
            self._after[index] = [
                rank for rank, times in enumerate(self._times.computing) if times.within(since, until)
            ]
        return self._after[index]

    def _of_meeting(self, rank: int, wait: RecordedWait) -> Iterator[tuple[int, object, Interval]]:
        """What all have come to goes on by the polls of all."""
        index = bisect_right(self._complete, wait.end) - 1
        if index < 0 or not self._met[index].came[rank] <= wait.begin < wait.end <= self._met[index].left[rank]:
            return
        met = self._met[index]
        since = max(met.complete, wait.begin)
        for late in self._computing_after(index):
            if late != rank and self._times.computing[late].within(since, wait.end):
                came = self._came[late]
                for life in islice(came, bisect_right(came, since, key=lambda life: life.done), None):
                    begin, end = max(life.end, since), min(life.noticed, wait.end)
                    if begin < end:
                        yield late, life.message, (begin, end)
                    elif life.noticed > wait.end:
                        break


def _in(lives: Sequence[MessageLife], wait: RecordedWait) -> Iterator[MessageLife]:
    """Yield messages of a pair that lie there, or are on their way, in some part of a wait."""
    index = bisect_right(lives, wait.end, key=lambda life: life.end) - 1
    while index >= 0 and lives[index].noticed > wait.begin:
        yield lives[index]
        index -= 1


def _latest(those: Sequence[T], when: int, key: Callable[[T], int]) -> T | None:
    """Return the last of those, in order of their times, that is not after some time."""
    index = bisect_right(those, when, key=key) - 1
    return those[index] if index >= 0 else None


def _by(calls: Sequence[Called], level: str, key: Callable[[Called], K], order: str) -> dict[K, list[Called]]:
    """Return the calls of a level by something, each list in order of one of their times."""
    found: dict[K, list[Called]] = defaultdict(list)
    for call in sorted((call for call in calls if call.level == level), key=attrgetter(order)):
        found[key(call)].append(call)
    return found
