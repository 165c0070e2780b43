"""A job in virtual time: all ranks in this process, as Trio tasks whose clock is the kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import trio

from conduit.contract import JobSetup
from conduit.core.digest import DigestLog, job_digest
from conduit.core.observer import hooks_to
from conduit.core.written import of_cells
from conduit.errors import Deadlock, Livelock, NetworkError, TimeLimit
from conduit.launch import reports
from conduit.launch.errors.at_end import first_forgotten
from conduit.launch.errors.failing import failure_of
from conduit.launch.hanging.loops import advice_on_interrupt
from conduit.launch.interrupts import AFTER_CTRL_C
from conduit.launch.jobs.in_tasks import TaskJob, placed
from conduit.launch.jobs.mains import JobMains
from conduit.launch.jobs.messages import MessageRank
from conduit.launch.jobs.never_ended import never_ended
from conduit.launch.jobs.of_network import note_of_network
from conduit.launch.life import Main
from conduit.launch.observing import tell_end
from conduit.launch.printing.phrases import time
from conduit.launch.registry import Spec
from conduit.launch.result import Result
from conduit.sim import Kernel, kernel, run_tasks
from conduit.sim.collector import PatientCollector
from conduit.sim.observed import listen
from conduit.sim.trace import Listener, TracingKernel, nobody
from conduit.sim.units import ps


class SimulatedJob:
    """One run of a program on one simulated conduit.

    Args:
        main: the program.
        args: its arguments; every rank gets its own deep copy.
        spec: the conduit.
        setup: ranks, hosts, segment and seed.
        time_limit: virtual seconds after which the job ends with TimeLimit, None for no limit.
        stall_limit: None; a deadlock in virtual time is proven at once.
        listener: is told of every event of the simulation; None costs nothing.
        observers: listen to what the ranks and the hardware do (`conduit.core.observer`).
        tickets: the order of events at one instant (`conduit.sim.Kernel`).
        kernel: of which class its time is, if of another than is right for `listener`.

    In Python's development mode (`python -X dev`) the kernel refuses times that cannot be, for who writes a conduit,
    unless it is of a class that was given.
    """

    def __init__(
        self,
        main: Main,
        args: tuple[Any, ...],
        spec: Spec,
        setup: JobSetup,
        time_limit: float | None = None,
        stall_limit: float | None = None,
        listener: Listener | None = None,
        observers: Sequence[object] = (),
        tickets: Iterator[int] | None = None,
        kernel: type[Kernel] = Kernel,
    ) -> None:
        make: Callable[..., Kernel] = kernel
        if listener is not None or (kernel is Kernel and sys.flags.dev_mode):
            make = partial(TracingKernel, listener=nobody if listener is None else listener)
        inline = bool(getattr(spec.options, "inline", True))
        self.kernel = make(setup.seed, inline=inline, tickets=tickets)
        self._observers = observers
        self._hooks = hooks_to(observers)
        if self._hooks is not None and self._hooks.carried is not None:
            listen(self.kernel, self._hooks.carried)
        self.kernel.tells_copies = self._hooks is not None and self._hooks.spent is not None
        self.kernel.on_stall = self._stalled
        self.kernel.on_interrupt = self._interrupted
        self.kernel.on_failure = self._failed
        self.kernel.end.describe = reports.describe
        self._spec = spec
        network = self._network = spec.cls(spec.options, setup, self.kernel)
        self._logs = [DigestLog() for _ in range(setup.ranks)]
        self._ranks = [
            MessageRank(spec, setup, network, rank, self._logs[rank], self._hooks) for rank in range(setup.ranks)
        ]
        self._job = TaskJob(main, args, self._ranks, self.kernel, partial(run_tasks, self.kernel))
        if time_limit is not None:
            self.kernel.background(ps(time_limit), self._time_is_up)

    @staticmethod
    def around() -> PatientCollector:
        """Return the context in which a job is made, run and let go."""
        return PatientCollector()

    @staticmethod
    def hosts(spec: Spec, ranks: int | None, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank, as the network places them."""
        return placed(spec, ranks, ranks_per_host)

    def run(self) -> Result:
        """Run the job to its end.

        Raises:
            BaseException: what ended it, as `conduit.run` says.
        """
        failed, failure = True, None
        try:
            values = self._job.run()
            failed = False
        except BaseException as error:
            note_of_network(error, self._spec.cls.name)
            failure = failure_of(error) if self._observers else None
            raise
        finally:
            ticks = [rank.ticks() for rank in self._ranks]
            tell_end(self._observers, ticks, failed=failed, failure=failure)
        return Result(
            values=values,
            seconds=max(ticks) / 1e12,
            ranks=len(self._ranks),
            conduit=self._spec.text,
            digest=None if self.kernel.untimed else job_digest(self._logs),
            statistics=[rank.statistics() for rank in self._ranks],
            warnings=[[of_cells(text) for text in rank.warnings()] for rank in self._ranks],
        )

    def stop(self) -> None:
        """End the job from another thread; harmless before and after."""
        self._job.stop()

    def watched(self) -> JobMains:
        """Return what is known of its mains."""
        return JobMains(self._job, self._ranks)

    def _stalled(self, kind: str, cause: str | trio.lowlevel.Task) -> BaseException:
        """Return the error for a job that gets no further (D1); a part of the network may fail that is asked why."""
        try:
            return self._explained(kind, cause)
        except Exception as error:
            at = f"{kind} at {time(self.kernel.now)}"
            error.add_note(f"raised while it was found out why the job gets no further: {at}")
            return error

    def _explained(self, kind: str, cause: str | trio.lowlevel.Task) -> BaseException:
        """Return that error with its report."""
        forgotten = first_forgotten(self._ranks)
        if forgotten is not None:
            return forgotten
        if kind == "deadlock" and (raised := self._raised_at_last()) is not None:
            return raised
        if kind == "deadlock" and self._job.caught_by is not None:  # what broke a rank off has ended the job (E8)
            interrupt = KeyboardInterrupt()
            interrupt.add_note(f"{AFTER_CTRL_C} rank {self._job.caught_by} caught")
            return interrupt
        error = {"deadlock": Deadlock, "livelock": Livelock, "time limit": TimeLimit}[kind]
        blamed = None if isinstance(cause, str) else cause
        detail = cause if isinstance(cause, str) else reports.describe(cause)
        if kind == "deadlock":
            detail = detail or never_ended(self._network, self._spec.cls.name, self._ranks)
        records = reports.gather(self._job.lives, blamed=blamed)
        if kind == "deadlock" and (raised := self._raised_at_last(look=False)) is not None:
            return raised
        report = reports.explain(kind, self.kernel.now, records, detail)
        return error(reports.brief(report), report)

    def _raised_at_last(self, *, look: bool = True) -> BaseException | None:
        """Look at what ranks wait for once more, before the verdict (D4); return what a predicate raises then (P3).

        Args:
            look: False where the report has done so.
        """
        for number, rank in enumerate(self._ranks):
            for wait in rank.waits():
                if (not look or wait.ready()) and (error := wait.error()) is not None:
                    error.add_note(
                        f"raised on rank {number}, by what it waits for, when nothing else could happen any more"
                    )
                    return error
        return None

    def _interrupted(self, error: BaseException) -> None:
        """Note where all ranks were, for who has pressed Ctrl-C because nothing seemed to happen."""
        reports.note_interrupt(error, self.kernel.now, self._job.lives, kernel.__file__, advice_on_interrupt(error))

    def _failed(self, error: BaseException, rank: int) -> None:
        """Note where a rank's program was as its network failed, which no line of it has done."""
        if isinstance(error, NetworkError) and rank >= 0:
            reports.note_failure(error, self._job.lives, rank)

    def _time_is_up(self) -> None:
        if not self.kernel.ending:
            self.kernel.fail(self._stalled("time limit", ""))
