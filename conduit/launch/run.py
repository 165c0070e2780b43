"""Runs a program on a conduit, from the check of the arguments to the result."""

from __future__ import annotations

import functools
import inspect
import os
import re
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import outcome
import trio

from conduit.contract import JobSetup, RankKind
from conduit.core import arguments
from conduit.core.calls import quiet_python
from conduit.core.checked_call import CURRENT
from conduit.core.endpoint import Endpoint
from conduit.core.handlers import describe
from conduit.errors import BadRequest, ConduitError, ConduitWarning
from conduit.launch.errors.complaints import complain_of_exit
from conduit.launch.errors.tracebacks import trim_tracebacks
from conduit.launch.errors.warned import warned
from conduit.launch.hanging.log import logged_in_script
from conduit.launch.hints.begun_inside import check_place, check_trio
from conduit.launch.jobs.kinds import Job, kind_of_job
from conduit.launch.keywords import named
from conduit.launch.life import Main
from conduit.launch.observing import observers_of
from conduit.launch.oversights import mpi4py_world, uncalled
from conduit.launch.oversights.seeds import shared_seeds
from conduit.launch.oversights.unawaited import told_in_script
from conduit.launch.printing import output
from conduit.launch.processes.of_spec import copies
from conduit.launch.program.folders import program_frame
from conduit.launch.registry import Spec, parse_spec
from conduit.launch.result import Result
from conduit.options import read_float
from conduit.words import is_a, many, not_async, to_be_given, to_be_named

if TYPE_CHECKING:
    from conduit.seeing.timeline import Timeline

_WRITE = "write `async def main(ep, *args)`"
_POWERS = {"K": 10, "M": 20, "G": 30}
_MOST = (1 << 63) - 1  # of anything that is counted; the network says what it can really have


@named
def run(
    main: Main,
    *args: Any,
    ranks: int | None = None,
    conduit: str = "sci",
    seed: int = 0,
    segment: int = 1 << 20,
    ranks_per_host: int | None = None,
    time_limit: float | None = None,
    stall_limit: float | None = None,
    trace: bool = False,
) -> Result:
    """Run `main(ep, *args)` once per rank and return when all have returned.

    Args:
        main: `async def main(ep, *args)`.
        *args: arguments; every rank gets its own deep copy.
        ranks: number of ranks; None: 2, or where ranks are processes as many as there are.
        conduit: spec string: a name, then options, as in "sci:torus=4x2".
        seed: of everything random; the same program, options and seed give the same digest.
        segment: size of every rank's segment in bytes.
        ranks_per_host: how many consecutive ranks share a host; None: the fewest that the network
            allows.
        time_limit: simulated seconds after which the job ends with TimeLimit; None: no limit.
        stall_limit: where ranks are processes, seconds without a message in any of them after which the job ends with
            TimeLimit; None: it goes on waiting, and a report says what for.
        trace: whether the result's `trace` says what happened when: on simulated networks and where ranks are
            processes, at some cost in real time and memory, and none in virtual time.

    Returns:
        Values, duration, digest and counts of the job.

    Raises:
        BadRequest: a wrong argument, or a call of the program that was never awaited.
        UnknownConduit: no such conduit is installed.
        Deadlock, Livelock, TimeLimit: the job got no further; the text says who waits for what.
        SystemExit: a rank called `ep.exit`.
        KeyboardInterrupt: Ctrl-C; a note says where all ranks were.
        Exception: what a rank raised, the same object, with a note of rank and time.
    """
    check_place()
    around, make, timeline = _prepare(
        main, args, ranks, conduit, seed, segment, ranks_per_host, time_limit, stall_limit, trace
    )
    with around():
        try:
            job = make()
            with logged_in_script(job), told_in_script():
                result = job.run()
        except SystemExit as error:
            _tell_exit(error)
            raise
        return _finish(result, timeline)


