"""`conduit run PROGRAM.py`: what it takes.  What it does is in `running`, imported when there is something to do."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

from conduit.commandline.files import File, Folder, Trace, check_files
from conduit.commandline.integers import Integer, RankCount, Size, at_least
from conduit.commandline.names import ConduitNames, Value
from conduit.options import read_float


def _seconds(type_: Any, tokens: Sequence[Token]) -> float:
    """Read a time as specs have it; the text of the ValueError is shown with the option's name."""
    word = tokens[0].value
    try:
        return read_float(word)
    except ValueError:
        raise ValueError(f"'{word}' is no time; give seconds as in 1e-6, or write 1us") from None


_Seconds = Annotated[float, Parameter(converter=_seconds), Value("a time; give seconds as in 1e-6, or write 1us")]


def run(
    program: Path,
    /,
    *args: str,
    conduit: ConduitNames = (),
    ranks: RankCount | None = None,
    seed: Integer = 0,
    segment: Size = 1 << 20,
    ranks_per_host: Integer | None = None,
    time_limit: _Seconds | None = None,
    stall_limit: _Seconds | None = None,
    stats: Annotated[bool, Parameter(negative="")] = False,
    json: File | None = None,
    trace: Trace | None = None,
    report: Folder | None = None,
    full_report: File | None = None,
    traceback: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Run a program on every rank; its last line of output is for scripts.

    The program defines `async def main(ep, *args)`, and is executed once per
    rank, in a module of its own.  One of a front end says so at its top,
    by `api = "upc"`, say (or "shmem", "mpi"), and main is given what that has.

    Args:
        program: File of the program.
        args: Given to its main, as text; after '--' they may begin with a hyphen.
        conduit: Where to run, as NAME or NAME:option=value,...; repeat it to run on several, one after the other, with
            a table of their times at the end; where it fails on one, the next one follows. [default: sci]
        ranks: Number of ranks; by default 2, or as many as there are processes.
        seed: Of everything random.
        segment: Bytes of every rank's segment; K, M and G stand for powers of 2.
        ranks_per_host: Consecutive ranks that share a host; by default the fewest that the network allows. All
            conduits must allow it, or the program is run on none.
        time_limit: Simulated time after which the job is ended as a failure: seconds, or as 5us.
        stall_limit: Where ranks are processes: time without any message after which the job is ended as a failure; by
            default it goes on, and a report says who waits for what.
        stats: Print what was counted on every rank, with the parts that a host's ranks share on its lowest one.
        json: File for times, digest and counts as JSON, an object per conduit in a list; - prints them, and what the
            program prints goes to standard error.
        trace: File for what happened and when, as JSON that Perfetto and chrome://tracing open; several conduits follow
            one another in it.
        report: Folder for report.html, a page on what the program did and what to change, and its pictures; where
            there are several conduits each has a folder in there.
        full_report: File for the whole report of a job that gets no further, with every rank; as JSON if its name ends
            in .json; - prints it.
        traceback: Show the lines of this package too in the traceback of a program that fails.
    """
    at_least(0, "segment", segment)
    if ranks_per_host is not None:
        at_least(1, "ranks-per-host", ranks_per_host)
    files = {"json": json, "trace": trace, "full-report": full_report}
    check_files(files)
    settings = {
        "ranks": ranks,
        "seed": seed,
        "segment": segment,
        "ranks_per_host": ranks_per_host,
        "time_limit": time_limit,
        **({} if stall_limit is None else {"stall_limit": stall_limit}),
    }
    from conduit.commands.running import run_program  # with all that jobs need, which no help does

    return run_program(program, args, conduit, settings, files, report=report, stats=stats, whole_traceback=traceback)
