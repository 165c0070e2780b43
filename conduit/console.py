"""Where commands print their tables."""

from rich.console import Console
from rich.table import Table

WIDTH = 160
"""Columns where the output is no terminal, so that rows of tables stay whole."""

_ANY = 100_000


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or error: as wide as the terminal, `WIDTH` where there is none."""
    console = Console(highlight=False, stderr=stderr)
    return console if console.is_terminal else Console(highlight=False, stderr=stderr, width=WIDTH)


def widths(console: Console, table: Table) -> tuple[int, int]:
    """Return the columns that a table needs: at least, with its texts folded, and to be shown without folds."""
    found = console.measure(table, options=console.options.update(max_width=_ANY))
    return found.minimum, found.maximum


def print_table(console: Console, table: Table) -> None:
    """Print a table: in a terminal that is too narrow for it wider than that, rather than with digits cut off."""
    narrow, _ = widths(console, table)
    before = console.width
    console.width = max(before, narrow)
    console.print(table)
    console.width = before
