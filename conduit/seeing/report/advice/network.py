"""What the network makes of a program's messages: full queues, loose bytes, first contacts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping

from conduit.contract import Category, Identity
from conduit.seeing.report.advice.contacts import Contacts
from conduit.seeing.report.advice.parts import WORTH, Advice, in_calls, part, us
from conduit.seeing.report.epochs import spans_of
from conduit.seeing.report.intervals import Covered, Interval, difference
from conduit.seeing.report.late import SLOT
from conduit.seeing.report.observer import ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.words import many


def full_queues(recording: ReportRecording, found: Profile, contacts: Contacts) -> list[Advice]:
    """Time that ranks waited for a free slot, but in collective calls, whose messages are not the program's."""
    waited: dict[int, list[Interval]] = defaultdict(list)
    places: Counter[str] = Counter()
    collectives = in_calls(recording, "collective")
    for rank, waits in enumerate(recording.waits):
        for wait in waits:
            if wait.what.startswith(SLOT) and (wait.place, rank) not in collectives:
                meeting = Covered(time for each in (rank, *wait.ranks) for time in contacts.get(each, ()))
                times = difference([(wait.begin, wait.end)], meeting.intervals)
                waited[rank] += times
                places[wait.place] += sum(end - begin for begin, end in times)
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


def first_contacts(found: Profile, contacts: Contacts) -> list[Advice]:
    """First messages between two ranks whose calls took longer than those of later ones like them."""
    pairs = sum(map(len, contacts.values()))
    share = found.epochs.saved(contacts) / found.working
    if share < WORTH:
        return []
    rank, ticks = _most(contacts)
    return [
        Advice(
            "First contacts are in the time after the start: the first message between two ranks took longer than "
            f"later ones do, on {many(pairs, 'pair')}, which cost rank {rank} {us(ticks)}, "
            f"{part(ticks / found.working)}.",
            "Send one message along each pair before the clock starts, and a barrier after it. Where the program has "
            "done so before it times itself, they are not in its times.",
            share,
        )
    ]
