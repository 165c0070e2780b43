"""What only all ranks together know of a wait: who has not come to it, and which requests hold what it waits for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from conduit.contract import Awaited, Participation
from conduit.launch.reports.records import HeldRecord, RankRecord, WaitRecord


def complete(ranks: Sequence[RankRecord]) -> tuple[RankRecord, ...]:
    """Return the ranks, their waits with what the records of the others tell of them."""
    missing, held = _Missing(ranks), _Held(ranks)
    return tuple(_evolve(_evolve(rank, rank.parts, missing), True, held) for rank in ranks)


def _evolve(rank: RankRecord, any_of_it: object, told: Callable[[RankRecord, WaitRecord], WaitRecord]) -> RankRecord:
    """Return a rank with its waits as `told` has them."""
    if not any_of_it:
        return rank
    tasks = [task if task.wait is None else attrs.evolve(task, wait=told(rank, task.wait)) for task in rank.tasks]
    return attrs.evolve(rank, tasks=tuple(tasks))


class _Missing:
    """Names those that have not come to what ranks do together.  Each says how often it has come itself."""

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._come: dict[str, dict[int, int]] = {}
        for rank in ranks:
            for part in rank.parts:
                self._come.setdefault(part.name, {})[rank.rank] = part.come
        self._found: dict[tuple[str, int], tuple[int, ...]] = {}

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        for part in rank.parts:
            turn = part.waits.get(wait.what)
            if turn is not None:
                absent = self._absent(part, turn)
                return attrs.evolve(wait, missing=absent, everybody=part.everybody and bool(absent))
        return wait

    def _absent(self, part: Participation, turn: int) -> tuple[int, ...]:
        key = part.name, turn
        if key not in self._found:
            counts = self._come[part.name]
            self._found[key] = tuple(sorted(member for member in part.members if counts.get(member, 0) <= turn))
        return self._found[key]


class _Held:
    """Names the requests that hold what a rank needs for another one: its own that were not handled where they are."""

    def __init__(self, ranks: Sequence[RankRecord]) -> None:
        self._of: dict[int, list[HeldRecord]] = {}
        for rank in ranks:
            for each in rank.unhandled:
                if each.request:
                    record = HeldRecord(rank.rank, each.handler, each.place, each.count)
                    self._of.setdefault(each.source, []).append(record)

    def __call__(self, rank: RankRecord, wait: WaitRecord) -> WaitRecord:
        if wait.kind != Awaited.SLOT.value or rank.rank not in self._of:
            return wait
        return attrs.evolve(wait, held=tuple(each for each in self._of[rank.rank] if each.at in wait.ranks))
