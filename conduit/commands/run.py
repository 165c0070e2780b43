"""`conduit run PROGRAM.py`."""

import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

import conduit
from conduit.benchmarks.console import make_console, print_table
from conduit.benchmarks.integers import Integer
from conduit.commands.program import NotAProgram, ProgramFile
from conduit.commands.tables import grid
from conduit.core.calls import quiet_python
from conduit.errors import BadRequest, ConduitWarning, Deadlock, Livelock, TimeLimit
from conduit.launch import output, processes
from conduit.launch.registry import FRONT_ENDS, installed, parse_spec
from conduit.launch.reports import Report, full
from conduit.launch.warned import warned
from conduit.options import read_float

_COLUMNS = 8
"""Of ranks, that a table has at most."""


def _seconds(type_: Any, tokens: Sequence[Token]) -> float:
    """Read a time as specs have it; the text of the ValueError is shown with the option's name."""
    word = tokens[0].value
    try:
        return read_float(word)
    except ValueError:
        raise ValueError(f"'{word}' is no time; give seconds as in 1e-6, or write 1us") from None


def run(
    program: Path,
    /,
    *args: str,
    conduit: str = "sci",
    ranks: Integer | None = None,
    seed: Integer = 0,
    segment: Integer = 1 << 20,
    ranks_per_host: Integer | None = None,
    time_limit: Annotated[float, Parameter(converter=_seconds)] | None = None,
    stall_limit: Annotated[float, Parameter(converter=_seconds)] | None = None,
    stats: Annotated[bool, Parameter(negative="")] = False,
    full_report: Path | None = None,
) -> int:
    """Run a program on every rank; its last line of output is for scripts.

    The program defines `async def main(ep, *args)`, and is executed once per
    rank, in a module of its own.

    Args:
        program: File of the program.
        args: Given to its main, as text; after '--' they may begin with a hyphen.
        conduit: Where to run, as NAME or NAME:option=value,...
        ranks: Number of ranks; by default 2, or as many as there are processes.
        seed: Of everything random.
        segment: Bytes of every rank's segment.
        ranks_per_host: Consecutive ranks that share a host; the fewest that the network allows.
        time_limit: Simulated time after which the job is ended as a failure: seconds, or as 5us.
        stall_limit: Where ranks are processes: time without any message after which the job is ended as a failure; by
            default it goes on, and a report says who waits for what.
        stats: Print what was counted on every rank, with the parts that a host's ranks share on its lowest one.
        full_report: File for the whole report of a job that gets no further, with every rank; as JSON if its name ends
            in .json.
    """
    if full_report is not None and not full_report.parent.is_dir():
        raise BadRequest(f"--full-report={full_report}: there is no folder {full_report.parent}; make it first")
    file = ProgramFile(program)
    spec = parse_spec(conduit)
    runner = _runner(file)
    if processes.wanted(spec):
        return processes.start(spec, ranks).status
    settings = {
        "ranks": ranks,
        "conduit": spec.text,
        "seed": seed,
        "segment": segment,
        "ranks_per_host": ranks_per_host,
        "time_limit": time_limit,
        **({} if stall_limit is None else {"stall_limit": stall_limit}),
    }
    with _report_in(full_report):
        result = _run(runner, file, args, settings)
    if result is None:
        return 1
    if not output.is_first():
        return 0
    output.end_lines()
    for who, text in warned(_warnings(result)):
        print(f"warning from {who}: {text}", file=sys.stderr)
    if stats:
        _print_statistics(result.statistics)
    digest = result.digest if getattr(result, "digest", None) is not None else "none"
    print(f"ranks={result.ranks} conduit={result.conduit} seconds={result.seconds!r} digest={digest}")
    return 0


def _runner(file: ProgramFile) -> Callable[..., Any]:
    """Return what runs programs of the file's kind: the core, or a front end that is installed."""
    if file.api is None:
        core: Callable[..., Any] = conduit.run
        return core
    entry = installed(FRONT_ENDS).get(file.api)
    if entry is None:
        known = ", ".join(sorted(installed(FRONT_ENDS))) or "none"
        raise BadRequest(
            f"{file.path} is written for api = '{file.api}', a front end that is not installed; installed are: {known}"
        )
    runner: Callable[..., Any] = entry.load()
    return runner


def _run(runner: Callable[..., Any], file: ProgramFile, args: tuple[str, ...], settings: dict[str, Any]) -> Any:
    """Run the program; a failure of its own is shown as Python would, with the rank, and gives None."""
    quiet_python()  # for what dies after the job, with the traceback of its error
    try:
        with warnings.catch_warnings(), file.importable():
            warnings.simplefilter("ignore", ConduitWarning)  # shown from the result, with the rank
            return runner(file.main, *args, **settings)
    except NotAProgram as exc:
        raise BadRequest(str(exc)) from None
    except (Deadlock, TimeLimit, Livelock):  # their text is the whole report
        raise
    except KeyboardInterrupt as exc:
        sys.stdout.flush()
        if notes := getattr(exc, "__notes__", []):
            print(*notes, sep="\n", file=sys.stderr)
        raise
    except Exception as exc:
        if not file.started:
            raise
        _show(exc, file)
    return None


@contextmanager
def _report_in(path: Path | None) -> Iterator[None]:
    """Write the report of what ends the job to a file, if one is wanted and there is a report."""
    try:
        yield
    except BaseException as exc:
        report = getattr(exc, "report", None)
        if path is not None and isinstance(report, Report):
            try:
                path.write_text((report.to_json() if path.suffix == ".json" else full(report)) + "\n", encoding="utf-8")
            except OSError as error:
                print(f"--full-report={path} could not be written: {error}", file=sys.stderr)
        raise


def _show(exc: BaseException, file: ProgramFile) -> None:
    """Print a traceback that begins in the program, not in what ran it."""
    sys.stdout.flush()
    link: BaseException | None = exc
    chain: list[BaseException] = []
    while link is not None and link not in chain:
        chain.append(link)
        link.__traceback__ = file.own_part(link)
        link = link.__cause__ or link.__context__
    output.complain("".join(traceback.format_exception(exc)))


def _print_statistics(statistics: Sequence[Mapping[str, int]]) -> None:
    """Print a row for each count with what each rank has, or where ranks are many the least, the mean and the most."""
    names = dict.fromkeys(name for counts in statistics for name in counts)
    many = len(statistics) > _COLUMNS
    columns = ("least", "mean", "most") if many else tuple(f"rank {rank}" for rank in range(len(statistics)))
    rows = []
    for name in names:
        had = [counts[name] for counts in statistics if name in counts]
        mean = f"{sum(had) / len(had):.1f}"
        own = (min(had), mean, max(had)) if many else tuple(counts.get(name) for counts in statistics)
        rows.append((name, *own))
    titles = ("count", *columns)
    print_table(make_console(), grid(titles, rows, right=range(1, len(titles))))


def _warnings(result: Any) -> Any:
    found = result.warnings
    return found.items() if hasattr(found, "items") else enumerate(found)
