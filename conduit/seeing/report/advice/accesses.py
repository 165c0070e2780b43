"""Many small accesses of one line, one by one."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median

import attrs

from conduit.seeing.report.advice.contacts import Contacts
from conduit.seeing.report.advice.parts import MANY, SMALL, WORTH, Advice, OfLine, capitalised, in_calls, part, whose
from conduit.seeing.report.intervals import Covered, overlap, union
from conduit.seeing.report.late import SLOT
from conduit.seeing.report.observer import SEND, Called, ReportRecording
from conduit.seeing.report.profile import Profile
from conduit.seeing.report.vocabulary import Vocabulary
from conduit.words import many

_OF_HANDLES = "_nb"
"""With which the waits for handles end in words: they have the name of the call that gave the handle."""


@attrs.define
class _Uses:
    """Small accesses that one rank made in one line.

    Attributes:
        sizes: bytes of each, those of its reply among them.
        peers: whom they went to.
        ticks: picoseconds in the calls.
        native: whether there were native operations among them.
        turns: to whom there were any in which of the stretches between meetings.
    """

    sizes: list[int] = attrs.field(factory=list)
    peers: Counter[int] = attrs.field(factory=Counter)
    ticks: int = 0
    native: bool = False
    turns: set[tuple[int, int]] = attrs.field(factory=set)

    def add(self, nbytes: int, peer: int, ticks: int, epoch: int) -> None:
        """Take in one."""
        self.sizes.append(nbytes)
        self.peers[peer] += 1
        self.ticks += ticks
        self.turns.add((epoch, peer))

    @property
    def small(self) -> bool:
        """Whether they are many, and of few bytes."""
        return len(self.sizes) >= MANY and 0 < median(self.sizes) <= SMALL

    @property
    def of_blocks(self) -> bool:
        """Whether several went to one rank at a time: in each step one to each neighbour is no block."""
        return len(self.sizes) >= 2 * len(self.turns)

    @property
    def at_a_time(self) -> bool:
        """Whether there were several at a time at all."""
        return len(self.sizes) >= 2 * len({epoch for epoch, _ in self.turns})


def element_wise(recording: ReportRecording, found: Profile, contacts: Contacts) -> list[OfLine]:
    """Many small messages or native operations from one line, each waited for there."""
    waited = _waited(recording, found, contacts)
    handed = _waited_elsewhere(recording, found)
    completed = _completed(recording, found)
    made = _message_wise(recording, found, waited) + _one_by_one_completed(recording, found, completed)
    listed, begun = _listed(found), _begun(recording)
    others = in_calls(recording, "atomic", "lock", "hold", "barrier", "collective")
    around = in_calls(recording, "open", "close")  # whose time, and whose messages, are of another advice
    for key, uses in _uses(recording, found).items():
        place, rank = key
        count, ticks = waited.get(key, (0, 0))
        if 4 * handed[key][0] >= 3 * len(uses.sizes):
            count, ticks = count + handed[key][0], ticks + handed[key][1]
        share = (ticks + uses.ticks) / found.working
        if not place or not uses.small or share < WORTH or key in around or key in completed:
            continue
        if key in listed:
            made.append(OfLine(place, rank, _of_lists(rank, place, uses, listed[key], share)))
        elif key not in others:
            waits, words = count >= len(uses.sizes) // 2, recording.words_at(place)
            all_begun = not waits and words.begun and 4 * begun[key] >= 3 * len(uses.sizes)
            made += _one_by_one(rank, place, uses, waits, share, words, begun=all_begun)
    return made


def _begun(recording: ReportRecording) -> Counter[tuple[str, int]]:
    """Count the puts and gets of each line and rank that were begun there, for another call to wait for."""
    return Counter((call.place, call.rank) for call in recording.calls if call.level == "begin")


def _waited(recording: ReportRecording, found: Profile, contacts: Contacts) -> dict[tuple[str, int], tuple[int, int]]:
    """Return how often each line and rank waited and how long, but for what those waited for were at besides.

    That is what they computed, and their own first contacts.  A wait for a free slot takes time too, but waits for no
    access to be complete.
    """
    besides = [
        Covered([*computing.intervals, *contacts.get(rank, ())]) for rank, computing in enumerate(found.times.computing)
    ]
    waited: dict[tuple[str, int], tuple[int, int]] = {}
    for rank, waits in enumerate(recording.waits):
        for wait in waits:
            count, ticks = waited.get((wait.place, rank), (0, 0))
            other = [besides[peer].within(wait.begin, wait.end) for peer in wait.ranks]
            of_access = not wait.what.startswith(SLOT)
            waited[wait.place, rank] = count + of_access, ticks + wait.end - wait.begin - max(other, default=0)
    return waited


def _waited_elsewhere(recording: ReportRecording, found: Profile) -> dict[tuple[str, int], tuple[int, int]]:
    """Return how often each line and rank began an access that was waited for at once, in another line, and how long.

    Such a wait begins as the call of the access ends, and ends with its reply: where others were under way, as they are
    in a wait for the one before, it ends sooner.
    """
    replied = {life.message: life.done for life in found.lives if life.message.reply}
    begun = {
        (life.message.source, life.end): life.message
        for life in found.lives
        if not life.message.reply and life.message in recording.lines
    }
    waited: dict[tuple[str, int], tuple[int, int]] = defaultdict(lambda: (0, 0))
    for rank, waits in enumerate(recording.waits):
        for wait in waits:
            message = begun.get((rank, wait.begin)) if wait.what.endswith(_OF_HANDLES) else None
            if message is None or wait.ranks != (message.dest,) or recording.lines[message] == wait.place:
                continue
            if replied.get(message._replace(reply=True), wait.end + 1) <= wait.end:
                key = recording.lines[message], rank
                count, ticks = waited[key]
                computed = found.times.computing[message.dest].within(wait.begin, wait.end)
                waited[key] = count + 1, ticks + wait.end - wait.begin - computed
    return waited


def _uses(recording: ReportRecording, found: Profile) -> dict[tuple[str, int], _Uses]:
    uses: dict[tuple[str, int], _Uses] = defaultdict(_Uses)
    came = [[epoch.windows[rank][0] for epoch in found.epochs.every] for rank in range(found.ranks)]
    replies = {life.message: life.nbytes for life in found.lives if life.message.reply}
    for life in found.lives:
        place = recording.lines.get(life.message, "")
        if not life.message.reply and life.handler not in recording.words_at(place).own:
            nbytes = life.nbytes + replies.get(life.message._replace(reply=True), 0)
            key = place, life.message.source
            epoch = bisect_right(came[life.message.source], life.begin)
            uses[key].add(nbytes, life.message.dest, life.end - life.begin, epoch)
    for call in found.native:
        of = uses[call.place, call.rank]
        of.add(call.nbytes, call.peer, call.end - call.begin, bisect_right(came[call.rank], call.begin))
        of.native = True
    return uses


def _completed(recording: ReportRecording, found: Profile) -> dict[tuple[str, int], _Uses]:
    """Return the small accesses of each line and rank most of which a call of its own completed before the next.

    Their time is that of both calls, but for what the other rank was computing in the second.
    """
    came = [[epoch.windows[rank][0] for epoch in found.epochs.every] for rank in range(found.ranks)]
    begun: dict[tuple[int, int], list[Called]] = defaultdict(list)
    uses: dict[tuple[str, int], _Uses] = defaultdict(_Uses)
    counts: Counter[tuple[str, int]] = Counter()
    for call in recording.calls:
        way = call.rank, call.peer
        if call.level == "put/get" and call.rank != call.peer:
            begun[way].append(call)
            counts[call.place, call.rank] += 1
        elif call.level in ("complete", "close") and way in begun:
            access, *others = begun.pop(way)
            if call.level == "complete" and not others:
                computed = found.times.computing[call.peer].within(call.begin, call.end)
                ticks = access.end - access.begin + call.end - call.begin - computed
                epoch = bisect_right(came[call.rank], access.begin)
                uses[access.place, call.rank].add(access.nbytes, call.peer, ticks, epoch)
    return {key: each for key, each in uses.items() if each.small and 4 * len(each.sizes) >= 3 * counts[key]}


def _one_by_one_completed(
    recording: ReportRecording, found: Profile, completed: Mapping[tuple[str, int], _Uses]
) -> list[OfLine]:
    made = []
    for (place, rank), uses in completed.items():
        share = uses.ticks / found.working
        if place and share >= WORTH:
            made += _one_by_one(rank, place, uses, True, share, recording.words_at(place))
    return made


def _one_by_one(
    rank: int, place: str, uses: _Uses, waited: bool, share: float, words: Vocabulary, *, begun: bool = False
) -> list[OfLine]:
    """Say that elements should move as a block, or at once.

    Args:
        rank: that accesses.
        place: where.
        uses: what.
        waited: whether each was waited for.
        share: of the time after the start that they take.
        words: in which to say it.
        begun: whether they are at once already: all begun, and waited for together.
    """
    several = uses.of_blocks
    # A native operation takes its processor while it is begun, a get often to its end, waited for or not.
    if not uses.at_a_time or (not waited and not (uses.native and several)):
        return []
    owner, most = whose(uses.peers, "of")
    how = "element by element" if several else "one after the other"
    whole = f"a whole block{' of each rank' if most else ''} at once ({words.block})"
    advised = Advice(
        f"Rank {rank} accesses {owner} {how} at {place}: {_sizes(uses)}{most if several else ''}"
        f"{', and waits for each one' if waited else ''}. {_taken(share)}",
        f"Move {whole}{'' if begun else f', or {words.begin}'}." if several else f"{capitalised(words.begin)}.",
        share,
    )
    return [OfLine(place, rank, advised)]


def _sizes(uses: _Uses) -> str:
    return f"{len(uses.sizes)} times {many(round(median(uses.sizes)), 'byte')}"


def _taken(share: float) -> str:
    return f"Calls and waits there take {part(share)}."


def _of_lists(rank: int, place: str, uses: _Uses, lists: int, share: float) -> Advice:
    """Say that lists are many native operations."""
    return Advice(
        f"The lists that rank {rank} gives at {place} are one native operation for each element: {_sizes(uses)} in "
        f"{many(lists, 'list')}. {_taken(share)}",
        "Try the conduit's option `rma=am`: a list then goes in messages, which hold many elements each. What lies "
        "together is better moved as one range.",
        share,
    )


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


def _message_wise(
    recording: ReportRecording, found: Profile, waited: Mapping[tuple[str, int], tuple[int, int]]
) -> list[OfLine]:
    """Many small messages of a library from one line; `waited`: waits of each line and rank, and their time."""
    sent: dict[tuple[str, int], list[Called]] = defaultdict(list)
    between: dict[tuple[int, int], list[int]] = defaultdict(list)
    for call in found.library:
        if call.name == SEND:
            between[call.rank, call.peer].append(call.begin)
            if call.place:
                sent[call.place, call.rank].append(call)
    made = []
    for (place, rank), calls in sent.items():
        nbytes = median(call.nbytes for call in calls)
        _, ticks = waited.get((place, rank), (0, 0))
        share = (ticks + sum(call.end - call.begin for call in calls)) / found.working
        if len(calls) >= MANY and 0 < nbytes <= SMALL and share >= WORTH:
            owner, most = whose(Counter(call.peer for call in calls), "to")
            exchanged, words = _exchanged(calls, between), recording.words_at(place)
            does = f"exchanges small messages with {owner} step by step"
            advised = Advice(
                f"Rank {rank} {does if exchanged else f'sends to {owner} element by element'} at {place}: {len(calls)} "
                f"messages of {many(round(nbytes), 'byte')}{most}. {_taken(share)}",
                words.exchange if exchanged else words.send,
                share,
            )
            made.append(OfLine(place, rank, advised))
    return made


def _exchanged(calls: Sequence[Called], between: Mapping[tuple[int, int], Sequence[int]]) -> bool:
    """Say whether messages of a line go to and fro with others, so that what they carry was not there before.

    Two that send to each other at once may take turns in being the first: so one is looked for since the last but one.

    Args:
        calls: these messages, in order.
        between: when messages began, by sender and receiver, in order.
    """
    begun: dict[int, list[int]] = defaultdict(list)
    answered = 0
    for call in calls:
        back, mine = between.get((call.peer, call.rank), ()), begun[call.peer]
        answered += len(mine) > 1 and bisect_right(back, mine[-2]) < bisect_right(back, call.begin)
        mine.append(call.begin)
    return 2 * answered > len(calls)
