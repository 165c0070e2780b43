"""Run one benchmark on every conduit that was asked for, and show what came out."""

import os
import pickle
import signal
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from typing import Any, TypeAlias

import attrs
from rich.console import Console

import conduit
from conduit import BadRequest, Endpoint
from conduit.benchmarks.options import SIMULATED_RANKS, BenchmarkOptions, Parameters, parameters_for
from conduit.benchmarks.pairs import on_one_host
from conduit.benchmarks.progress import Progress
from conduit.benchmarks.record import Record, RecordList, merge, middle
from conduit.benchmarks.report import ConduitResults, Rate, print_runs, runs_as_csv, runs_as_json
from conduit.benchmarks.views import SizeMark, View, drawn_sections, message_marks
from conduit.commandline.console import make_console, print_text
from conduit.commandline.files import STANDARD_OUTPUT, check_apart, check_files, check_trace, write_file
from conduit.contract import Limits, RankKind
from conduit.launch import interrupts
from conduit.launch.interrupts import INTERRUPTED
from conduit.launch.pace import warn_of_units
from conduit.launch.printing import output
from conduit.launch.processes import of_spec
from conduit.launch.registry import Spec, parse_spec
from conduit.launch.traced import tracing
from conduit.options import render
from conduit.words import many

Plan: TypeAlias = tuple[Parameters, int, str]
"""Parameters, bytes of segment, and a note for users."""

_PART = "CONDUIT_PART"
"""The environment variable that says, by number, which of several conduits a process was started for."""


@attrs.frozen(kw_only=True)
class Program:
    """A benchmark.

    Attributes:
        name: the command.
        main: run once per rank; measures, says how far it is and returns its records, None on a passive rank.
        sections: the letters it has.
        sizes: its smallest and largest payload unless the user says otherwise, bytes.
        segment: bytes of segment that it needs for `parameters.max_size` within a conduit's limits.
        fewest_ranks: what it needs to measure anything.
        least_size: the smallest `parameters.max_size` that shows what it measures, bytes.
        rate: the unit of its rates in tables; in JSON it is always 2**20 bytes per second.
        raw: microseconds of the bare driver between two hosts for what a record measured, None where nothing compares.
        notes: lines that say what the records of a run come to, printed below the table.
        limits: the longest payloads that it sends at all on a conduit, bytes, by what carries them.
        settings: options of its own, by name, None for those that were not given.
        totals: whether a column shows the time of all iterations.
        views: what pictures show of it.
        marks: sizes that pictures mark on a conduit.
        shown: names of the parameters that mean something to it and are printed; None: all.
        shorter: the options by which it takes less time, after "fewer"; None: those that all benchmarks have.
    """

    name: str
    main: Callable[[Endpoint, Parameters, Progress], Awaitable[RecordList | None]]
    sections: str
    sizes: tuple[int, int]
    segment: Callable[[Parameters, Limits], int]
    fewest_ranks: int = 1
    least_size: int = 0
    rate: Rate = "MB/s"
    raw: Callable[[Spec, Record], float | None] = lambda spec, record: None
    notes: Callable[[RecordList], Iterable[str]] = lambda records: ()
    limits: Callable[[Parameters, Limits], Mapping[str, int]] = lambda parameters, limits: {}
    settings: Mapping[str, object] = attrs.field(factory=dict)
    totals: bool = True
    views: tuple[View, ...] = ()
    marks: Callable[[Spec], Iterable[SizeMark]] = message_marks
    shown: Collection[str] | None = None
    shorter: str | None = None

    @property
    def takes_less(self) -> str:
        """Words for the options by which it takes less time."""
        if self.shorter is not None:
            return self.shorter
        return "`--iterations`" + (" or a smaller `--max-size`" if self.sizes[0] < self.sizes[1] else "")


