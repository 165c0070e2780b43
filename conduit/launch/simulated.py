"""A job in virtual time: all ranks in this process, as Trio tasks whose clock is the kernel."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import trio

from conduit.contract import JobSetup, Port
from conduit.core import arguments
from conduit.core.calls import called, explain_attribute
from conduit.core.checked_call import CURRENT
from conduit.core.digest import ActLog, job_digest
from conduit.core.endpoint import Endpoint
from conduit.core.observer import doors_to
from conduit.core.rank import make_endpoint
from conduit.errors import Deadlock, Livelock, TimeLimit
from conduit.launch import report
from conduit.launch.registry import Spec
from conduit.launch.report import Stage
from conduit.launch.result import Result
from conduit.sim import Kernel, run_tasks
from conduit.sim.observed import listen
from conduit.sim.trace import Listener, TracingKernel, nobody
from conduit.sim.units import ps
from conduit.sim.waiter import OWNER

Main = Callable[..., Awaitable[Any]]
_LEAVES = 8  # errors of a group that a note names


class SimulatedJob:
    """One run of a program on one simulated conduit.

    Args:
        main: the program.
        args: its arguments; every rank gets its own deep copy.
        spec: the conduit.
        setup: ranks, hosts, segment and seed.
        time_limit: virtual seconds after which the job ends with TimeLimit, None for no limit.
        listener: is told of every event of the simulation; None costs nothing.
        observers: listen to what the ranks and the hardware do (`conduit.core.observer`).
        tickets: the order of events at one instant (`conduit.sim.Kernel`).

    In Python's development mode (`python -X dev`) the kernel refuses times that cannot be, for who writes a conduit.
    """

    def __init__(
        self,
        main: Main,
        args: tuple[Any, ...],
        spec: Spec,
        setup: JobSetup,
        time_limit: float | None = None,
        listener: Listener | None = None,
        observers: Sequence[object] = (),
        tickets: Iterator[int] | None = None,
    ) -> None:
        inline = bool(getattr(spec.options, "inline", True))
        if listener is None and not sys.flags.dev_mode:
            self.kernel = Kernel(setup.seed, inline=inline, tickets=tickets)
        else:
            told = nobody if listener is None else listener
            self.kernel = TracingKernel(setup.seed, inline=inline, tickets=tickets, listener=told)
        self._doors = doors_to(observers)
        if self._doors is not None and self._doors.carried is not None:
            listen(self.kernel, self._doors.carried)
        self.kernel.on_stall = self._stalled
        self.kernel.on_interrupt = self._interrupted
        self.kernel.end.describe = report.describe
        self._main = main
        self._args = args
        self._copy: tuple[Any, ...] | None = None
        self._spec = spec
        self._setup = setup
        self._network: Any = spec.cls(spec.options, setup, self.kernel)
        self._logs = [ActLog() for _ in range(setup.ranks)]
        self._endpoints = [self._make_endpoint(rank) for rank in range(setup.ranks)]
        self._ports: list[Port] = [endpoint._port for endpoint in self._endpoints]
        self._values: list[Any] = [None] * setup.ranks
        self._stages = [Stage.BEFORE] * setup.ranks
        self._still_running = setup.ranks
        self._over = False
        self._token: trio.lowlevel.TrioToken | None = None
        self._stopped = False
        if time_limit is not None:
            self.kernel.background(ps(time_limit), self._time_is_up)

    def run(self) -> Result:
        """Run the job to its end.

        Raises:
            BaseException: what ended it, as `conduit.run` says.
        """
        self._copy = arguments.copies(self._args)  # what cannot be copied is refused before anything runs
        bodies = [self._body(rank) for rank in range(self._setup.ranks)]
        try:
            run_tasks(self.kernel, bodies)
            self._raise_error()
        finally:
            for endpoint in self._endpoints:
                endpoint._end_job()
        return Result(
            values=self._values,
            seconds=max(port.ticks() for port in self._ports) / 1e12,
            ranks=self._setup.ranks,
            conduit=self._spec.text,
            digest=None if self.kernel.untimed else job_digest(self._logs),
            statistics=[{**endpoint.counts.as_dict(), **endpoint._port.statistics()} for endpoint in self._endpoints],
            warnings=[endpoint.warnings for endpoint in self._endpoints],
        )

    def _make_endpoint(self, rank: int) -> Endpoint:
        setup = self._setup
        limits = self._spec.cls.limits(self._spec.options)
        endpoint = make_endpoint(
            rank, setup.hosts, limits, setup.segment, setup.seed,
            simulated=True, acts=self._logs[rank], doors=self._doors,
        )  # fmt: skip
        endpoint._connect(self._network.port(rank, endpoint._dispatch))
        return endpoint

    def stop(self) -> None:
        """End the job from another thread; harmless before and after."""
        self._stopped = True
        token = self._token
        if token is not None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(self.kernel.stop)

    # -- one rank ------------------------------------------------------------------------------

    def _body(self, rank: int) -> Callable[[], Awaitable[None]]:
        async def body() -> None:
            endpoint, port = self._endpoints[rank], self._ports[rank]
            OWNER.set(self._network.owner(rank))
            CURRENT.set(endpoint)
            if rank == 0:
                self._token = trio.lowlevel.current_trio_token()
                if self._stopped:
                    self.kernel.stop()
            task = trio.lowlevel.current_task()
            self._network.bind(rank, task.context, task)
            try:
                self._stages[rank] = Stage.STARTING
                await port.start()
                self._stages[rank] = Stage.RUNNING
                self._values[rank] = await called("run: main", self._main, endpoint, *self._own_arguments())
                await endpoint._run_exits()
            except SystemExit as error:
                port.fail(error)
                return
            except BaseExceptionGroup as group:
                leaving = _exit_in(group)
                if leaving is None:
                    raise
                port.fail(leaving)
                if isinstance(leaving, KeyboardInterrupt) and (rest := group.split(KeyboardInterrupt)[1]) is not None:
                    port.fail(rest)
                return
            if endpoint.forgotten:
                raise endpoint.forgotten[0]
            self._stages[rank] = Stage.RETURNED
            self._still_running -= 1
            await port.block_until(self._is_over, "the other ranks to return", ())

        return body

    def _own_arguments(self) -> tuple[Any, ...]:
        """Return a copy of the arguments for a rank alone: the first one that was made, then others."""
        own, self._copy = self._copy, None
        return arguments.copies(self._args) if own is None else own

    def _is_over(self) -> bool:
        """Return whether all have returned and all messages have been handled (E1)."""
        if not self._over and not self._still_running and self._network.quiet():
            self._over = True
            self._network.recheck()
        return self._over

    # -- the end -------------------------------------------------------------------------------

    def _stalled(self, kind: str, cause: str | trio.lowlevel.Task) -> BaseException:
        """Return the error for a job that gets no further (D1)."""
        for endpoint in self._endpoints:
            if endpoint.forgotten:
                return endpoint.forgotten[0]
        error = {"deadlock": Deadlock, "livelock": Livelock, "time limit": TimeLimit}[kind]
        return error(report.write(kind, cause, self.kernel.now, self._ports, self._stages))

    def _interrupted(self, error: BaseException) -> None:
        """Note where all ranks were, for who has pressed Ctrl-C because nothing seemed to happen."""
        error.add_note(report.write("interrupted", "", self.kernel.now, self._ports, self._stages, error))

    def _time_is_up(self) -> None:
        if not self.kernel.ending:
            self.kernel.fail(self._stalled("time limit", ""))

    def _raise_error(self) -> None:
        kernel = self.kernel
        forgotten = [error for endpoint in self._endpoints for error in endpoint.forgotten]
        if not kernel.end.errors:
            if forgotten:
                raise forgotten[0]
            return
        interrupts = [entry for entry in kernel.end.errors if isinstance(entry[2], KeyboardInterrupt)]
        time, rank, error = (interrupts or sorted(kernel.end.errors, key=lambda entry: entry[:2]))[0]
        if rank >= 0 and not isinstance(error, (SystemExit, KeyboardInterrupt)):
            error.add_note(f"raised by rank {rank} at {time / 1e12:.9f} s")
        if cause := explain_attribute(error):
            error.add_note(cause)
        for _, other, too in sorted(kernel.end.errors, key=lambda entry: entry[:2]):
            if too is not error:
                error.add_note(f"{_who(other)} raised {type(too).__name__} too: {_text(too)}")
        for _, other, late in kernel.end.late_errors:
            error.add_note(f"while the job ended, {_who(other)} raised {type(late).__name__}: {_text(late)}")
        for line in kernel.end.abandoned:
            error.add_note(f"while the job ended, {line}")
        for endpoint in self._endpoints:  # there is no result that has them
            for text in endpoint.warnings:
                error.add_note(f"warning of rank {endpoint.rank}: {text}")
        raise error


def _who(rank: int) -> str:
    """Return whose an error is; events of hardware that ranks share are no rank's."""
    return f"rank {rank}" if rank >= 0 else "an event of no rank"


def _exit_in(group: BaseExceptionGroup[BaseException]) -> BaseException | None:
    """Return the interrupt that a group holds (E8), or the exit, in a group of nothing else (E2)."""
    exits, rest = group.split(SystemExit)
    error: BaseException | None = group.subgroup(KeyboardInterrupt) or (exits if rest is None else None)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _text(error: BaseException) -> str:
    """Return what an error says, and what it is that a group of them holds."""
    if not isinstance(error, BaseExceptionGroup):
        return str(error)
    leaves = []
    parts: list[BaseException] = [error]
    while parts:
        part = parts.pop(0)
        if isinstance(part, BaseExceptionGroup):
            parts[:0] = part.exceptions
        else:
            leaves.append(f"{type(part).__name__}: {part}")
    more = len(leaves) - _LEAVES
    return "; ".join(leaves[:_LEAVES] + [f"and {more} more"] * (more > 0))