@named
@trim_tracebacks
async def run_async(
    main: Main,
    *args: Any,
    ranks: int | None = None,
    conduit: str = "sci",
    seed: int = 0,
    segment: int = 1 << 20,
    ranks_per_host: int | None = None,
    time_limit: float | None = None,
    stall_limit: float | None = None,
    trace: bool = False,
) -> Result:
    """As `run`, from inside a running Trio program; cancelled, it ends the job.

    Args, Returns, Raises: as `run`.
    """
    check_trio()
    _, make, timeline = _prepare(
        main, args, ranks, conduit, seed, segment, ranks_per_host, time_limit, stall_limit, trace
    )
    job = make()
    outcomes: list[outcome.Outcome[Result]] = []

    async def stop_when_cancelled() -> None:
        try:
            await trio.sleep_forever()
        finally:
            job.stop()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stop_when_cancelled)
        with told_in_script():
            await trio.to_thread.run_sync(lambda: outcomes.append(outcome.capture(job.run)))
        nursery.cancel_scope.cancel()
    try:
        result = outcomes[0].unwrap()
    except SystemExit as error:
        _tell_exit(error)
        raise
    return _finish(result, timeline)


def current() -> Endpoint:
    """Return the endpoint of the rank that the running task or handler belongs to.

    Raises:
        ConduitError: no job is running here.
    """
    endpoint = CURRENT.get()
    if endpoint is None:
        raise ConduitError("current: no rank of a job is running here; call it inside a program that conduit.run runs")
    return endpoint


def _prepare(
    main: Main,
    args: tuple[Any, ...],
    ranks: int | None,
    conduit: str,
    seed: int,
    segment: int,
    ranks_per_host: int | None,
    time_limit: float | None,
    stall_limit: float | None,
    trace: bool,
) -> tuple[Callable[[], AbstractContextManager[object]], Callable[[], Job], Timeline | None]:
    """Check the arguments of `run`; return the context for a job, what makes it, and what records it, if `trace`."""
    _check_main(main, args)
    _refuse_text(segment=segment, time_limit=time_limit, stall_limit=stall_limit)
    _check_spec(conduit)
    spec = parse_spec(conduit)
    count = None if ranks is None else arguments.amount("run", "ranks", ranks, 1, _MOST)
    per_host = None if ranks_per_host is None else arguments.amount("run", "ranks_per_host", ranks_per_host, 1, _MOST)
    kind = kind_of_job(spec)
    hosts = kind.hosts(spec, count, per_host)  # from here on a process knows its rank: what all refuse is said once
    nbytes = arguments.amount("run", "segment", segment, 0, _MOST)
    limit = None if time_limit is None else arguments.number("run", "time_limit", time_limit, arguments.MOST_SECONDS)
    if limit is not None and not spec.simulated:
        raise BadRequest(
            f"run: time_limit={limit!r} is of virtual time, which conduit={conduit!r} does not have; leave it out, and "
            "limit the job from outside, or in main with trio.fail_after"
        )
    patience = (
        None if stall_limit is None else arguments.number("run", "stall_limit", stall_limit, arguments.MOST_SECONDS)
    )
    if patience is not None and spec.rank_kind is not RankKind.PROCESS:
        raise BadRequest(
            f"run: stall_limit={patience!r} is for ranks that are processes, and those of conduit={conduit!r} are "
            "tasks of this one; leave it out" + (": a deadlock is found at once" if spec.simulated else "")
        )
    _check_trace(trace)
    spec.cls.check_segment(spec.options, nbytes)
    if text := copies(spec, 'conduit="{}"'):
        _warn(text)
    if text := mpi4py_world.of_caller(spec):
        _warn(text)
    if output.is_first():
        uncalled.warn_of_caller(*[shared_seeds] * spec.simulated)
    quiet_python()
    setup = JobSetup(
        ranks=len(hosts), hosts=hosts, segment=nbytes, seed=arguments.integer("run", "seed", seed),
        auxiliary=spec.cls.auxiliary_beside(spec.options, nbytes),
    )  # fmt: skip
    observers = observers_of(spec, setup)
    timeline = _timeline(spec, setup) if trace else None
    if timeline is not None:
        observers.append(timeline)
    make = functools.partial(kind, main, args, spec, setup, limit, patience, observers=observers)
    return kind.around, make, timeline


