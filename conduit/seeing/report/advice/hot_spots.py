"""What many ranks want of one: its requests, a number, a lock."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise, takewhile

import attrs

from conduit.seeing.report.advice.parts import MANY, WORTH, Advice, OfLine, in_calls, like, part, us, whose
from conduit.seeing.report.epochs import spans_of
from conduit.seeing.report.intervals import Covered, Interval, difference, overlap, union
from conduit.seeing.report.observer import Called, ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.words import many

_SERVING = ("receive", "handler", "reply", "copy", "interrupt", "call")
"""What the time of a rank goes to that serves others: "call" is that in calls of a library beside Active Messages."""

_CHANGES = "atomic.accumulate"
"""How calls begin that change numbers, one or many, and fetch none."""

_BUSY = 0.25
"""Of its time after the start, from which a rank is busy with requests."""


def hot_spots(recording: ReportRecording, found: Profile) -> list[Advice]:
    """One rank that gets much more than its part of the requests, from most others, which wait meanwhile."""
    if found.ranks < 4:
        return []
    coming, apart = _requests(recording, found)
    if not coming:
        return []
    rank, sources = max(coming.items(), key=lambda each: (each[1].total(), -each[0]))
    count, total = sources.total(), sum(each.total() for each in coming.values())
    if count < MANY or count <= 3 * total / found.ranks or max(sources.values()) > count / 2:
        return []
    others = len(sources)
    serving = spans_of(recording, _SERVING)[rank]
    busy = serving.total / found.working
    waited = max(_waited_for(found, rank, serving), _queued(found, rank)) / found.working
    if waited < WORTH and busy < _BUSY:
        return []
    what = "messages" if found.library else "requests"
    but_those = " (those for locks apart)" if apart else ""
    told = []
    if busy >= WORTH:
        told.append(f"it spends {part(busy)} on messages and handlers")
    if waited >= WORTH:
        told.append(f"the others wait for it for {100 * waited:.0f} % of theirs on the average")
    return [
        Advice(
            f"Rank {rank} is a hot spot: {count} of {total} {what}{but_those} go to it, from "
            f"{many(others, 'rank')}, and {', and '.join(told)}.",
            f"Let a tree combine what is one sum ({recording.words.tree}), spread data and locks over the ranks, or "
            "collect several requests in one.",
            max(waited, WORTH),
        )
    ]


def _requests(recording: ReportRecording, found: Profile) -> tuple[dict[int, Counter[int]], bool]:
    """Count the requests and native operations that go to each rank, by the other that they come from.

    Those for locks are not counted; it is returned whether there are any.
    """
    coming: dict[int, Counter[int]] = defaultdict(Counter)
    locks, apart = in_calls(recording, "lock", "hold"), False  # which of them wait for whom is another advice
    for life in found.lives:
        source, dest = life.way
        line = recording.lines.get(life.message, ""), source
        if source == dest or life.message.reply:
            continue
        if line in locks:
            apart = True
        else:
            coming[dest][source] += 1
    for call in (*found.native, *found.library):
        if call.rank != call.peer:
            coming[call.peer][call.rank] += 1
    return coming, apart


def _waited_for(found: Profile, rank: int, serving: Covered) -> float:
    """Return how long the others were blocked on the average while a rank served requests."""
    others = [blocked for each, blocked in enumerate(found.times.blocked) if each != rank]
    return sum(overlap(blocked.intervals, serving.intervals) for blocked in others) / len(others)


def _queued(found: Profile, rank: int) -> float:
    """Return how long the others' native operations on a rank took on the average beyond the quickest like them."""
    alike: dict[tuple[int, str, int], list[int]] = defaultdict(list)
    for call in found.native:
        if call.peer == rank != call.rank:
            alike[call.rank, call.name, call.nbytes].append(call.end - call.begin)
    return sum(sum(ticks) - len(ticks) * min(ticks) for ticks in alike.values()) / (found.ranks - 1)


def atomics(recording: ReportRecording, found: Profile) -> list[OfLine]:
    """Many operations of one line on one number each, on other ranks, one by one."""
    lines: dict[tuple[str, int], list[Called]] = defaultdict(list)
    for call in recording.calls:
        if call.level == "atomic" and call.place and call.peer != call.rank:
            lines[call.place, call.rank].append(call)
    made = []
    for (place, rank), calls in lines.items():
        share = _taken(recording, place, rank, calls) / found.working
        if len(calls) >= MANY and share >= WORTH:
            owner, most = whose(Counter(call.peer for call in calls), "on")
            words = recording.words_at(place)
            only_change = 2 * sum(call.name.startswith(_CHANGES) for call in calls) > len(calls)
            fewer = words.together if only_change else f"add up in a variable and add that once, {words.fewer}"
            advised = Advice(
                f"Rank {rank} makes {len(calls)} atomic operations on {owner} at {place}, one by one{most}. They take "
                f"{part(share)}.",
                f"Make fewer of them: {fewer}.",
                share,
            )
            made.append(OfLine(place, rank, advised))
    return made


