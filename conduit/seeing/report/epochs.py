"""What a job would gain: its time cut where all ranks meet, as who waits less before a meeting waits longer in it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import attrs

from conduit.seeing.report.intervals import Covered, Interval
from conduit.seeing.report.observer import Called, ReportRecording

_IDLE = "waiting"


@attrs.frozen
class Times:
    """How each rank's CPU spent its time, by rank.

    Attributes:
        computing: what programs asked for; in real time, code of their own.
        blocked: polls that find nothing, while tasks wait.
        busy: all but that and having nothing to do.
    """

    computing: list[Covered]
    blocked: list[Covered]
    busy: list[Covered]


def times_of(recording: ReportRecording) -> Times:
    """Return how the CPUs of a job that is over spent their time."""
    return Times(
        spans_of(recording, ("compute",)),
        spans_of(recording, (_IDLE,)),
        [Covered((span.begin, span.end) for span in cpu if span.why != _IDLE) for cpu in recording.cpu],
    )


def spans_of(recording: ReportRecording, why: Sequence[str]) -> list[Covered]:
    """Return what each rank's CPU spent on some things, by rank."""
    return [Covered((span.begin, span.end) for span in cpu if span.why in why) for cpu in recording.cpu]


@attrs.frozen
class Meeting:
    """A barrier or a collective call of all ranks, which none has left before the last had come.

    Attributes:
        came: when each rank came, picoseconds.
        left: when each left.
    """

    came: tuple[int, ...]
    left: tuple[int, ...]

    @property
    def complete(self) -> int:
        """When the last rank had come."""
        return max(self.came)


def meetings(recording: ReportRecording) -> list[Meeting]:
    """Return the meetings of a job, in order; none where it does not tell which calls of its ranks belong together."""
    for levels in (("barrier", "collective"), ("barrier",)):
        calls: list[list[Called]] = [[] for _ in range(recording.ranks)]
        for call in recording.calls:
            if call.level in levels:
                calls[call.rank].append(call)
        for own in calls:
            own.sort(key=lambda call: (call.begin, call.end))
        if calls[0] and all([call.name for call in own] == [call.name for call in calls[0]] for own in calls):
            return _met(calls, [_left(recording, rank, own) for rank, own in enumerate(calls)])
    return []


def _met(calls: Sequence[Sequence[Called]], left: Sequence[Sequence[int]]) -> list[Meeting]:
    turns = zip(zip(*calls, strict=True), zip(*left, strict=True), strict=True)
    every = [Meeting(tuple(call.begin for call in came), ends) for came, ends in turns]
    return [each for each in every if each.complete <= min(each.left)]


def _left(recording: ReportRecording, rank: int, calls: Sequence[Called]) -> list[int]:
    """Return when a rank left its calls: of a collective that is told when it begins, the end of its waits there."""
    ends: dict[str, deque[Interval]] = defaultdict(deque)
    for wait in recording.waits[rank]:
        ends[wait.place].append((wait.begin, wait.end))
    found = []
    following = [*(call.begin for call in calls[1:]), recording.length + 1]
    for call, then in zip(calls, following, strict=True):
        if call.level == "barrier":
            found.append(call.end)
            continue
        waits, at = ends[call.place], call.end
        while waits and waits[0][0] < then:
            begin, end = waits.popleft()
            at = max(at, end) if begin >= call.begin else at
        found.append(at)
    return found


@attrs.frozen
class MeetingEpoch:
    """The stretch of a job from one meeting to the next.

    Attributes:
        length: picoseconds from when all have come to the one until all have come to the other.
        windows: by rank, from when it has come to the one until it comes to the other.
    """

    length: int
    windows: tuple[Interval, ...]


@attrs.frozen
class MeetingEpochs:
    """The stretches of a job between meetings, after its start.

    Attributes:
        every: of them, in order.
        busy: by rank, when it had to do.
    """

    every: list[MeetingEpoch]
    busy: list[Covered]

    def saved(self, losses: Mapping[int, Iterable[Interval]]) -> int:
        """Return by how much a job would about be shorter, picoseconds, were it not for some times of its ranks.

        Each epoch is shorter by what the rank that loses most loses in it, but not shorter than what the busiest rank
        has to do.

        Args:
            losses: of ranks, times that they would not have spent.
        """
        lost = {rank: Covered(times) for rank, times in losses.items()}
        spared = {
            rank: Covered(busy for time in each.intervals for busy in self.busy[rank].clipped(*time))
            for rank, each in lost.items()
        }
        total = 0
        for epoch in self.every:
            most = max((each.within(*epoch.windows[rank]) for rank, each in lost.items()), default=0)
            if most:
                work = max(
                    busy.within(*window) - (spared[rank].within(*window) if rank in spared else 0)
                    for rank, (busy, window) in enumerate(zip(self.busy, epoch.windows, strict=True))
                )
                total += max(min(most, epoch.length - work), 0)
        return total


def epochs(found: Sequence[Meeting], times: Times, started: int, length: int) -> MeetingEpochs:
    """Return the epochs of a job from `started` to `length`, picoseconds."""
    ranks = len(times.busy)
    edges = [Meeting((time,) * ranks, (time,) * ranks) for time in (started, length)]
    inside = [each for each in found if started < each.complete < length]
    pairs = pairwise([edges[0], *inside, edges[1]])
    every = [
        MeetingEpoch(then.complete - one.complete, tuple(zip(one.came, then.came, strict=True))) for one, then in pairs
    ]
    return MeetingEpochs(every, times.busy)
