"""Makes a report of the records of all ranks, which may come from this process or from others."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.launch.reports import graph, together
from conduit.launch.reports.records import RankRecord, Report
from conduit.launch.reports.words import span, wall

_HEADS = {
    "deadlock": "nothing can happen any more: no message is on its way and every rank waits",
    "livelock": "time does not pass any more",
    "time limit": "the job's time is over",
    "interrupted": "where the ranks were",
    "stall": "there has been no progress for some time",
}


def explain(kind: str, now: int, ranks: Sequence[RankRecord], detail: str = "", clock: str = "virtual") -> Report:
    """Return the report of a job.

    Args:
        kind: "deadlock", "livelock", "time limit", "interrupted" or "stall".
        now: the time of the job in picoseconds.
        ranks: all of them, by rank.
        detail: what else is known of the cause, "" for nothing.
        clock: whose times these are: "virtual" or "wall".
    """
    whole = together.complete(ranks)
    between = graph.edges(whole)
    at = wall([now]) if clock == "wall" else span([now])
    head = f"{kind} at {at}: {_HEADS[kind]}" + (f" ({detail})" if detail else "")
    return Report(kind, now, head, whole, between, graph.causes(whole, between), clock)
