"""What is wrong with a program, in plain words, and what to do about it.

Each check looks for one pattern in a profile, and says nothing below a share of the time that is worth a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import median

import attrs

from conduit.contract import Category, Identity
from conduit.seeing.report.observer import SEND, Called, ReportRecording
from conduit.seeing.report.profile import Profile, ends, overlap, union
from conduit.seeing.timeline.recording import NEVER
from conduit.words import many

_WORTH = 0.1
"""Of the time after the start, below which nothing is said."""
_SMALL, _MANY = 64, 32
"""Bytes of an element-wise access at most, and how many of them at least."""
_MOSTLY, _SHORT, _SEVERAL = 0.5, 512, 16
"""Of a rank's time after the start, from which messages are most of it; their mean bytes at most, and how many."""
_ALIGNED = 8
"""Bytes: what engines that move long payloads ask of addresses and sizes, as SCI's does."""


@attrs.frozen
class Advice:
    """One thing to change.

    Attributes:
        what: is wrong, with figures.
        remedy: what to do.
        share: of the time after the start, about what is to be had; by it they are in order.
    """

    what: str
    remedy: str
    share: float


@attrs.frozen
class _OfLine:
    """What one rank is to change in a line of the program."""

    place: str
    rank: int
    advice: Advice


def advice(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Return what to change, the most worthwhile first; of a job that took no time or stood still nothing."""
    if not found.length or stands_still(recording):
        return []
    every = [
        *_late_polls(found),
        *_of_ranks_alike(_element_wise(recording, found)),
        *_hot_spots(found),
        *_full_queues(recording, found),
        *_unaligned(recording, found),
        *_first_contacts(found),
    ]
    return sorted(every or _short_messages(found), key=lambda each: -each.share)


def stands_still(recording: ReportRecording) -> bool:
    """Say whether a job got no further: its full queues and long waits are what that looks like."""
    return recording.failure is not None and recording.failure.standstill


def _us(ticks: float) -> str:
    return f"{ticks / 1e6:,.1f} µs"


def _part(share: float) -> str:
    """Write a share of the time after the start; of one rank, whose it is."""
    return f"{100 * share:.0f} % of its time after the start"


def _late_polls(found: Profile) -> list[Advice]:
    made = []
    for late in found.late:
        share = late.cost / found.working
        if share < _WORTH:
            continue
        where = f", which waited at {late.waiters[0]}" if late.waiters else ""
        made.append(
            Advice(
                f"Rank {late.rank} did not poll while others waited for it: it computed for {_us(late.unpolled)}, "
                f"up to {_us(late.longest)} at a time, with {many(late.messages, 'message')} under way to it. That "
                f"cost the others {_us(late.cost)}{where}.",
                "Call `await ep.poll()` in long computations, or cut them into shorter ones: only a poll runs "
                "handlers.",
                share,
            )
        )
    return made


def _of_ranks_alike(made: list[_OfLine]) -> list[Advice]:
    """Return one piece of advice for each line and remedy: that of the rank which gains most, with how many others."""
    alike: dict[tuple[str, str], list[_OfLine]] = defaultdict(list)
    for each in made:
        alike[each.place, each.advice.remedy].append(each)
    found = []
    for several in alike.values():
        most = max(several, key=lambda each: each.advice.share)
        others = len(several) - 1
        like = f"ank {most.rank}, like {many(others, 'other rank')}, " if others else f"ank {most.rank} "
        found.append(attrs.evolve(most.advice, what=most.advice.what.replace(f"ank {most.rank} ", like, 1)))
    return found


def _element_wise(recording: ReportRecording, found: Profile) -> list[_OfLine]:
    """Many small messages or native operations from one line, each waited for there."""
    waited: dict[tuple[str, int], tuple[int, int]] = {}
    for rank, waits in enumerate(recording.waits):
        for wait in waits:
            count, ticks = waited.get((wait.place, rank), (0, 0))
            waited[wait.place, rank] = count + 1, ticks + wait.end - wait.begin
    sizes: dict[tuple[str, int], list[int]] = defaultdict(list)
    peers: dict[tuple[str, int], Counter[int]] = defaultdict(Counter)
    replies = {life.message: life.nbytes for life in found.lives if life.message.reply}
    spent: dict[tuple[str, int], int] = defaultdict(int)
    for life in found.lives:
        if not life.message.reply:
            key = recording.lines.get(life.message, ""), life.message.source
            sizes[key].append(life.nbytes + replies.get(life.message._replace(reply=True), 0))
            peers[key][life.message.dest] += 1
            spent[key] += life.end - life.begin
    for call in found.native:
        key = call.place, call.rank
        sizes[key].append(call.nbytes)
        peers[key][call.peer] += 1
        spent[key] += call.end - call.begin
    native = {(call.place, call.rank) for call in found.native}
    made = _message_wise(found, waited)
    listed = _listed(found)
    for key, payloads in sizes.items():
        place, rank = key
        count, ticks = waited.get(key, (0, 0))
        share = (ticks + spent[key]) / found.working
        small = 0 < median(payloads) <= _SMALL
        each_waited = count >= len(payloads) // 2
        # A native operation takes its processor while it is begun, a get often to its end, waited for or not.
        slow = ", and waits for each one" if each_waited else ""
        if place and small and len(payloads) >= _MANY and (each_waited or key in native) and share >= _WORTH:
            sizes_said = f"{len(payloads)} times {median(payloads):.0f} bytes"
            taken = f"Calls and waits there take {_part(share)}."
            if key in listed:
                figures = f"{sizes_said} in {many(listed[key], 'list')}. {taken}"
                made.append(_OfLine(place, rank, _of_lists(rank, place, figures, share)))
                continue
            whose, most = _whose(peers[key], "of")
            several = peers[key].most_common(1)[0][1] > 1
            if not several and not each_waited:
                continue
            how = "element by element" if several else "one after the other"
            whole = f"a whole block{' of each rank' if most else ''} at once (one get or put of the range)"
            advised = Advice(
                f"Rank {rank} accesses {whose} {how} at {place}: {sizes_said}{most if several else ''}{slow}. {taken}",
                f"{f'Move {whole}, or begin' if several else 'Begin'} all of them (get_nb, put_nb) and wait once.",
                share,
            )
            made.append(_OfLine(place, rank, advised))
    return made


def _of_lists(rank: int, place: str, figures: str, share: float) -> Advice:
    """Say that lists are many native operations."""
    return Advice(
        f"The lists that rank {rank} gives at {place} are one native operation for each element: {figures}",
        "Try the conduit's option `rma=am`: a list then goes in messages, which hold many elements each. What lies "
        "together is better moved as one range.",
        share,
    )


def _whose(peers: Counter[int], what: str) -> tuple[str, str]:
    """Return whom accesses of a line go to, and of several ranks which has the most: ", 20 of them of rank 1"."""
    peer, count = peers.most_common(1)[0]
    if len(peers) == 1:
        return f"rank {peer}", ""
    return many(len(peers), "rank"), f", {count} of them {what} rank {peer}"


def _listed(found: Profile) -> Counter[tuple[str, int]]:
    """Count the lists of each line and rank most of whose native operations are elements of such."""
    lists: dict[tuple[str, int], list[Called]] = defaultdict(list)
    operations: dict[tuple[str, int], list[Called]] = defaultdict(list)
    for call in found.lists:
        lists[call.place, call.rank].append(call)
    for call in found.native:
        operations[call.place, call.rank].append(call)
    counts: Counter[tuple[str, int]] = Counter()
    for key, calls in lists.items():
        spans = union((call.begin, call.end) for call in calls)
        inside = sum(overlap([(call.begin, call.end)], spans) > 0 for call in operations[key])
        if 2 * inside > len(operations[key]):
            counts[key] = len(calls)
    return counts


def _message_wise(found: Profile, waited: Mapping[tuple[str, int], tuple[int, int]]) -> list[_OfLine]:
    """Many small messages of a library from one line; `waited`: waits of each line and rank, and their time."""
    sent: dict[tuple[str, int], list[Called]] = defaultdict(list)
    for call in found.library:
        if call.name == SEND and call.place:
            sent[call.place, call.rank].append(call)
    made = []
    for (place, rank), calls in sent.items():
        nbytes = median(call.nbytes for call in calls)
        _, ticks = waited.get((place, rank), (0, 0))
        share = (ticks + sum(call.end - call.begin for call in calls)) / found.working
        if len(calls) >= _MANY and 0 < nbytes <= _SMALL and share >= _WORTH:
            whose, most = _whose(Counter(call.peer for call in calls), "to")
            advised = Advice(
                f"Rank {rank} sends to {whose} element by element at {place}: {len(calls)} messages of {nbytes:.0f} "
                f"bytes{most}. Calls and waits there take {_part(share)}.",
                "Send a whole block at once, or begin all sends (Isend) and wait once (Waitall).",
                share,
            )
            made.append(_OfLine(place, rank, advised))
    return made


def _short_messages(found: Profile) -> list[Advice]:
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
    like = f", like {many(len(ranks) - 1, 'other rank')}," if ranks[1:] else ""
    return [
        Advice(
            f"Rank {most}{like} spends {_part(busy / found.working)} in sending and receiving, not in waits: {count} "
            f"messages of {size} on the average, {_us(busy / count)} of its processor for each.",
            "Send fewer and larger messages: a short one takes its ranks about as long as one of some hundred bytes.",
            busy / found.working,
        )
    ]


def _hot_spots(found: Profile) -> list[Advice]:
    """One rank that gets much more than its part of the requests, from most others."""
    if found.ranks < 4:
        return []
    coming: Counter[int] = Counter()
    sources: dict[int, set[int]] = defaultdict(set)
    for life in found.lives:
        source, dest = ends(life)
        if source != dest and not life.message.reply:
            coming[dest] += 1
            sources[dest].add(source)
    for call in (*found.native, *found.library):
        if call.rank != call.peer:
            coming[call.peer] += 1
            sources[call.peer].add(call.rank)
    total = sum(coming.values())
    what = "messages" if found.library else "requests"
    made = []
    for rank, count in coming.most_common(1):
        others = len(sources[rank])
        busy = (found.accounts[rank].overhead + found.accounts[rank].handlers) / found.working
        if count >= _MANY and count > 3 * total / found.ranks and others >= found.ranks // 2:
            made.append(
                Advice(
                    f"Rank {rank} is a hot spot: {count} of {total} {what} go to it, from {many(others, 'rank')}, and "
                    f"it spends {_part(busy)} on messages and handlers.",
                    "Let a tree combine what is one sum (reduce, all_reduce), spread data and locks over the ranks, or "
                    "collect several requests in one.",
                    max(busy, _WORTH),
                )
            )
    return made


def _full_queues(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Time that ranks waited for a free slot."""
    by_rank: Counter[int] = Counter()
    places: Counter[str] = Counter()
    for rank, waits in enumerate(recording.waits):
        for wait in waits:
            if wait.what.startswith("a free request slot"):
                by_rank[rank] += wait.end - wait.begin
                places[wait.place] += wait.end - wait.begin
    if not by_rank:
        return []
    rank, ticks = by_rank.most_common(1)[0]
    share = ticks / found.working
    if share < _WORTH:
        return []
    place, _ = places.most_common(1)[0]
    return [
        Advice(
            f"Queues are full: {many(len(by_rank), 'rank')} waited for free request slots, rank {rank} for "
            f"{_us(ticks)}, {_part(share)}{f', mostly at {place}' if place else ''}.",
            "Let the receiver poll more often, send fewer and larger messages, or give the conduit more slots where it "
            "has that option (`conduit show NAME`).",
            share,
        )
    ]


def _unaligned(recording: ReportRecording, found: Profile) -> list[Advice]:
    """Long payloads that do not begin or end at a multiple of what engines ask for."""
    longs = {life.message: life for life in found.lives if life.category >= Category.LONG and life.nbytes >= _ALIGNED}
    if not longs:
        return []
    start: dict[Identity, int] = {}
    loose = 0
    for landed in recording.landings:
        if isinstance(landed.origin, Identity) and landed.origin in longs:
            start[landed.origin] = min(start.get(landed.origin, landed.offset), landed.offset)
        elif landed.offset % _ALIGNED:
            loose += 1  # with an origin that the hardware does not name
    odd = [message for message, offset in start.items() if offset % _ALIGNED]
    if not odd and loose:
        odd = list(longs)[:loose]
    if not odd:
        return []
    ticks = sum(longs[message].end - longs[message].begin for message in odd)
    share = ticks / found.working
    if share < _WORTH:
        return []
    places = Counter(recording.lines.get(message._replace(reply=False), "") for message in odd)
    place, _ = places.most_common(1)[0]
    return [
        Advice(
            f"{len(odd)} of {len(longs)} long messages go to offsets that are no multiple of {_ALIGNED}"
            f"{f', mostly at {place}' if place else ''}: engines that move long payloads take such bytes "
            f"after a copy, or not at all. Their calls take {_us(ticks)} of all ranks together; the time after the "
            f"start is {_us(found.working)}.",
            f"Let offsets, sizes and source addresses be multiples of {_ALIGNED}, better of 64 bytes.",
            share,
        )
    ]


def _first_contacts(found: Profile) -> list[Advice]:
    """First messages between two ranks that took much longer than the later ones."""
    trips: dict[tuple[int, int], list[int]] = defaultdict(list)
    for life in found.lives:
        if life.noticed != NEVER and not life.message.reply and life.message.source != life.message.dest:
            trips[life.message.source, life.message.dest].append(life.noticed - life.begin)
    extra: Counter[int] = Counter()
    pairs = 0
    for (source, _), times in trips.items():
        if len(times) > 1:
            later = median(times[1:])
            if times[0] > 3 * later:
                extra[source] += int(times[0] - later)
                pairs += 1
    if not extra:
        return []
    rank, ticks = extra.most_common(1)[0]
    share = ticks / found.working
    if share < _WORTH:
        return []
    which = "1 pair" if pairs == 1 else f"{pairs} pairs"
    return [
        Advice(
            f"First contacts are in the measured part: the first message between two ranks took longer than the later "
            f"ones, on {which}, which cost rank {rank} {_us(ticks)}, {_part(share)}.",
            "Send one message along each pair before the clock starts, and a barrier after it.",
            share,
        )
    ]
