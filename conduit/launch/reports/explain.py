"""Makes a report of the records of all ranks, which may come from this process or from others."""

from __future__ import annotations

from collections.abc import Sequence, Set

import attrs

from conduit.launch.printing.phrases import span, wall
from conduit.launch.reports import graph, together
from conduit.launch.reports.records import RankRecord, Report, TaskRecord

AT_REST = ("deadlock", "stall")
"""Kinds of which it is known that nothing is on its way."""
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
    whole = together.complete(_without_answers(ranks, kind))
    between = graph.edges(whole)
    at = wall([now]) if clock == "wall" else span([now])
    head = f"{kind} at {at}: {_HEADS[kind]}" + (f" ({detail})" if detail else "")
    return Report(kind, now, head, whole, between, graph.causes(whole, between), clock)


def _without_answers(ranks: Sequence[RankRecord], kind: str) -> list[RankRecord]:
    """Return ranks with those that wait for an answer which does not come as no such that ask again and again.

    At rest there are no answers, and none comes from a rank that does not poll.
    """
    silent = {rank.rank for rank in ranks if rank.running and not rank.may_poll}
    return [
        attrs.evolve(rank, tasks=tuple(_asking(task, silent, kind in AT_REST) for task in rank.tasks))
        if any(task.again for task in rank.tasks)
        else rank
        for rank in ranks
    ]


def _asking(task: TaskRecord, silent: Set[int], at_rest: bool) -> TaskRecord:
    unanswered = at_rest or (task.wait is not None and not silent.isdisjoint(task.wait.ranks))
    return attrs.evolve(task, again="") if unanswered else task