def _timeline(spec: Spec, setup: JobSetup) -> Timeline:
    from conduit.launch.timelines import timeline_of  # with all that recordings are made of, which most jobs lack

    return timeline_of(spec, setup)


def _check_spec(spec: object) -> None:
    if isinstance(spec, str):
        return
    again = ""
    if isinstance(spec, list | tuple | set) and spec and all(isinstance(each, str) for each in spec):
        again = f"; a job runs on one: write `for spec in {spec}:`, and in it give `conduit=spec`"
    raise BadRequest(
        f"run: conduit={arguments.shown(spec)} {is_a(spec)}; give a spec string such as 'sci' or 'sci:torus=4x2'{again}"
    )


def _refuse_text(**given: Any) -> None:
    """Refuse what the command line takes as text, with how a program writes it."""
    for name, value in given.items():
        if not isinstance(value, str):
            continue
        write = ""
        if name == "segment" and (found := re.fullmatch(r"(\d+)([KMG])", value.upper())):
            power = f"2**{_POWERS[found[2]]}"
            write = power if found[1] == "1" else f"{found[1]} * {power}"
        elif name != "segment":
            with suppress(ValueError):
                write = repr(read_float(value))
        if write:
            raise BadRequest(
                f"run: {name}={value!r} is a str, as the command line takes it; here it is a number: {name}={write}"
            )


def _check_trace(trace: Any) -> None:
    if isinstance(trace, str | os.PathLike):
        raise BadRequest(
            f"run: trace={arguments.shown(trace)} is a path; pass True, then `result.trace.write(path)` writes what "
            "was recorded"
        )


def _check_main(main: Any, args: tuple[Any, ...]) -> None:
    if inspect.iscoroutine(main):
        main.close()  # it never ran, and Python would say less of it
        name = main.__name__
        raise BadRequest(
            f"run: main={name}(...) is a call of {name}, made already; pass the function, which every rank calls: "
            f"conduit.run({name}, ...)"
        )
    if not callable(main):
        file = isinstance(main, str | Path) and str(main).endswith(".py")
        also = f"; the program of a file is run by `conduit run {main}`" if file else ""
        raise BadRequest(f"run: main={arguments.shown(main)} cannot be called; {_WRITE}{also}")
    if wrong := not_async(main, _WRITE):
        raise BadRequest(f"run: main={arguments.shown(main)} {wrong}")
    try:
        signature = inspect.signature(main, follow_wrapped=False)
    except (TypeError, ValueError):
        return  # some of those that are built in do not tell
    try:
        signature.bind(None, *args)
    except TypeError as error:
        owner, _, name = getattr(main, "__qualname__", "").rpartition("<locals>.")[2].rpartition(".")
        if owner and next(iter(signature.parameters), "") == "self":
            raise BadRequest(
                f"run: main={describe(main)}{signature} is a method of no object; give that of one, as "
                f"conduit.run({owner}().{name}, ...)"
            ) from None
        raise BadRequest(
            f"run: main={describe(main)}{signature} cannot be called with an endpoint and "
            f"{many(len(args), 'argument')}: {error}; "
            + (to_be_given(main, args, "conduit.run") or _WRITE + to_be_named(args, "ranks", 'conduit="sci", '))
        ) from None


def _finish(result: Result, timeline: Timeline | None) -> Result:
    """Issue the warnings of the layers above, one for all ranks that say the same; of processes the first one does."""
    if timeline is not None:
        result = attrs.evolve(result, trace=timeline)
    said = warned(enumerate(result.warnings))
    if said and (output.is_first() or parse_spec(result.conduit).rank_kind is not RankKind.PROCESS):
        try:
            for who, text in said:
                _warn(f"{who}: {text}")
        except ConduitWarning as error:  # as the program's filters say; the job has ended well all the same
            error.result = result
            raise
    return result


def _tell_exit(error: SystemExit) -> None:
    """Say which rank has ended the job, and where; with status 0 only where that has broken off the work of others."""
    notes = getattr(error, "__notes__", ())
    if notes:
        complain_of_exit(notes, error)


def _warn(text: str) -> None:
    """Issue a warning of the program's line that runs a job."""
    warnings.warn(text, ConduitWarning, stacklevel=program_frame()[1])
