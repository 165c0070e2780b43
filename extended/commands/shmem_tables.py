"""Tables of `conduit shmem-tests` in the paper's form: PEs down, machines and libraries across, and their ratio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.markup import escape
from rich.table import Table

from conduit.commandline.console import print_table, print_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from conduit.benchmarks.report import ConduitResults

TITLES = {
    "distant": "distant messages: PE 0 gets from each other PE in turn, the mean of all",
    "shift": "circular right shift: every PE at once",
    "naive": "naive broadcast: every PE gets from PE 0",
    "tree": "binary tree broadcast",
    "alltoall": "all-to-all",
}


def print_tests(console: Console, runs: Sequence[ConduitResults]) -> None:
    """Print a table for each test.

    Args:
        console: where.
        runs: the results, one for each machine and number of PEs, whose records are `ScalingRecord`s.
    """
    for test, title in TITLES.items():
        if any(record.test == test for _, record in _records(runs)):
            print_text(console, f"\n{title}, microseconds", bold=len(title) + 1)
            print_table(console, _table(test, runs))
            if test == "distant":
                _print_partners(console, runs)


def _table(test: str, runs: Sequence[ConduitResults]) -> Table:
    """A row for each size and number of PEs; for each machine its libraries, and MPI-2's time by SHMEM's."""
    found = {
        (run.conduit, run.ranks, record.nbytes, record.library, record.form): record
        for run, record in _records(runs)
        if record.test == test
    }
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("bytes", justify="right")
    grid.add_column("PEs", justify="right")
    columns: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    for conduit in dict.fromkeys(key[0] for key in found):
        ways = tuple(dict.fromkeys((key[3], key[4]) for key in found if key[0] == conduit))
        columns.append((conduit, ways))
        for number, (library, form) in enumerate(ways):
            head = escape(conduit) if number == 0 else ""
            grid.add_column(f"{head}\n{library} {form}", justify="right")
        if len(ways) == 2:
            grid.add_column("\nratio", justify="right")
    before = None
    for nbytes, pes in sorted({(key[2], key[1]) for key in found}):
        if before not in (None, nbytes):
            grid.add_section()
        cells = [
            cell
            for conduit, ways in columns
            for cell in _cells([found.get((conduit, pes, nbytes, library, form)) for library, form in ways])
        ]
        grid.add_row("" if before == nbytes else str(nbytes), str(pes), *cells)
        before = nbytes
    return grid


def _cells(records: Sequence[Any]) -> Iterator[str]:
    for record in records:
        yield "-" if record is None else f"{record.microseconds:.3f}"
    if len(records) == 2:
        first, second = records
        ready = first is not None and second is not None and first.seconds
        yield f"{second.seconds / first.seconds:.2f}" if ready else "-"


def _print_partners(console: Console, runs: Sequence[ConduitResults]) -> None:
    """Say which partner is nearest and which farthest; all of them are in the JSON."""
    for run, record in _records(runs):
        if record.test == "distant" and run.ranks > 2:
            least, most = min(record.partners), max(record.partners)
            print_text(
                console,
                f"  {run.conduit}, {run.ranks} PEs, {record.library}, {record.nbytes} bytes: "
                f"{least * 1e6:.3f} with PE {record.partners.index(least) + 1} to "
                f"{most * 1e6:.3f} with PE {record.partners.index(most) + 1}",
            )


def _records(runs: Sequence[ConduitResults]) -> Iterator[tuple[ConduitResults, Any]]:
    for run in runs:
        for record in run.records:
            yield run, record
