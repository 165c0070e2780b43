"""What pieces of advice are, and words that they have in common.

Nothing is said below a share of the time that is worth a change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import attrs

from conduit.seeing.report.observer import ReportRecording
from conduit.words import many

BUT_CONTACTS = " but for first contacts"
"""What is said of a share of the time without them."""
WORTH = 0.1
"""Of the time after the start, below which nothing is said."""
SMALL, MANY = 64, 32
"""Bytes of an element-wise access at most, and how many of them at least."""


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
class OfLine:
    """What one rank is to change in a line of the program."""

    place: str
    rank: int
    advice: Advice


def of_ranks_alike(made: Iterable[OfLine]) -> list[Advice]:
    """Return one piece of advice for each line and remedy: that of the rank which gains most, with how many others."""
    alike: dict[tuple[str, str], list[OfLine]] = defaultdict(list)
    for each in made:
        alike[each.place, each.advice.remedy].append(each)
    found = []
    for several in alike.values():
        most = max(several, key=lambda each: each.advice.share)
        others = len(several) - 1
        replaced = f"ank {like(most.rank, others)} "
        found.append(attrs.evolve(most.advice, what=most.advice.what.replace(f"ank {most.rank} ", replaced, 1)))
    return found


def like(rank: int, others: int) -> str:
    """Return a rank with how many others are as it: "7", "7, like 6 other ranks,"."""
    return f"{rank}, like {many(others, 'other rank')}," if others else f"{rank}"


def capitalised(text: str) -> str:
    """Return an order as the beginning of a sentence; `str.capitalize` changes the rest too."""
    return text[:1].upper() + text[1:]


def us(ticks: float) -> str:
    """Write picoseconds."""
    return f"{ticks / 1e6:,.1f} µs"


def about(ticks: float) -> str:
    """Write picoseconds that are known roughly, in two digits."""
    rounded = float(f"{ticks / 1e6:.1e}")
    return f"about {rounded:,.{0 if rounded >= 10 else 1}f} µs"


def part(share: float, but: str = "") -> str:
    """Write a share of the time after the start; of one rank, whose it is; `but`: less what."""
    return f"{100 * share:.0f} % of its time after the start{but}"


def whose(peers: Counter[int], what: str) -> tuple[str, str]:
    """Return whom accesses of a line go to, and of several ranks which has the most: ", 20 of them of rank 1"."""
    peer, count = peers.most_common(1)[0]
    if len(peers) == 1:
        return f"rank {peer}", ""
    return many(len(peers), "rank"), f", {count} of them {what} rank {peer}"


def in_calls(recording: ReportRecording, *levels: str) -> set[tuple[str, int]]:
    """Return the lines, each with its rank, that made calls of some levels."""
    return {(call.place, call.rank) for call in recording.calls if call.level in levels}
