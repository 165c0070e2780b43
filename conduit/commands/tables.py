"""Tables that several commands print."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from conduit.commandline.console import print_table, widths
from conduit.contract import Conduit
from conduit.options import describe

_PARTS = re.compile(r"[^:,]*[:,]|[^:,]+")
"""Of a spec, with what ends each."""


def grid(columns: Sequence[str], rows: Iterable[Sequence[object]], right: Iterable[int] = ()) -> Table:
    """Return a plain table.

    Args:
        columns: titles.
        rows: cells; None is shown as nothing.
        right: indices of the columns that hold numbers: aligned to the right, and never folded.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    numeric = set(right)
    for index, title in enumerate(columns):
        if index in numeric:
            table.add_column(escape(title), justify="right", no_wrap=True)
        else:
            table.add_column(escape(title), overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else escape(str(cell)) for cell in row))
    return table


def print_specs(
    console: Console, columns: Sequence[str], rows: Sequence[Sequence[object]], right: Iterable[int] = ()
) -> None:
    """Print a table whose first column has specs: too long ones go on in the next line after a comma or the colon.

    Args:
        console: where.
        columns: titles.
        rows: cells; the first is a spec.
        right: as of `grid`.
    """
    right = list(right)
    table = grid(columns, rows, right)
    over = widths(console, table)[1] - console.width
    if over > 0:
        longest = max(len(str(row[0])) for row in rows)
        rows = [(_in_lines(str(row[0]), longest - over), *row[1:]) for row in rows]
        table = grid(columns, rows, right)
        for column, *cells in zip(table.columns, columns, *rows, strict=True):
            column.min_width = max(len(line) for cell in cells for line in str(cell).splitlines() or [""])
    print_table(console, table)


def _in_lines(spec: str, width: int) -> str:
    """Return a spec in lines of a width, or of the longest part."""
    lines = [""]
    for part in _PARTS.findall(spec):
        if lines[-1] and len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def print_options(console: Console, options: type) -> None:
    """Print a table of a conduit's options; where that is too wide values between which one chooses are folded."""
    table = _options_table(options, "|")
    if widths(console, table)[0] > console.width:
        table = _options_table(options, "| ")
    print_table(console, table)


def _options_table(options: type, between: str) -> Table:
    rows = [(each.name, each.default, each.allowed.replace("|", between), each.help) for each in describe(options)]
    return grid(("option", "default", "allowed", "meaning"), rows)


def limits_text(cls: type[Conduit], options: Any) -> str:
    """Describe in a line what a conduit carries in one message, and in one segment."""
    limits = cls.limits(options)
    largest = cls.max_segment(options)
    return (
        f"at most {limits.max_args} arguments, medium {limits.max_medium}, long request {limits.max_long_request}, "
        f"long reply {limits.max_long_reply}, segment {'of any size' if largest is None else largest} (bytes)"
    )
