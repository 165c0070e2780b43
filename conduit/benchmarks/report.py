"""Tables and JSON of benchmark results.

A terminal may be too narrow for all columns of a conduit.  Then some are left out, in the order of `_LEAST`, and named
below the table; where that is not enough, operations get lines of their own.  No number is ever cut.
"""

import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import attrs
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conduit.benchmarks.columns import COLUMNS
from conduit.benchmarks.record import Record, RecordList
from conduit.benchmarks.views import SizeMark, View
from conduit.commandline.console import print_table, print_text, widths
from conduit.commandline.files import csv_text, json_text, package_version

Rate = Literal["MB/s", "KB/s"]
Key = tuple[str, str, int | None]

_OF_RUNS = ("program", "version", "conduit", "ranks", "clock", "seed")
"""What is said of a run in each line of CSV."""

_LEAST = ("total s", "difference", "driver us")
"""Columns that are left out where there is no room, the first one first."""


class TableLayout(NamedTuple):
    """How much of a table is shown.

    Attributes:
        without: titles of the columns that are left out.
        lines: operations stand on lines of their own, above their rows.
    """

    without: tuple[str, ...] = ()
    lines: bool = False


_LAYOUTS = [TableLayout(_LEAST[:count], lines) for lines in (False, True) for count in range(len(_LEAST) + 1)]