def _taken(recording: ReportRecording, place: str, rank: int, calls: Iterable[Called]) -> int:
    """Return how long operations of a line took, with the waits there: some calls only begin them.

    Those in calls that open and close accesses to a rank are of another advice.
    """
    waits = [(wait.begin, wait.end) for wait in recording.waits[rank] if wait.place == place]
    around = [
        (call.begin, call.end) for call in recording.calls if call.rank == rank and call.level in ("open", "close")
    ]
    times = union([*((call.begin, call.end) for call in calls), *waits])
    return Covered(difference(times, union(around))).total


def locks(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Locks that ranks wait for while others have them."""
    asks: dict[str, list[Called]] = defaultdict(list)
    holds: dict[str, list[Called]] = defaultdict(list)
    for call in recording.calls:
        if call.level in ("lock", "hold"):
            (asks if call.level == "lock" else holds)[call.name].append(call)
    contended: dict[str, list[_Contended]] = defaultdict(list)
    for name, some in asks.items():
        lost = _lost(found, some, holds[name])
        if lost:
            each = _Contended(name, some, holds[name], lost)
            contended[each.place].append(each)
    made = []
    for several in contended.values():
        share = found.epochs.saved(_joined(each.lost for each in several)) / found.working
        if share >= WORTH:
            several.sort(key=lambda each: -each.waited[each.most])
            made.append(_of_locks(found, several, share))
    return made


@attrs.frozen
class _Contended:
    """A lock that ranks wait for.

    Attributes:
        name: what it is called.
        asks: from when a rank asked for it until it had it.
        holds: from then until it had released it.
        lost: by rank, when it waited because others had it.
    """

    name: str
    asks: list[Called]
    holds: list[Called]
    lost: dict[int, list[Interval]]

    @property
    def waited(self) -> dict[int, int]:
        """By rank, how long it waited because others had it."""
        return {rank: Covered(times).total for rank, times in self.lost.items()}

    @property
    def most(self) -> int:
        """The rank that waited longest."""
        return max(self.waited.items(), key=lambda each: (each[1], -each[0]))[0]

    @property
    def place(self) -> str:
        """Where that did."""
        most = self.most
        return Counter(ask.place for ask in self.asks if ask.rank == most).most_common(1)[0][0]


def _joined(those: Iterable[Mapping[int, list[Interval]]]) -> dict[int, list[Interval]]:
    joined: dict[int, list[Interval]] = defaultdict(list)
    for each in those:
        for rank, times in each.items():
            joined[rank] += times
    return joined


def _lost(found: Profile, asks: Sequence[Called], holds: Sequence[Called]) -> dict[int, list[Interval]]:
    """Return when ranks waited for a lock that others had, beyond what the quickest answer took and late polls cost."""
    quickest = min(ask.end - ask.begin for ask in asks)
    order = sorted(holds, key=lambda hold: hold.end)
    lost: dict[int, list[Interval]] = defaultdict(list)
    for ask in asks:
        if ask.end - ask.begin > quickest and _held_by_others(ask, order):
            lost[ask.rank].append((ask.begin + quickest, ask.end))
    late = _joined(late.losses for late in found.late)
    left = {rank: difference(union(times), union(late[rank])) for rank, times in lost.items()}
    return {rank: times for rank, times in left.items() if times}


def _held_by_others(ask: Called, holds: Sequence[Called]) -> bool:
    """Say whether another rank had a lock while one asked for it; `holds` are in the order of their ends."""
    first = bisect_right(holds, ask.begin, key=lambda hold: hold.end)
    meanwhile = takewhile(lambda hold: hold.begin < ask.end, islice(holds, first, None))
    return any(hold.rank != ask.rank for hold in meanwhile)


def _of_locks(found: Profile, several: Sequence[_Contended], share: float) -> Advice:
    """Say who waits for the lock of several of one line that is waited for longest."""
    lock, *others = several
    waited, most, holds = lock.waited, lock.most, lock.holds
    alike = sum(2 * ticks >= waited[most] for ticks in waited.values()) - 1
    held = sum(hold.end - hold.begin for hold in holds)
    computed = sum(found.times.computing[hold.rank].within(hold.begin, hold.end) for hold in holds)
    passed = f", and {us(_passing(lock.asks, holds))} passed from one to the next" if holds[1:] else ""
    also = f", as for {many(len(others), 'other lock')}" if others else ""
    return Advice(
        f"Rank {like(most, alike)} waits for {lock.name} while others have it{also}"
        f"{f', at {lock.place}' if lock.place else ''}: {us(waited[most])}, {part(waited[most] / found.working)}. It "
        f"was held {many(len(holds), 'time')}, for {us(held / len(holds))} on the average, {us(computed / len(holds))} "
        f"of them computing{passed}.",
        "Take it less often and hold it for a shorter time: do several things at once while it is held, compute before "
        "or after, or give parts of the data locks of their own.",
        share,
    )


def _passing(asks: Sequence[Called], holds: Sequence[Called]) -> float:
    """Return how long a lock was on its way from one to the next that waited for it, on the average."""
    asked = {(ask.rank, ask.end): ask.begin for ask in asks}
    order = sorted(holds, key=lambda hold: hold.begin)
    ways = [
        after.begin - max(before.end, asked.get((after.rank, after.begin), after.begin))
        for before, after in pairwise(order)
    ]
    return max(sum(ways), 0) / len(ways)
