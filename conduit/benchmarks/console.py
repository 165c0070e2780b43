"""Where commands print their tables."""

import textwrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

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


def print_text(console: Console, text: str, *, bold: int = 0) -> None:
    """Print lines of text: in a terminal folded between words, further lines indented; elsewhere each as it is.

    Args:
        console: where.
        text: the lines, without markup.
        bold: how many characters at the beginning are bold.
    """
    lines = text.splitlines()
    if console.is_terminal:
        lines = [_folded(line, console.width) for line in lines]
    shown = Text("\n".join(lines))
    shown.stylize("bold", 0, bold)
    console.print(shown, soft_wrap=True)


def _folded(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line,
        max(width, len(indent) + 1),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def print_table(console: Console, table: Table) -> None:
    """Print a table: in a terminal that is too narrow for it wider than that, rather than with digits cut off."""
    narrow, _ = widths(console, table)
    before = console.width
    console.width = max(before, narrow)
    console.print(table)
    console.width = before
