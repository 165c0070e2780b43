"""What this layer tells of its rank when a report is made of a job that gets no further."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from conduit.words import many

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SHOWN = 6  # ranks, or ranges of ranks, that are shown of many


RANK = "rank"
"""What this layer calls a rank in errors; front ends may call it otherwise, by `Extended.call_ranks`."""


class ReportSink(Protocol):
    """What `conduit.Endpoint.on_report` calls the layer with."""

    def note(self, text: str) -> None:
        """Add a line about this rank."""

    def advise(self, text: str) -> None:
        """Say what to do about that."""

    def holds(self, task: object, what: str, place: str) -> None:
        """Say what a task of Trio holds, and the line that took it."""

    def wants(self, what: str, wait: str = "", held: str = "") -> None:
        """Say that this rank waits for something that another holds, in which wait, and what that is for then."""

    def says_once(self, what: str, short: str) -> None:
        """Let the report call something `what` where it comes first, and `short` behind that."""

    def clue(self, clue: Any) -> None:
        """Add what means something beside what other ranks tell."""

    def waits_now(self, task: object, text: str) -> None:
        """Say what a task of Trio waits for as it stands now."""

    def part(
        self,
        name: str,
        members: Iterable[int],
        come: int,
        waits: Mapping[str, int],
        *,
        everybody: bool = False,
        called: str = "",
        last: str = "",
    ) -> None:
        """Say how often this rank has come to what `members` do together."""


def team_name(members: Sequence[int]) -> str:
    """Return what a team is called in reports: " of the team of ranks 0-3", and "" for the team of all.

    Args:
        members: its ranks in the job, in its own order.
    """
    if isinstance(members, range):
        return ""
    if len(members) == 1:
        return f" of the team of rank {members[0]} alone"
    parts = _parts(sorted(members))
    if len(parts) > _SHOWN:
        parts[_SHOWN - 1 : -1] = ["..."]
        return f" of the team of {many(len(members), 'rank')} ({', '.join(parts)})"
    return f" of the team of ranks {', '.join(parts)}"


def _parts(ranks: Sequence[int]) -> list[str]:
    parts = []
    start = 0
    for at, rank in enumerate(ranks):
        if at + 1 == len(ranks) or ranks[at + 1] != rank + 1:
            parts.append(str(rank) if at == start else f"{ranks[start]}-{rank}")
            start = at + 1
    return parts


def queue_text(ranks: Sequence[int]) -> str:
    """Return the ranks of a queue in its order, the middle of a long one left out."""
    shown = [str(rank) for rank in ranks]
    if len(shown) > _SHOWN:
        shown[_SHOWN - 1 : -1] = ["..."]
    if len(set(ranks)) < len(ranks):
        return f"{len(ranks)} tasks, of ranks {', '.join(shown)} in this order"
    return f"rank {shown[0]}" if len(ranks) == 1 else f"{len(ranks)} ranks, in this order {', '.join(shown)}"