def execute(program: Program, options: BenchmarkOptions, console: Console | None = None) -> int:
    """Run a benchmark as its command does: parameters, results, JSON.

    Args:
        program: the benchmark.
        options: what the user asked for.
        console: where to print; by default standard output, or standard error where that is for JSON.

    Returns:
        The exit status, 0; failures are raised.

    Raises:
        BadRequest: an option is wrong, or a conduit refuses a size that was given.
        UnknownConduit: there is no such conduit.
        ConduitError: a run failed, or contents did not arrive as they were sent.
    """
    files = {"json": options.json, "csv": options.csv}
    console = console or make_console(stderr=STANDARD_OUTPUT in files.values())
    specs = [parse_spec(text) for text in options.conduit]
    check_files({**files, "trace": options.trace})
    check_trace(options.trace, specs)
    check_apart({**files, "trace": options.trace})
    plans = [_plan(program, options, spec) for spec in specs]
    warn_of_units(options.conduit)
    runs: list[ConduitResults] = []
    try:
        with tracing(options.trace):
            runs.extend(_measured(program, options, specs, plans, console))
    finally:  # what was measured is shown even if a later conduit fails, or Ctrl-C ends it
        if runs and output.is_first():
            try:
                print_runs(console, runs, program.rate, options.columns)
                for run in runs:
                    _print_notes(program, run, console)
            finally:  # even if nobody reads what is printed
                if options.json is not None:
                    write_file("json", options.json, runs_as_json(runs))
                if options.csv is not None:
                    write_file("csv", options.csv, runs_as_csv(runs))
    return 0


def measure(program: Program, options: BenchmarkOptions, console: Console) -> Iterator[ConduitResults]:
    """Run a benchmark on each conduit and yield the results, for a command with tables of its own.

    In a process that was started to be a rank there are none: it hands them over.

    Args:
        program: the benchmark.
        options: what the user asked for; files are the command's affair.
        console: where parameters and progress appear.

    Raises:
        KeyboardInterrupt: Ctrl-C, after the results so far.
        conduit.ConduitError: as `execute`.
    """
    specs = [parse_spec(text) for text in options.conduit]
    plans = [_plan(program, options, spec) for spec in specs]
    warn_of_units(options.conduit)
    yield from _measured(program, options, specs, plans, console)


def _measured(
    program: Program, options: BenchmarkOptions, specs: Sequence[Spec], plans: Sequence[Plan], console: Console
) -> Iterator[ConduitResults]:
    part = os.environ.pop(_PART, "")
    if part:  # how many ranks there are is what was started
        own, failed = _run(program, attrs.evolve(options, ranks=None), specs[int(part)], plans[int(part)], console)
        _hand_over(own)
        if failed is not None:
            raise failed
        return
    of_spec.warn_of_copies(specs)
    with interrupts.terminable():
        for number, (spec, plan) in enumerate(zip(specs, plans, strict=True)):
            failure: Exception | None = None
            if of_spec.wanted(spec):
                run, ended_by = _in_processes(program, options, spec, number, console)
            else:
                run, failure = _run(program, options, spec, plan, console)
                ended_by = signal.SIGINT if run.interrupted else 0
            yield run
            if failure is not None:
                raise failure
            if ended_by:
                raise interrupts.by_signal(ended_by)


def _in_processes(
    program: Program, options: BenchmarkOptions, spec: Spec, number: int, console: Console
) -> tuple[ConduitResults, int]:
    """Have processes run the benchmark on a conduit, the one of that number; return their results and what ended them.

    Raises:
        SystemExit: they have failed, and said why.
        KeyboardInterrupt: Ctrl-C before anything was measured.
    """
    progress = Progress(console, program.takes_less)
    with _nothing_yet(progress), progress:
        beside = {_PART: str(number), "COLUMNS": str(console.width)}  # what ranks print is shown here
        outcome = of_spec.start(spec, options.ranks, beside, progress.hear)
    if not outcome.interrupted and (outcome.status or not outcome.results):
        raise SystemExit(outcome.status or 1)
    run: ConduitResults = pickle.loads(outcome.results[0])
    return run, outcome.interrupted


