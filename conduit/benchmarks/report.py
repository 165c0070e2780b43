"""Tables and JSON of benchmark results."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import attrs
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conduit.benchmarks.record import Record, RecordList
from conduit.console import print_table, widths

Rate = Literal["MB/s", "KB/s"]
Key = tuple[str, str, int | None]


@attrs.frozen(kw_only=True)
class Run:
    """The results on one conduit.

    Attributes:
        program: name of the benchmark.
        conduit: the spec.
        ranks: number of ranks.
        clock: whose seconds the figures are.
        records: in the order measured.
    """

    program: str
    conduit: str
    ranks: int
    clock: Literal["virtual", "wall"]
    records: RecordList

    def as_json(self) -> dict[str, object]:
        """Return what `--json` writes for this conduit."""
        return {
            "program": self.program,
            "conduit": self.conduit,
            "ranks": self.ranks,
            "clock": self.clock,
            "records": [record.as_json() for record in self.records],
        }


def write_json(runs: Sequence[Run], path: Path) -> None:
    """Write the results of all conduits, one object each in a list."""
    text = json.dumps([run.as_json() for run in runs], indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def print_runs(console: Console, runs: Sequence[Run], rate: Rate = "MB/s") -> None:
    """Print the results: conduits side by side, as many in a table as the console has room for."""
    whole = table(runs, rate)
    if len(runs) == 1 or widths(console, whole)[1] <= console.width:
        print_table(console, whole)
        return
    names = [f"({number})" for number in range(1, len(runs) + 1)]
    for name, run in zip(names, runs, strict=True):
        console.print(f"{name} {run.conduit}", soft_wrap=True, markup=False)
    first = 0
    for after in range(1, len(runs) + 1):
        here = slice(first, after + 1)
        if after == len(runs) or widths(console, table(runs[here], rate, names[here]))[0] > console.width:
            print_table(console, table(runs[first:after], rate, names[first:after]))
            first = after


def table(runs: Sequence[Run], rate: Rate = "MB/s", names: Sequence[str] = ()) -> Table:
    """Return one table: a row for each timed block, a group of columns for each conduit.

    Args:
        runs: the results.
        rate: unit of the rates.
        names: what stands above the columns of each conduit; by default, of several, the specs.
    """
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("")
    grid.add_column("operation", overflow="fold")
    grid.add_column("bytes", justify="right", no_wrap=True)
    heads = names or ([run.conduit for run in runs] if len(runs) > 1 else [])
    groups = [_columns(run, rate, single=not heads) for run in runs]
    for number, columns in enumerate(groups):
        for index, (title, _) in enumerate(columns):
            head = f"{escape(heads[number]) if index == 0 else ''}\n{title}" if heads else title
            grid.add_column(head, justify="right", no_wrap=True)
    found = [{_key(record): record for record in run.records} for run in runs]
    shown = ("", "")
    for key in _keys(runs):
        records = [records.get(key) for records in found]
        some = next(record for record in records if record is not None)
        operation = key[1] if key[:2] != shown else ""
        if key[0] != shown[0] and grid.row_count:
            grid.add_section()
        shown = key[:2]
        cells = [_cell(record, show) for record, columns in zip(records, groups, strict=True) for _, show in columns]
        grid.add_row(key[0], escape(operation), _size(some), *cells)
    return grid


def _columns(run: Run, rate: Rate, *, single: bool) -> list[tuple[str, Callable[[Record], str]]]:
    """Return titles and texts of a conduit's columns; the driver's figures only where there are any."""
    columns: list[tuple[str, Callable[[Record], str]]] = []
    if single:
        columns.append(("total s", lambda record: f"{record.seconds:.6f}"))
    columns.append(("average us", _average))
    if any(record.mb_per_s is not None for record in run.records):
        factor = 1 if rate == "MB/s" else 1024
        columns.append((rate, lambda record: "" if record.mb_per_s is None else f"{record.mb_per_s * factor:.3f}"))
    if any(record.raw is not None for record in run.records):
        columns.append(("driver us", lambda record: "" if record.raw is None else f"{record.raw:.3f}"))
        columns.append(
            ("difference", lambda record: "" if record.raw is None else f"{record.microseconds - record.raw:+.3f}")
        )
    return columns


def _average(record: Record) -> str:
    value = record.microseconds
    digits = f"{value:.3g}" if 0 < value < 0.01 else f"{value:.3f}"  # the time of a byte is less than a nanosecond
    return f"<= {digits}" if record.at_most else digits


def _cell(record: Record | None, show: Callable[[Record], str]) -> str:
    return "-" if record is None else show(record)


def _size(record: Record) -> str:
    if record.nbytes is None:
        return ""
    return f"max: {record.nbytes}" if record.at_limit else str(record.nbytes)


def _key(record: Record) -> Key:
    return record.section, record.operation, record.nbytes


def _keys(runs: Sequence[Run]) -> Iterator[Key]:
    """Yield the blocks of all conduits: operations in the order measured, sizes ascending.

    Conduits differ in their limits, so each may have sizes that others lack.
    """
    operations = dict.fromkeys((record.section, record.operation) for run in runs for record in run.records)
    for section, operation in sorted(operations, key=lambda item: item[0]):
        found = {
            record.nbytes
            for run in runs
            for record in run.records
            if (record.section, record.operation) == (section, operation)
        }
        yield from ((section, operation, nbytes) for nbytes in sorted(found, key=lambda nbytes: nbytes or 0))
