"""Where commands print their tables."""

from rich.console import Console

WIDTH = 160
"""Columns where the output is no terminal, so that rows of tables stay whole."""


def make_console() -> Console:
    """Return a console on standard output: as wide as the terminal, `WIDTH` where there is none."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=WIDTH)
