"""Ranks that compute while others wait: for a poll, or because they have more work."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import attrs

from conduit.seeing.report.advice.parts import WORTH, Advice, about, like, us
from conduit.seeing.report.intervals import Covered, Interval, intersection, overlap
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.words import many

_ALIKE = 0.9
"""Of the work of the rank that has most, from which another has as much."""
_HARDLY = 0.01
"""Of the same, up to which another has hardly any."""
_SPREAD = "Give it less work: spread the work evenly over the ranks."
_UNLESS = ", unless the machine did something else meanwhile"
_AGAIN = (
    "Run it again: where it is the same rank each time, {}; where it is another, other programs had the processors."
)
"""What to do where one run does not tell which it was; with what helps."""


def not_polled(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Ranks that let others wait for what a poll would have done; those that do are told as one."""
    losses: dict[int, list[Interval]] = defaultdict(list)
    for late in found.late:
        for rank, times in late.losses.items():
            losses[rank] += times
    saved = found.epochs.saved(losses)
    share = saved / found.working
    if share < WORTH:
        return []
    most = found.late[0]
    alike = sum(2 * late.cost >= most.cost for late in found.late) - 1
    where = f", which waited at {most.waiters[0]}" if most.waiters else ""
    helps = f"`{recording.words.poll}` in long computations, or cut them into shorter ones"
    # Who is between two calls in real time computes, or is without its processor.
    did, unless = "did not poll while others waited for it: it computed for", ""
    remedy = f"Call {helps}: only a poll runs handlers."
    if recording.in_real_time:
        did, unless = "seems to compute without a poll while others wait for it: for", _UNLESS
        remedy = _AGAIN.format(f"call {helps}, since only a poll runs handlers")
    return [
        Advice(
            f"Rank {like(most.rank, alike)} {did} {us(most.unpolled)}, up to {us(most.longest)} at a time, with "
            f"{many(most.messages, 'message')} under way to it. That cost the others{where}, {us(most.cost)} together, "
            f"and the job {about(saved)}{unless}.",
            remedy,
            share,
        )
    ]


@attrs.define
class _Heavy:
    """A rank that has most work in some epochs.

    Attributes:
        saved: picoseconds that even work would save in them.
        computes: by rank, picoseconds in them.
        times: when it computes in them.
        met: by rank, when that has come to the meeting at their end and the heavy rank has not.
    """

    saved: float = 0
    computes: Counter[int] = attrs.field(factory=Counter)
    times: list[Interval] = attrs.field(factory=list)
    met: dict[int, list[Interval]] = attrs.field(factory=lambda: defaultdict(list))


def imbalance(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Ranks that compute more than the others, which wait meanwhile."""
    heavy = _heavy(found)
    saved = sum(each.saved for each in heavy.values())
    if saved < WORTH * found.working:
        return []
    most = max(heavy, key=lambda rank: (heavy[rank].saved, -rank))
    who, others = _who(heavy, most)
    place = _waiting_place(recording, heavy[most], others)
    # Who computes in real time may have been without its processor: one run does not tell which it was.
    seems, unless, remedy = "computes", "", _SPREAD
    if recording.in_real_time:
        seems, unless, remedy = "seems to compute", _UNLESS, _AGAIN.format("spread the work evenly over the ranks")
    return [
        Advice(
            f"Rank {who} {seems} {_more(found, heavy[most].computes, most, others)}; they wait for it"
            f"{f', mostly at {place}' if place else ''}. Spread evenly, the work would take {about(saved)} less"
            f"{unless}.",
            remedy,
            saved / found.working,
        )
    ]


def _who(heavy: Mapping[int, _Heavy], most: int) -> tuple[str, list[int]]:
    """Return who has most work, with those that have as much or have it at other times; and who has less."""
    computes = heavy[most].computes
    rest = [rank for rank in sorted(computes) if rank != most]
    # Where all have nearly as much, and others have most in other epochs, it has more than any of them all the same.
    others = [rank for rank in rest if computes[rank] < _ALIKE * computes[most]] or rest
    turns = sum(2 * each.saved >= heavy[most].saved for each in heavy.values()) - 1
    if turns:
        return f"{most}, in turn with {many(turns, 'other rank')},", others
    return like(most, len(computes) - 1 - len(others)), others


def _more(found: Profile, computes: Mapping[int, int], most: int, others: Sequence[int]) -> str:
    """Say how long a rank computes where others wait for it, and how much longer than they do."""
    long = us(computes[most])
    whole = found.accounts[most].compute
    if computes[most] < (1 - _HARDLY) * whole:  # pictures and tables show all of it
        long += f" (of {us(whole)} in all)"
    mean = sum(computes[rank] for rank in others) / len(others)
    if mean <= _HARDLY * computes[most]:
        return f"{long}, and the others hardly anything"
    return f"{long}, {computes[most] / mean:.1f} times what the others compute on the average"


def _heavy(found: Profile) -> dict[int, _Heavy]:
    """Return the ranks that have most work between two meetings while others wait."""
    heavy: dict[int, _Heavy] = defaultdict(_Heavy)
    times = found.times
    for epoch in found.epochs.every:
        computes = [each.within(*window) for each, window in zip(times.computing, epoch.windows, strict=True)]
        most = max(range(found.ranks), key=computes.__getitem__)
        window = epoch.windows[most]
        stretches = times.computing[most].clipped(*window)
        waited = sum(overlap(stretches, each.clipped(*window)) for each in times.blocked) / found.ranks
        saved = min(waited, computes[most] - sum(computes) / found.ranks)
        if saved > 0:
            of = heavy[most]
            of.saved += saved
            of.times += stretches
            of.computes.update(dict(enumerate(computes)))
            for rank, (_, came) in enumerate(epoch.windows):
                if came < window[1]:
                    of.met[rank].append((came, window[1]))
    return heavy


def _waiting_place(recording: ReportRecording, heavy: _Heavy, others: Sequence[int]) -> str:
    """Return the line at which others waited longest for the heavy one."""
    anywhere = dict.fromkeys(others, Covered(heavy.times))
    met = {rank: Covered(intersection(heavy.times, heavy.met[rank])) for rank in others}
    for times in (met, anywhere):  # before a meeting they may have waited for something else
        places: Counter[str] = Counter()
        for rank in others:
            for wait in recording.waits[rank]:
                if wait.place:
                    places[wait.place] += times[rank].within(wait.begin, wait.end)
        if places.total():
            return places.most_common(1)[0][0]
    return ""
