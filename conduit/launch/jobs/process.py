"""A job in real time whose ranks are processes, as one of them runs it."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

import attrs

from conduit.contract import JobSetup, Processes
from conduit.errors import BadRequest, ConduitError
from conduit.launch import reports
from conduit.launch.errors.exits import exit_status
from conduit.launch.errors.failing import failure_of
from conduit.launch.errors.raised import Told, told_of
from conduit.launch.errors.watches import WATCHES, after_error, ended_by
from conduit.launch.interrupts import INTERRUPTED, ending_at_once, hear_no_more
from conduit.launch.jobs.in_tasks import TaskJob
from conduit.launch.jobs.messages import MessageRank
from conduit.launch.life import Main
from conduit.launch.printing import output, terminal
from conduit.launch.processes import coming, stall
from conduit.launch.processes.watch import Watch
from conduit.launch.registry import Spec
from conduit.launch.result import Result
from conduit.wall import WallClock, WallConduit, run_tasks

if TYPE_CHECKING:
    from conduit.launch.processes.crossing import ProcessRecording


class ProcessJob:
    """One run of a program, in the process of one of its ranks; every process makes it.

    Args:
        main: the program.
        args: its arguments; main gets a deep copy.
        spec: the network.
        setup: ranks, hosts, segment and seed.
        time_limit: None; real time has no limit of its own.
        stall_limit: seconds without a message in any rank after which the job ends with TimeLimit, None for no limit.
        observers: recordings, to which is told what all ranks have done once that is joined.
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
        self._spec = spec
        self._limit = stall_limit
        self._observers = observers
        self._processes = spec.cls.join(spec.options)
        self._watch = _watch(self._processes)
        number = self._processes.rank
        with coming.awaited():  # who has joined already, for an earlier job, waits here first
            self._recording = _recording(spec, setup, self._processes, observers) if observers else None
            self._clock = WallClock(crowded=_crowded(self._processes))
        self._clock.on_interrupt = self._interrupted
        self._clock.expulsion.describe = reports.describe
        network = spec.cls(spec.options, setup, self._clock)
        assert isinstance(network, WallConduit)
        self._network = network
        hooks = None if self._recording is None else self._recording.hooks()
        self._rank = MessageRank(spec, setup, network, number, hooks=hooks)
        run = partial(run_tasks, self._clock, first=number)
        self._speech = output.speak(number)
        # Of several ranks the same ones are told once by who reads their frames.
        self._job = TaskJob(
            main, args, [self._rank], self._clock, run, number,
            warnings=not self._speech.framed, elsewhere=self._processes.size - 1,
        )  # fmt: skip

    @staticmethod
    def around() -> AbstractContextManager[object]:
        """Return the context in which a job is made, run and let go."""
        return nullcontext()

    @staticmethod
    def hosts(spec: Spec, ranks: int | None, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank: where the processes are.

        Raises:
            BadRequest: there are no processes, or they are not those that were asked for.
            ConduitError: a job was ended before its time, which ends all processes.
        """
        announced = spec.cls.announced(spec.options)
        if announced is None:
            raise BadRequest(
                f"run: the ranks of conduit={spec.text!r} are processes, and this is only one; start the program with "
                f"`conduit run PROGRAM.py --conduit {spec.text} --ranks N`, which takes its main, or start this script "
                "with `mpiexec -n N python -m mpi4py SCRIPT.py`"
            )
        if (ended := ended_by()) is not None:
            raise ConduitError(
                f"run: a job before this one was ended by rank {ended}, which ends all processes; end the program too"
            )
        coming.come()
        alone = nullcontext() if output.is_framed() else ending_at_once()  # else who has started it ends it
        with coming.awaited(apart=spec.cls.join_stops_threads(spec.options)), alone:
            processes = spec.cls.join(spec.options)
        output.speak(processes.rank)
        if ranks is not None and ranks != processes.size:
            raise BadRequest(
                f"run: {ranks} ranks are asked for, but {processes.size} processes were started, and each is a rank; "
                "leave the number out, or start as many"
            )
        found = processes.hosts
        each = [found.count(host) for host in dict.fromkeys(found)]
        if ranks_per_host is not None and ranks_per_host != max(each):
            raise BadRequest(
                f"run: ranks_per_host={ranks_per_host}, but the processes are where their launcher has put them: "
                f"{', '.join(map(str, each))} on each host; leave it out, and tell the launcher"
            )
        return found

    def run(self) -> Result:
        """Run the job to its end; its result, the same in every process, has no digest.

        Raises:
            BaseException: what ended it, if that was this rank's; SystemExit where it was another's.
        """
        watch = self._watch
        watch.begin(self, self._limit)
        try:
            value = self._job.run()[0]
            ticks = self._clock.now
        except BaseException as error:
            ticks = self._clock.now
            watch.failed(_status(error), self._told(error), interrupted=isinstance(error, KeyboardInterrupt))
            if not isinstance(error, KeyboardInterrupt):
                self._speech.warnings(self._rank.warnings())
            self._recorded(ticks, failed=True, error=error)
            if isinstance(error, KeyboardInterrupt):
                self._tell_interrupt(error)
            raise
        if watch.end is not None:
            if watch.end.status == INTERRUPTED:
                hear_no_more()
            else:
                self._speech.warnings(self._rank.warnings())
            self._recorded(ticks, failed=True)
            if text := watch.where():  # Ctrl-C has reached others alone
                terminal.tell(text)
            watch.left()
            raise SystemExit(watch.end.status)
        try:
            shares = self._gather(value, ticks / 1e12)
        except ConduitError as error:
            watch.of_all(told_of(error))
            raise
        self._recorded(ticks, failed=False)
        watch.finish()
        return Result(
            values=[share["value"] for share in shares],
            seconds=max(share["seconds"] for share in shares),
            ranks=len(shares),
            conduit=self._spec.text,
            digest=None,
            statistics=[share["statistics"] for share in shares],
            warnings=[share["warnings"] for share in shares],
        )

    def stop(self) -> None:
        """End the job from another thread; harmless before and after."""
        self._job.stop()

    def watched(self) -> None:
        """Return nothing: in real time a rank may compute for long."""

    # -- for the watch, in its thread ------------------------------------------------------------

    def now(self) -> int:
        """Return picoseconds since its start."""
        return self._clock.now

    def progress(self) -> int:
        """Return a number that grows with every message."""
        return self._rank.moved()

    def ask_state(self, answer: Callable[[stall.RankState], object]) -> None:
        """Have `answer` called with what this rank waits for."""
        self._job.call(lambda: answer(stall.state_of(self._processes.rank, self._job.lives[0])))

    def fail(self, take: Callable[[], BaseException | None]) -> None:
        """End the job because of an error that is no rank's, unless it has been ended by then."""

        def end() -> None:
            if (error := take()) is not None:
                self._clock.fail(error)

        self._job.call(end)

    def _recorded(self, ticks: int, *, failed: bool, error: BaseException | None = None) -> None:
        """Hand over what was recorded of this rank, if anything was; of a job that has ended well, together."""
        if self._recording is not None:
            if error is not None:
                self._recording.failed_with(failure_of(error))
            speech = self._speech
            self._recording.ended(self._network.ports[0], self._clock.zero, ticks, speech, failed=failed)

    # -- the result ------------------------------------------------------------------------------

    def _gather(self, value: Any, seconds: float) -> list[dict[str, Any]]:
        """Give this rank's share of the result to all, and return theirs.

        Raises:
            ConduitError: the value of a rank cannot cross; in all processes.
        """
        share: dict[str, Any] = {
            "seconds": seconds,
            "statistics": dict(self._rank.statistics()),
            "warnings": list(self._rank.warnings()),
        }
        pickled, share["problem"] = _pickled(value)
        given = self._processes.gather(pickle.dumps((share, pickled)))
        shares = []
        for rank, data in enumerate(given):
            found, its = pickle.loads(data)
            if not found["problem"]:
                found["value"], found["problem"] = _unpickled(its)
            if found["problem"]:
                raise ConduitError(
                    f"run: the value of rank {rank} cannot be given to the other processes: {found['problem']}; return "
                    "what pickle can carry, or None"
                )
            shares.append(found)
        return shares

    def _interrupted(self, error: BaseException) -> None:
        """Note where this rank was, for who has pressed Ctrl-C because nothing seemed to happen."""
        hear_no_more()
        state = stall.state_of(self._processes.rank, self._job.lives[0], error)
        state = attrs.evolve(state, told=self._watch.told())
        if not self._speech.state(pickle.dumps(state)):
            self._watch.interrupted(state)

    def _told(self, error: BaseException) -> Told | None:
        """Return what is said of an error that this rank will show itself, unless another one shows the same."""
        silent = isinstance(error, SystemExit) and not getattr(error, "__notes__", ())
        unshown = silent or isinstance(error, KeyboardInterrupt) or self._speech.framed
        return None if unshown else told_of(error)

    def _tell_interrupt(self, error: KeyboardInterrupt) -> None:
        """Let rank 0 alone tell where all ranks were, where a launcher of another kind has started them.

        Raises:
            SystemExit: this is another rank.
        """
        if self._speech.framed:
            return
        if self._processes.rank:
            raise SystemExit(INTERRUPTED) from None
        if text := self._watch.where():
            error.add_note(text)


def _recording(spec: Spec, setup: JobSetup, processes: Processes, observers: Sequence[object]) -> ProcessRecording:
    """Return what records this rank for them."""
    # With all that recordings are made of, which most jobs lack.
    from conduit.launch.processes.crossing import ProcessRecording

    return ProcessRecording(spec, setup, processes, observers)


def _pickled(value: Any) -> tuple[bytes, str]:
    """Return a value's bytes, or why there are none."""
    try:
        return pickle.dumps(value), ""
    except Exception as error:  # whatever its own code raises
        return b"", f"{type(error).__name__}: {error}"


def _unpickled(data: bytes) -> tuple[Any, str]:
    """Return the value that bytes stand for, or why there is none."""
    try:
        return pickle.loads(data), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _status(error: BaseException) -> int:
    """Return the exit status that an error stands for; one may say so itself, as `exit_status`."""
    if isinstance(error, SystemExit):
        return exit_status(error)
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    status: int = getattr(error, "exit_status", 1)
    return status


def _crowded(processes: Processes) -> bool:
    """Return whether the ranks of this host are more than the processors that they may use together.

    Launchers bind every rank to processors of its own, so that one rank's say nothing.  Collective.
    """
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    hosts = processes.hosts
    here = [
        pickle.loads(data)
        for host, data in zip(hosts, processes.gather(pickle.dumps(set(usable))), strict=True)
        if host == hosts[processes.rank]
    ]
    return len(here) > len(set().union(*here))


def _watch(processes: Processes) -> Watch:
    """Return the watch of this process."""
    for watch in WATCHES:
        if isinstance(watch, Watch):
            return watch
    speech = output.speak(processes.rank)
    made = Watch(processes, speech)
    WATCHES.append(made)
    if not speech.framed:
        _EXCEPT_HOOKS.append(sys.excepthook)
        sys.excepthook = _show_once
    return made


def _show_once(kind: type[BaseException], error: BaseException, step: TracebackType | None) -> None:
    """Show an error that a script has not caught, unless another process shows the same."""
    after = after_error(told_of(error))
    if after is not None:
        _EXCEPT_HOOKS[-1](kind, error, step)
        sys.stderr.write(after)


_EXCEPT_HOOKS: list[Callable[[type[BaseException], BaseException, TracebackType | None], object]] = []
"""What showed such an error before."""