@contextmanager
def _nothing_yet(progress: Progress) -> Iterator[None]:
    """Say, where Ctrl-C comes before the first row, how far that is; then it is not said once more at the end."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as error:
        if not _interrupted(error):
            raise
        pressed = KeyboardInterrupt()
        if interrupts.is_told(error):
            interrupts.told(pressed)
        if output.tells_the_end() and (where := progress.where()):
            print(f"interrupted before the first row was complete, in {where}", file=sys.stderr)
            interrupts.told(pressed)
        raise pressed from None


def _interrupted(error: BaseException) -> bool:
    """Return whether it is Ctrl-C, of which the process of another rank may have heard first."""
    return isinstance(error, KeyboardInterrupt) or (
        isinstance(error, SystemExit) and output.speech() is not None and error.code == INTERRUPTED
    )


def _hand_over(run: ConduitResults) -> None:
    """Give the results, on rank 0, to who has started this process."""
    own = output.speech()
    if own is not None and own.rank == 0:
        own.result(pickle.dumps(run))


def _plan(program: Program, options: BenchmarkOptions, spec: Spec) -> Plan:
    """Work out parameters and segment; lower the size to what the conduit's segments hold, if the user gave none."""
    parameters = parameters_for(options, spec.simulated, program.sections, program.sizes)
    if options.drawn and options.sections is None:
        parameters = attrs.evolve(parameters, sections=drawn_sections(program.views, program.sections))
    _check_needs(program, options, spec, parameters)
    limits = spec.cls.limits(spec.options)
    largest = spec.cls.max_segment(spec.options)
    needed = program.segment(parameters, limits)
    if largest is None or needed <= largest or options.max_size is not None:
        _check_segment(spec, needed, options)
        return parameters, needed, ""
    asked = parameters.max_size
    while needed > largest and parameters.max_size > parameters.min_size:
        below = 1 << ((parameters.max_size - 1).bit_length() - 1)
        parameters = attrs.evolve(parameters, max_size=max(below, parameters.min_size))
        needed = program.segment(parameters, limits)
    spec.cls.check_segment(spec.options, needed)
    note = (
        f"{spec.name} gives segments of at most {largest} bytes: "
        f"largest size lowered from {asked} to {parameters.max_size} bytes"
    )
    return parameters, needed, note


def _check_segment(spec: Spec, needed: int, options: BenchmarkOptions) -> None:
    """Refuse a segment that the conduit cannot have, by the option that asks for it."""
    try:
        spec.cls.check_segment(spec.options, needed)
    except BadRequest as error:
        if options.max_size is None:
            raise
        raise BadRequest(f"--max-size {options.max_size} needs {error}") from None


def _check_needs(program: Program, options: BenchmarkOptions, spec: Spec, parameters: Parameters) -> None:
    """Refuse ranks that the conduit cannot place, and ranks and sizes with which nothing can be measured."""
    if parameters.max_size < program.least_size:
        raise BadRequest(
            f"--max-size {parameters.max_size} is too small for what {program.name} measures; "
            f"give at least {program.least_size}"
        )
    ranks = of_spec.announced(spec) or (SIMULATED_RANKS if options.ranks is None else options.ranks)
    if ranks < program.fewest_ranks:
        raise BadRequest(f"--ranks {ranks} is too few for {program.name}; give at least {program.fewest_ranks}")
    if spec.rank_kind is RankKind.PROCESS:
        return  # their launcher places them
    spec.placement(ranks, options.ranks_per_host)


@attrs.define
class _Measured:
    """What the runs of a benchmark on one conduit have measured.

    Attributes:
        hosts: the host of every rank, empty before the first run.
        runs: the records of each run.
        interrupted: whether the last of them was broken off, by Ctrl-C or a signal.
        failure: the error of a job that has failed after its last rank's main; what it measured is complete.
    """

    hosts: tuple[int, ...] = ()
    runs: list[RecordList] = attrs.Factory(list)
    interrupted: bool = False
    failure: Exception | None = None


def _run(
    program: Program,
    options: BenchmarkOptions,
    spec: Spec,
    plan: Plan,
    console: Console,
) -> tuple[ConduitResults, Exception | None]:
    """Run a benchmark on a conduit; return the results, and the error of a job that fails after its last rank's main.

    What such a job measured is complete.
    """
    parameters, segment, note = plan
    shown = _shown(program, options, parameters, segment)
    notes = [note] if note else []
    if options.max_size is not None:
        notes += _lowered(program, spec, parameters)
    measured = _measure(
        program, options, spec, parameters, segment, console,
        lambda ranks: _announce(program, spec, shown, notes, ranks, console),
    )  # fmt: skip
    if not output.is_first():
        console = Console(file=StringIO())
    hosts, records = measured.hosts, middle(measured.runs)
    if not records and measured.failure is not None:
        raise measured.failure
    if not records:
        raise BadRequest(
            f"--min-size {parameters.min_size} leaves nothing to measure in sections {parameters.sections} on "
            f"'{spec.text}', whose limits are lower; give a smaller one or other sections"
        )
    found = ConduitResults(
        program=program.name,
        conduit=spec.text,
        ranks=len(hosts),
        seed=options.seed,
        interrupted=measured.interrupted,
        clock="virtual" if spec.simulated else "wall",
        parameters={**shown, "ranks_per_host": max(Counter(hosts).values())},
        options=spec.in_effect,
        totals=program.totals,
        views=program.views,
        marks=tuple(program.marks(spec)),
        records=_compared(program, spec, records, on_one_host(hosts, parameters.pairing), console),
    )
    return found, measured.failure