@attrs.frozen(kw_only=True)
class ConduitResults:
    """The results on one conduit.

    Attributes:
        program: name of the benchmark.
        conduit: the spec.
        ranks: number of ranks.
        clock: that of the seconds.
        parameters: what the program ran with, by name.
        options: all options of the conduit, with the values in effect.
        records: in the order measured.
        totals: whether the time of all iterations is a figure of its own.
        seed: of everything random; of several runs the first one's.
        interrupted: Ctrl-C has ended it, and the records are those until then.
        views: what pictures show of it.
        marks: sizes that pictures mark.
    """

    program: str
    conduit: str
    ranks: int
    clock: Literal["virtual", "wall"]
    parameters: Mapping[str, object]
    options: Mapping[str, object]
    records: RecordList
    totals: bool = True
    seed: int = 0
    interrupted: bool = False
    views: tuple[View, ...] = ()
    marks: tuple[SizeMark, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return what `--json` writes for this conduit; only that of a run that Ctrl-C has ended says so."""
        return {
            "program": self.program,
            "version": package_version(),
            "conduit": self.conduit,
            "ranks": self.ranks,
            "clock": self.clock,
            "seed": self.seed,
            **({"interrupted": True} if self.interrupted else {}),
            "parameters": dict(self.parameters),
            "options": dict(self.options),
            "views": [view.as_json() for view in self.views],
            "marks": [{"bytes": mark.nbytes, "what": mark.what} for mark in self.marks],
            "records": [record.as_json() for record in self.records],
        }


def runs_as_json(runs: Sequence[ConduitResults]) -> str:
    """Return the results of all conduits as JSON, one object each in a list."""
    return json_text([run.as_json() for run in runs])


def runs_as_csv(runs: Sequence[ConduitResults]) -> str:
    """Return the results of all conduits as CSV, a line for each timed block."""
    rows = [
        {**{name: about[name] for name in _OF_RUNS}, **record.as_json()}
        for run in runs
        for about in [run.as_json()]
        for record in run.records
    ]
    titles = list(dict.fromkeys(name for row in rows for name in row))
    return csv_text(titles, [[row.get(title) for title in titles] for row in rows])


def print_runs(
    console: Console, runs: Sequence[ConduitResults], rate: Rate = "MB/s", columns: Collection[str] = ()
) -> None:
    """Print the results: conduits side by side, as many in a table as the console has room for.

    Args:
        console: where.
        runs: the results.
        rate: unit of the rates.
        columns: titles of those to show; none for all.
    """
    _print_runs(console, runs, rate, columns)
    there = dict.fromkeys(title for run in runs for title, _ in _columns(run, rate, single=len(runs) == 1))
    if missing := [title for title in columns if title not in there]:
        console.print(f"no figures here of {', '.join(missing)}; there are {', '.join(there)}", markup=False)


def _print_runs(console: Console, runs: Sequence[ConduitResults], rate: Rate, columns: Collection[str]) -> None:
    away = tuple(title for title in COLUMNS if columns and title not in columns)
    names = [f"({number})" for number in range(1, len(runs) + 1)]
    if len(runs) == 1:
        _print_table(console, runs, rate, away=away)
        return
    for layout in _LAYOUTS:  # side by side they can be compared: rather fewer figures than two tables
        for heads in ((), names):
            if _fits(console, table(runs, rate, heads, TableLayout((*away, *layout.without), layout.lines))):
                _number(console, heads, runs)
                _print_table(console, runs, rate, heads, away=away)
                return
    _number(console, names, runs)
    first = 0
    for after in range(1, len(runs) + 1):
        here = slice(first, after + 1)
        if after == len(runs) or not _fits(
            console, table(runs[here], rate, names[here], TableLayout((*away, *_LEAST)))
        ):
            _print_table(console, runs[first:after], rate, names[first:after], away=away)
            first = after


def _number(console: Console, names: Sequence[str], runs: Sequence[ConduitResults]) -> None:
    """Say which conduit each number in the heads of a table stands for."""
    for name, run in zip(names, runs, strict=bool(names)):
        print_text(console, f"{name} {run.conduit}")


def _print_table(
    console: Console,
    runs: Sequence[ConduitResults],
    rate: Rate,
    names: Sequence[str] = (),
    *,
    away: tuple[str, ...] = (),
) -> None:
    """Print one table in the fullest layout that there is room for; columns that are not wanted are `away`."""
    for layout in _LAYOUTS:
        whole = table(runs, rate, names, TableLayout((*away, *layout.without), layout.lines))
        if _fits(console, whole):
            break
    if layout.lines:
        _print_with_lines(console, runs, whole)
    else:
        print_table(console, whole)
    titles = [title for run in runs for title, _ in _columns(run, rate, single=not names)]
    if missing := [title for title in layout.without if title in titles and title not in away]:
        console.print(f"columns left out (width {console.width}): {', '.join(missing)}", markup=False)


def _print_with_lines(console: Console, runs: Sequence[ConduitResults], whole: Table) -> None:
    """Print a table without operations, and each of these where the table has a row of a section's letter alone."""
    operations = iter(dict.fromkeys(key[:2] for key in _keys(runs)))
    with console.capture() as capture:
        print_table(console, whole)
    for line in capture.get().splitlines():
        if len(line.strip()) == 1:
            section, operation = next(operations)
            head = f" {section}   "
            line = textwrap.fill(
                operation,
                max(console.width, len(head) + 1),
                initial_indent=head,
                subsequent_indent=" " * len(head),
                break_long_words=False,
                break_on_hyphens=False,
            )
        console.out(line, highlight=False)


def _fits(console: Console, whole: Table) -> bool:
    """Say whether there is room for a table with no text folded."""
    return widths(console, whole)[1] <= console.width


def table(
    runs: Sequence[ConduitResults], rate: Rate = "MB/s", names: Sequence[str] = (), layout: TableLayout = _LAYOUTS[0]
) -> Table:
    """Return one table: a row for each timed block, a group of columns for each conduit.

    Args:
        runs: the results.
        rate: unit of the rates.
        names: what stands above the columns of each conduit; by default, of several, the specs.
        layout: how much is shown; where operations have lines of their own, a row with the section alone stands there.
    """
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    grid.add_column("")
    if not layout.lines:
        grid.add_column("operation", no_wrap=True)
    grid.add_column("bytes", justify="right", no_wrap=True)
    heads = names or ([run.conduit for run in runs] if len(runs) > 1 else [])
    groups = [
        [column for column in _columns(run, rate, single=not heads) if column[0] not in layout.without] for run in runs
    ]
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
        if layout.lines and operation:
            grid.add_row(key[0])
        shown = key[:2]
        cells = [_cell(record, show) for record, columns in zip(records, groups, strict=True) for _, show in columns]
        grid.add_row(key[0], *([] if layout.lines else [escape(operation)]), _size(some), *cells)
    return grid


def _columns(run: ConduitResults, rate: Rate, *, single: bool) -> list[tuple[str, Callable[[Record], str]]]:
    """Return titles and texts of a conduit's columns; the driver's figures only where there are any."""
    columns: list[tuple[str, Callable[[Record], str]]] = []
    if single and run.totals:
        columns.append(("total s", lambda record: f"{record.seconds:z.6f}"))
    if any(record.least is not None for record in run.records):
        columns.append(("median us", _average))
        columns.append(("least us", lambda record: _figure(record, record.least)))
        columns.append(("most us", lambda record: _figure(record, record.most)))
    else:
        columns.append(("average us", _average))
    factor = 1 if rate == "MB/s" else 1024
    if any(record.offered is not None for record in run.records):
        columns.append(("offered", lambda record: "" if record.offered is None else f"{record.offered * factor:.3f}"))
    if any(record.mb_per_s is not None for record in run.records):
        columns.append((rate, lambda record: "" if record.mb_per_s is None else f"{record.mb_per_s * factor:.3f}"))
    if any(record.raw is not None for record in run.records):
        columns.append(("driver us", lambda record: "" if record.raw is None else f"{record.raw:.3f}"))
        columns.append(
            ("difference", lambda record: "" if record.raw is None else f"{record.microseconds - record.raw:+z.3f}")
        )
    return columns


def _average(record: Record) -> str:
    if record.unknown:
        return "unknown"
    digits = f"{record.microseconds:z.{record.digits}f}"
    return f"<= {digits}" if record.at_most else digits


def _figure(record: Record, microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds:z.{record.digits}f}"


def _cell(record: Record | None, show: Callable[[Record], str]) -> str:
    return "-" if record is None else show(record)


def _size(record: Record) -> str:
    if record.nbytes is None:
        return ""
    return f"max: {record.nbytes}" if record.at_limit else str(record.nbytes)


def _key(record: Record) -> Key:
    return record.section, record.operation, record.nbytes


def _keys(runs: Sequence[ConduitResults]) -> Iterator[Key]:
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
