"""The mains of a simulated job, as who looks whether they hang finds them from another thread."""

from __future__ import annotations

from collections.abc import Sequence

from conduit.launch.hanging.looks import RankMain, below
from conduit.launch.jobs.in_tasks import TaskJob
from conduit.launch.jobs.messages import MessageRank
from conduit.launch.life import LIFE, Life, Stage


class JobMains:
    """What `hanging` asks of a job; it costs the job nothing, for all of it is looked up when that asks.

    Args:
        job: which.
        ranks: its ranks.
    """

    def __init__(self, job: TaskJob, ranks: Sequence[MessageRank]) -> None:
        self._job = job
        self._ranks = ranks
        self._all: list[RankMain] = []

    @property
    def mains(self) -> list[RankMain]:
        """Those of the ranks that have begun."""
        if not self._all:
            found = self._begun()
            if len(found) < len(self._ranks):
                return found
            self._all = found
        return self._all

    @property
    def returned(self) -> int:
        """How many of these have returned."""
        return sum(life.stage is Stage.RETURNED for life in self._job.lives)

    def _begun(self) -> list[RankMain]:
        own: dict[Life, RankMain] = {}
        ranks = dict(zip(self._job.lives, self._ranks, strict=True))
        for task in () if self._job.root is None else below(self._job.root):
            life = task.context.get(LIFE)
            if life in ranks and life not in own and life.stage in (Stage.RUNNING, Stage.RETURNED):
                # Its own task: those that it has started come later.
                own[life] = RankMain(ranks[life].endpoint, task, self._job.world)
        return [own[life] for life in ranks if life in own]
