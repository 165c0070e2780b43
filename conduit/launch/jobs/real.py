"""A job in real time whose ranks are tasks of this process."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from conduit.contract import JobSetup
from conduit.launch import reports
from conduit.launch.hanging.loops import advice_on_interrupt
from conduit.launch.jobs.in_tasks import TaskJob, placed
from conduit.launch.jobs.messages import MessageRank
from conduit.launch.life import Main
from conduit.launch.observing import refuse_observers
from conduit.launch.registry import Spec
from conduit.launch.result import Result
from conduit.wall import WallClock, run_tasks


class RealJob:
    """One run of a program on one network in real time.

    Args:
        main: the program.
        args: its arguments; every rank gets its own deep copy.
        spec: the network.
        setup: ranks, hosts, segment and seed.
        time_limit: None; real time has no limit of its own.
        stall_limit: None; what stands still here is seen by who has started it.
        observers: none; such a job tells nothing of what it does.
    """

    def __init__(
        self,
        main: Main,
        args: tuple[Any, ...],
        spec: Spec,
        setup: JobSetup,
        time_limit: float | None = None,
        stall_limit: float | None = None,
        *,
        observers: Sequence[object] = (),
    ) -> None:
        assert time_limit is None
        refuse_observers(spec, observers)
        assert stall_limit is None
        self._clock = WallClock()
        self._clock.on_interrupt = self._interrupted
        self._clock.expulsion.describe = reports.describe
        self._spec = spec
        network = spec.cls(spec.options, setup, self._clock)
        self._ranks = [MessageRank(spec, setup, network, rank) for rank in range(setup.ranks)]
        self._job = TaskJob(main, args, self._ranks, self._clock, partial(run_tasks, self._clock))

    @staticmethod
    def around() -> AbstractContextManager[object]:
        """Return the context in which a job is made, run and let go."""
        return nullcontext()

    @staticmethod
    def hosts(spec: Spec, ranks: int | None, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank, as the network places them."""
        return placed(spec, ranks, ranks_per_host)

    def run(self) -> Result:
        """Run the job to its end; its result has no digest.

        Raises:
            BaseException: what ended it, as `conduit.run` says.
        """
        values = self._job.run()
        return Result(
            values=values,
            seconds=self._clock.now / 1e12,
            ranks=len(self._ranks),
            conduit=self._spec.text,
            digest=None,
            statistics=[rank.statistics() for rank in self._ranks],
            warnings=[rank.warnings() for rank in self._ranks],
        )

    def stop(self) -> None:
        """End the job from another thread; harmless before and after."""
        self._job.stop()

    def watched(self) -> None:
        """Return nothing: in real time a rank may compute for long."""

    def _interrupted(self, error: BaseException) -> None:
        """Note where all ranks were, for who has pressed Ctrl-C because nothing seemed to happen."""
        reports.note_interrupt(error, self._clock.now, self._job.lives, advice=advice_on_interrupt(error))
