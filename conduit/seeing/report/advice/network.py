"""What the network makes of a program's messages: full queues, loose bytes, first contacts, the cost of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from statistics import median

from conduit.contract import Category, Identity
from conduit.seeing.report.advice.parts import SMALL, WORTH, Advice, in_calls, like, part, us
from conduit.seeing.report.epochs import spans_of
from conduit.seeing.report.intervals import Covered, Interval
from conduit.seeing.report.late import SLOT
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.seeing.timeline.recording import MessageLife
from conduit.words import many

_MOSTLY, _SHORT, _SEVERAL = 0.5, 512, 16
"""Of a rank's time after the start, from which messages are most of it; their mean bytes at most, and how many."""
_LONGER = 3
"""Times that the call of a first message takes at least, of what those of later ones like it do."""
_NOT_ITS_OWN = ("receive", "handler", "reply", "interrupt", "waiting", "compute")
"""What a rank's time goes to in the call of a message that is not for this message: polls, and waits for slots."""


def full_queues(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Time that ranks waited for a free slot, but in collective calls, whose messages are not the program's."""
    waited: dict[int, list[Interval]] = defaultdict(list)
    places: Counter[str] = Counter()
    collectives = in_calls(recording, "collective")
    for rank, waits in enumerate(recording.waits):
        for wait in waits:
            if wait.what.startswith(SLOT) and (wait.place, rank) not in collectives:
                waited[rank].append((wait.begin, wait.end))
                places[wait.place] += wait.end - wait.begin
    share = found.epochs.saved(waited) / found.working
    if share < WORTH:
        return []
    rank, ticks = _most(waited)
    place, _ = places.most_common(1)[0]
    return [
        Advice(
            f"Queues are full: {many(len(waited), 'rank')} waited for free request slots, rank {rank} for "
            f"{us(ticks)}, {part(ticks / found.working)}{f', mostly at {place}' if place else ''}.",
            "Let the receiver poll more often, send fewer and larger messages, or give the conduit more slots where it "
            "has that option (`conduit show NAME`).",
            share,
        )
    ]


def unaligned(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Long payloads that the processor copies, since they do not begin or end at a multiple of what engines ask for."""
    if recording.alignment == 1:
        return []
    longs = {life.message: life for life in found.lives if life.category >= Category.LONG}
    copying = spans_of(recording, ("copy",))
    copies = {message: copying[life.way[0]].clipped(life.begin, life.end) for message, life in longs.items()}
    odd = [message for message in _loose(recording, longs) if copies[message]]
    losses: dict[int, list[Interval]] = defaultdict(list)
    for message in odd:
        losses[longs[message].way[0]] += copies[message]
    share = found.epochs.saved(losses) / found.working
    if share < WORTH:
        return []
    place, _ = Counter(recording.lines.get(message._replace(reply=False), "") for message in odd).most_common(1)[0]
    rank, ticks = _most(losses)
    return [
        Advice(
            f"{len(odd)} of {many(len(longs), 'long message')} go to offsets that are no multiple of "
            f"{recording.alignment}{f', mostly at {place}' if place else ''}: the processor copies them first, which "
            f"cost rank {rank} {us(ticks)}, {part(ticks / found.working)}.",
            f"Let offsets, sizes and source addresses be multiples of {recording.alignment}, better of 64 bytes.",
            share,
        )
    ]


def _loose(recording: ReportRecording, longs: Collection[Identity]) -> list[Identity]:
    """Return the long messages that go to offsets which are no multiple, and where some do those of unknown offset."""
    start: dict[Identity, int] = {}
    unnamed = False
    for landed in recording.landings:
        if isinstance(landed.origin, Identity) and landed.origin in longs:
            start[landed.origin] = min(start.get(landed.origin, landed.offset), landed.offset)
        elif landed.offset % recording.alignment:
            unnamed = True  # with an origin that the hardware does not name
    return [message for message in longs if start.get(message, int(unnamed)) % recording.alignment]


def _most(losses: Mapping[int, Iterable[Interval]]) -> tuple[int, int]:
    """Return which rank loses most, and how much."""
    totals = {rank: Covered(times).total for rank, times in losses.items()}
    rank = max(totals, key=lambda rank: (totals[rank], -rank))
    return rank, totals[rank]


def first_contacts(recording: ReportRecording, found: Profile) -> list[Advice]:
    """First messages between two ranks whose calls took longer than those of later ones like them."""
    extra: dict[int, list[Interval]] = defaultdict(list)
    for source, begin, ticks in _extra(recording, found):
        extra[source].append((begin, begin + ticks))
    pairs = sum(map(len, extra.values()))
    share = found.epochs.saved(extra) / found.working
    if share < WORTH:
        return []
    rank, ticks = _most(extra)
    return [
        Advice(
            f"First contacts are in the measured part: the first message between two ranks took longer than later "
            f"ones do, on {many(pairs, 'pair')}, which cost rank {rank} {us(ticks)}, {part(ticks / found.working)}.",
            "Send one message along each pair before the clock starts, and a barrier after it.",
            share,
        )
    ]


def _by_pair(found: Profile) -> dict[tuple[int, int], list[MessageLife]]:
    """Return the requests between two ranks, in the order in which they were sent."""
    pairs: dict[tuple[int, int], list[MessageLife]] = defaultdict(list)
    for life in sorted(found.lives, key=lambda life: life.begin):
        if not life.message.reply and life.message.source != life.message.dest:
            pairs[life.way].append(life)
    return pairs


def _own_part(life: MessageLife, others: Covered, computing: Covered) -> int:
    """Return what a call took for its own message, as far as its receiver did not keep it waiting."""
    begin, end = life.begin, life.end
    return max(end - begin - others.within(begin, end) - computing.within(begin, end), 0)


def _extra(recording: ReportRecording, found: Profile) -> Iterator[tuple[int, int, int]]:
    """Yield of each pair whose first message took longer than it would have later: the sender, from when, how long.

    Where there is no later one like it, of the pair or else of another, it takes as much longer as others do.
    """
    others = spans_of(recording, _NOT_ITS_OWN)
    hosts, computing = recording.hosts, found.times.computing
    later: dict[tuple[object, ...], list[int]] = defaultdict(list)
    firsts: list[tuple[MessageLife, int, tuple[object, ...]]] = []
    for (source, dest), lives in _by_pair(found).items():
        for turn, life in enumerate(lives):
            own = _own_part(life, others[source], computing[dest])
            kind = life.category, max(life.nbytes, SMALL).bit_length(), hosts[source] == hosts[dest]
            if turn:
                later[*kind, source, dest].append(own)
                later[kind].append(own)
            else:
                firsts.append((life, own, kind))
    usual = {kind: median(times) for kind, times in later.items()}
    known = [(life, own, usual.get((*kind, *life.way), usual.get(kind))) for life, own, kind in firsts]
    more = [(life, own, own if after is None else _longer(own, after), after is None) for life, own, after in known]
    connecting = median([ticks for *_, ticks, alone in more if not alone] or [0])
    for life, own, ticks, alone in more:
        extra = min(connecting, own) if alone else ticks
        if extra:
            yield life.message.source, life.begin, int(extra)


def _longer(first: int, later: float) -> float:
    """Return how much longer than later messages a first one took, 0 where they are about alike."""
    return first - later if first > _LONGER * later else 0


def short_messages(found: Profile) -> list[Advice]:
    """Ranks most of whose time goes to the processor's part in short messages; said where nothing else is."""
    counts: Counter[int] = Counter()
    nbytes: Counter[int] = Counter()
    for way, count in found.messages.items():
        for rank in set(way):
            counts[rank] += count
            nbytes[rank] += found.nbytes[way]
    ranks = [
        rank
        for rank, count in counts.items()
        if count >= _SEVERAL
        and nbytes[rank] <= _SHORT * count
        and found.accounts[rank].overhead >= _MOSTLY * found.working
    ]
    if not ranks:
        return []
    most = max(ranks, key=lambda rank: (found.accounts[rank].overhead, -rank))
    busy, count = found.accounts[most].overhead, counts[most]
    size = many(round(nbytes[most] / count), "byte")
    return [
        Advice(
            f"Rank {like(most, len(ranks) - 1)} spends {part(busy / found.working)} in sending and receiving, not in "
            f"waits: {count} messages of {size} on the average, {us(busy / count)} of its processor for each.",
            "Send fewer and larger messages: a short one takes its ranks about as long as one of some hundred bytes.",
            busy / found.working,
        )
    ]
