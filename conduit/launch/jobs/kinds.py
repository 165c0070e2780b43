"""The kinds of job: which one runs programs on a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from conduit.contract import JobSetup, RankKind
from conduit.errors import BadRequest
from conduit.launch.hanging.looks import WatchedMains
from conduit.launch.life import Main
from conduit.launch.registry import Spec
from conduit.launch.result import Result


class Job(Protocol):
    """One run of a program on one network."""

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
    ) -> None: ...

    @staticmethod
    def around() -> AbstractContextManager[object]:
        """Return the context in which a job is made, run and let go."""
        ...

    @staticmethod
    def hosts(spec: Spec, ranks: int | None, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank, as they were asked for.

        Raises:
            BadRequest: such ranks cannot be had.
        """
        ...

    def run(self) -> Result:
        """Run the job to its end."""
        ...

    def stop(self) -> None:
        """End the job from another thread; harmless before and after."""

    def watched(self) -> WatchedMains | None:
        """Return what is known of its mains, None where time is real."""
        ...


def _in_virtual_time() -> type[Job]:
    from conduit.launch.jobs.simulated import SimulatedJob

    return SimulatedJob


def _in_real_time() -> type[Job]:
    from conduit.launch.jobs.real import RealJob

    return RealJob


def _in_processes() -> type[Job]:
    from conduit.launch.jobs.process import ProcessJob

    return ProcessJob


# Each is imported when a job is of its kind: the simulation, or real time and its watch, which the others do not need.
_KINDS: dict[tuple[bool, RankKind], Callable[[], type[Job]]] = {
    (True, RankKind.TASK): _in_virtual_time,
    (False, RankKind.TASK): _in_real_time,
    (False, RankKind.PROCESS): _in_processes,
}
"""By whether time is virtual, and what the ranks are."""


def kind_of_job(spec: Spec) -> type[Job]:
    """Return what runs programs on the network of `spec`.

    Raises:
        BadRequest: jobs of that kind cannot be started.
    """
    kind = _KINDS.get((spec.simulated, spec.rank_kind))
    if kind is None:
        time = "virtual" if spec.simulated else "real"
        known = "; ".join(f"{'virtual' if each else 'real'} time, each rank {rank.value}" for each, rank in _KINDS)
        raise BadRequest(
            f"run: conduit={spec.text!r} runs in {time} time with each rank {spec.rank_kind.value}, which cannot be "
            f"started yet; what can: {known}"
        )
    return kind()
