"""Where commands print their tables."""

import os
from textwrap import wrap

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conduit.launch.printing.terminal import folded

WIDTH = 100
"""Columns where the output is no terminal, unless the environment variable COLUMNS says how many."""

_ANY = 100_000


class _Console(Console):
    """One whose pipe nobody reads any more: the command hears of it; it does not end the process, as rich's does."""

    def on_broken_pipe(self) -> None:
        raise  # it is called while that is handled


def make_console(*, stderr: bool = False) -> Console:
    """Return a console on standard output or error: as wide as the terminal, `WIDTH` where there is none."""
    console = _Console(highlight=False, stderr=stderr)
    if console.is_terminal:
        return console
    asked = os.environ.get("COLUMNS", "")
    return _Console(highlight=False, stderr=stderr, width=int(asked) if asked.isdecimal() and int(asked) else WIDTH)


def widths(console: Console, table: Table) -> tuple[int, int]:
    """Return the columns that a table needs: at least, with its texts folded, and to be shown without folds."""
    found = console.measure(table, options=console.options.update(max_width=_ANY))
    return found.minimum, found.maximum


def print_text(console: Console, text: str, *, bold: int = 0) -> None:
    """Print lines of text, folded between words, further lines indented.

    Args:
        console: where.
        text: the lines, without markup.
        bold: how many characters at the beginning are bold.
    """
    lines = [folded(line, console.width) for line in text.splitlines()]
    shown = Text("\n".join(lines))
    shown.stylize("bold", 0, bold)
    console.print(shown, soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Print a table.

    In a terminal that is too narrow its columns are closer; where that is not enough it is wider than the terminal,
    rather than with digits cut off.
    """
    narrow, _ = widths(console, table)
    before = console.width
    if narrow > before:
        table.padding = (0, 0)
        narrow, _ = widths(console, table)
    console.width = max(before, narrow)
    _fit(console, table)
    if console.is_terminal:
        console.print(table)
    else:  # a file or a pipe has no use for the blanks that fill a line
        with console.capture() as captured:
            console.print(table)
        lines = [line.rstrip() for line in captured.get().splitlines()]
        console.out("\n".join(lines), highlight=False)
    console.width = before


def _fit(console: Console, table: Table) -> None:
    """Fold the texts of a table that is wider than its console: the widest columns first, and only between words.

    Titles are folded too; of a column that is not to be folded they alone are.
    """
    words, wholes = [], []
    for column in table.columns:
        title, *cells = [Text.from_markup(str(each)).plain for each in (column.header, *column.cells)]
        parts = cells if column.no_wrap else [word for text in cells for word in text.split()]
        wholes.append(max(map(len, (*title.split("\n"), *cells))))
        words.append(max(map(len, (*title.split(), *parts)), default=0))
    _, natural = widths(console, table)
    room = sum(wholes) - (natural - console.width)
    if natural <= console.width or sum(words) > room:
        return
    bound = max(wholes)
    while sum(found := [max(word, min(whole, bound)) for word, whole in zip(words, wholes, strict=True)]) > room:
        bound -= 1
    for column, width in zip(table.columns, found, strict=True):
        column.width = width
        if column.no_wrap:
            column.header = "\n".join(wrap(str(column.header), width))
