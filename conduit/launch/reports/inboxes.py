"""What ranks have in use, and which messages they have not handled, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Sequence

from conduit.contract import Awaited
from conduit.core import written
from conduit.launch.printing.phrases import common, counted, named
from conduit.launch.reports.graph import pattern, waits
from conduit.launch.reports.records import HeldRecord, MessageRecord, RankRecord, SourceLine, WaitRecord
from conduit.words import many

_KINDS = 3  # of handlers, of those whose messages were not handled; of resources that some of many ranks use


def not_handled(ranks: Sequence[RankRecord], *, noted: bool = False) -> str:
    """Return how many messages ranks have not handled, what these are for, and why; "" for none.

    Args:
        ranks: whose.
        noted: whether the ranks' notes are shown: what they tell of is left out then, as is what waits tell of always.
    """
    # Replies that run nothing say nothing beside messages that would run something.
    empty = any(not _runs_nothing(each) for rank in ranks for each in rank.unhandled)
    waiting = {rank.rank: untold for rank in ranks if (untold := _untold(rank, noted, empty))}
    total = sum(waiting.values())
    if not total:
        return ""
    count = f"{many(total, 'message')} not handled"
    return f"{count}{_why(ranks, waiting)}{_of_what(ranks, total, empty)}"


def _untold(rank: RankRecord, noted: bool, empty: bool) -> int:
    """Return how many messages of a rank are to be told.

    Args:
        rank: the rank.
        noted: whether its notes are shown.
        empty: whether replies that run nothing are left out.
    """
    left_out = sum(each.count for each in rank.unhandled if empty and _runs_nothing(each))
    return max(0, rank.undelivered - rank.awaited - noted * rank.noted - left_out)


def _runs_nothing(message: MessageRecord) -> bool:
    return not (message.handler or message.request)


def _why(ranks: Sequence[RankRecord], untold: Container[int]) -> str:
    if len(ranks) == 1:
        return "" if ranks[0].may_poll else ", because this rank does not poll"
    waiting = [rank for rank in ranks if rank.rank in untold]
    why = "" if any(rank.may_poll for rank in waiting) else ", because these ranks do not poll"
    return f" on {counted([rank.rank for rank in waiting])}{why}"


def _of_what(ranks: Sequence[RankRecord], total: int, empty: bool) -> str:
    """Return what messages are for, those for most first, as far as it is known."""
    counts = Counter[str]()
    for rank in ranks:
        for message in rank.unhandled:
            if empty and _runs_nothing(message):
                continue
            counts[_handler(message.handler, message.place)] += message.count
    if len(counts) == 1 and counts.total() == total:
        return f": for {next(iter(counts))}"
    shown = [f"{count} for {handler}" for handler, count in counts.most_common(_KINDS)]
    return f": {', '.join(shown)}{', ...' * (len(counts) > _KINDS)}" if shown else ""


def _handler(name: str, place: SourceLine | None) -> str:
    if place is not None:
        return f"{name} ({written.at(place.file, place.line)})"
    return name or "no handler, only to free a slot"


def in_use(rank: RankRecord) -> list[str]:
    """Return a line for each kind of resource in use, and for the requests that hold what its tasks wait for."""
    return [*rank.slots_in_use, *_holding([rank])]


def in_use_together(ranks: Sequence[RankRecord]) -> list[str]:
    """Return the lines of many ranks: what each of them uses, and where they wait for slots what some do."""
    found: dict[str, list[str]] = {}
    for rank in ranks:
        for line in rank.slots_in_use:
            found.setdefault(pattern(line), []).append(line)
    if all(len(lines) == len(ranks) for lines in found.values()):
        used = [f"each: {common(lines)}" for lines in found.values()]
    elif any(wait.kind == Awaited.SLOT.value for rank in ranks for wait in waits(rank)):
        used = [f"{len(lines)} of them: {common(lines)}" for lines in found.values()][:_KINDS]
    else:
        used = []
    return used + _holding(ranks)


def _holding(ranks: Sequence[RankRecord]) -> list[str]:
    """Return lines of the requests that hold what tasks of ranks wait for, or whose answer that may be."""
    whose = "their" if len(ranks) > 1 else "its"
    return [
        *_by_handler(ranks, lambda wait: wait.held, "the requests that hold them"),
        *_by_handler(ranks, lambda wait: wait.unanswered, f"{whose} requests"),
    ]


def _by_handler(ranks: Sequence[RankRecord], of: Callable[[WaitRecord], Sequence[HeldRecord]], which: str) -> list[str]:
    """Return a line for each handler of requests that were not handled where they are.

    Args:
        ranks: whose requests.
        of: those that a wait has to do with.
        which: what they are called.
    """
    found: dict[str, tuple[set[int], list[int]]] = {}
    for rank in ranks:
        for held in dict.fromkeys(each for wait in waits(rank) for each in of(wait)):
            where, counts = found.setdefault(_handler(held.handler, held.place), (set(), []))
            where.add(held.at)
            counts.append(held.count)
    return [
        f"{named(sorted(where))} {'have' if len(where) > 1 else 'has'} not handled {sum(counts)} of {which}, for {name}"
        for name, (where, counts) in list(found.items())[:_KINDS]
    ]