def _shown(program: Program, options: BenchmarkOptions, parameters: Parameters, segment: int) -> dict[str, Any]:
    """Return the parameters of a run as tables and files name them."""
    own = attrs.asdict(parameters)
    shown = {
        **{name: value for name, value in own.items() if program.shown is None or name in program.shown},
        **program.settings,
        "ranks_per_host": options.ranks_per_host,
        "segment": segment,
    }
    if options.repeat > 1 or options.seed:
        shown |= {"seed": options.seed, "repeat": options.repeat}
    return shown


def _measure(
    program: Program,
    options: BenchmarkOptions,
    spec: Spec,
    parameters: Parameters,
    segment: int,
    console: Console,
    announce: Callable[[int], object],
) -> _Measured:
    """Run a benchmark as often as is asked for, with one seed after the other.

    Args:
        program: the benchmark.
        options: of its command.
        spec: the conduit.
        parameters: of the benchmark there.
        segment: bytes of every rank's segment.
        console: where the progress is shown.
        announce: called once with the number of ranks, on rank 0, before it measures.
    """
    measured = _Measured()
    values: dict[int, RecordList | None] = {}
    progress = Progress(console, program.takes_less)

    async def main(ep: Endpoint) -> RecordList | None:
        measured.hosts = ep.hosts
        if ep.rank == 0 and not measured.runs:
            announce(ep.size)
        values[ep.rank] = await program.main(ep, parameters, progress)
        return values[ep.rank]

    with _nothing_yet(progress), progress:
        for repetition in range(options.repeat):
            values.clear()
            try:
                result = conduit.run(
                    main, ranks=options.ranks, conduit=spec.text, seed=options.seed + repetition, segment=segment,
                    ranks_per_host=options.ranks_per_host,
                )  # fmt: skip
            except (KeyboardInterrupt, SystemExit) as error:
                if not _interrupted(error):
                    raise
                measured.interrupted = True
                so_far = merge(progress.so_far())
                if not measured.runs:  # of several runs the one that was broken off has fewer rows
                    measured.runs.append(so_far)
                if not measured.runs[0]:
                    raise
                break
            except Exception as error:
                if not measured.hosts or len(values) < len(measured.hosts):
                    raise
                measured.failure = error
                measured.runs.append(merge([records for _, records in sorted(values.items()) if records is not None]))
                break
            measured.runs.append(merge([records for records in result.values if records is not None]))
    return measured


def _lowered(program: Program, spec: Spec, parameters: Parameters) -> list[str]:
    """Say where the largest size that the user gave is above what the conduit's messages hold."""
    found = program.limits(parameters, spec.cls.limits(spec.options))
    low, high = parameters.min_size, parameters.max_size
    return [
        f"no {what} holds more than {most} bytes here: "
        + ("max_size lowered for these" if most >= low else f"from {low} on there are none")
        for what, most in found.items()
        if most < high
    ]


def _compared(
    program: Program, spec: Spec, records: RecordList, near: tuple[int, int] | None, console: Console
) -> RecordList:
    """Add the bare driver's times; they are between two hosts, and so of no use where a pair is `near`, on one host."""
    compared = [attrs.evolve(record, raw=program.raw(spec, record)) for record in records]
    if near is None or all(record.raw is None for record in compared):
        return compared
    who = "ranks {} and {} share one".format(*near) if near[0] != near[1] else f"rank {near[0]} is its own partner"
    print_text(console, f"  note: no driver us, no difference: the driver's figures are between two hosts, and {who}")
    return records


def _announce(
    program: Program, spec: Spec, shown: Mapping[str, object], notes: list[str], ranks: int, console: Console
) -> None:
    """Print the parameters of a run."""
    clock = "virtual" if spec.simulated else "wall"
    lines = [
        f"{program.name} on {spec.text}: {many(ranks, 'rank')}, {clock} time",
        f"  {_pairs(shown)}",
        f"  {f'{_pairs(spec.choice)} ' if spec.choice else ''}{render(spec.options, defaults=True).replace(',', ' ')}",
    ]
    lines += [f"  note: {note}" for note in notes]
    print_text(console, "\n".join(lines))


def _print_notes(program: Program, run: ConduitResults, console: Console) -> None:
    lines = list(program.notes(run.records))
    if lines:
        print_text(console, "\n".join([f"{run.conduit}:", *(f"  {line}" for line in lines)]))


def _pairs(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items() if value is not None)
