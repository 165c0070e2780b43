"""Who holds what others want, and waits for just these: only all ranks together know."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.contract import Awaited
from conduit.core import written
from conduit.launch.printing.phrases import named
from conduit.launch.reports.records import RankRecord, TaskRecord

_MOST = 4  # lines


def held_back(ranks: Sequence[RankRecord]) -> list[str]:
    """Return what is to be let go of, a line for each task that holds something and waits for those who want it.

    Args:
        ranks: complete, of a job in which nothing is on its way.
    """
    wanting: dict[str, list[int]] = {}
    for rank in ranks:
        for want in rank.wants:
            wanting.setdefault(want.what, []).append(rank.rank)
    lines = [
        _line(rank, task, hold.what, hold.place, wanting[hold.what])
        for rank in ranks
        for task in rank.tasks
        for hold in task.holds
        if hold.what in wanting
    ]
    return [line for line in lines if line][:_MOST]


def _line(rank: RankRecord, task: TaskRecord, what: str, place: str, wanting: Sequence[int]) -> str:
    """Return what to do about what a task holds, "" where its wait is not for those who want that."""
    wait = task.wait
    if wait is None or task.place is None:
        return ""
    begin, here = f"rank {rank.rank} holds {what} since {place}", written.at(task.place.file, task.place.line)
    if kept := sorted(set(wanting).intersection(wait.missing)):
        need = "need" if len(kept) > 1 else "needs"
        return (
            f"{begin} and waits in {wait.what} at {here} for {named(kept)}, which {need} it first: release it before "
            "that call"
        )
    # One that wants something itself is told of the order in which locks are taken.
    if wait.kind == Awaited.PREDICATE.value and not rank.wants and (kept := sorted(set(wanting) & set(wait.ranks))):
        need = "need" if len(kept) > 1 else "needs"
        return f"{begin} and waits at {here} for {named(kept)}, which {need} it first: release it before that wait"
    if wait.kind == Awaited.PREDICATE.value and not wait.awaited:
        need, whose = ("need", "they do") if len(wanting) > 1 else ("needs", "that one does")
        held = f"{begin} and waits at {here}, while {named(wanting)} {need} it"
        return f"{held}: release it before a wait for what {whose}"
    return ""
