"""The table of what was counted on every rank."""

import sys
from collections.abc import Mapping, Sequence

from rich.table import Table

from conduit.commandline.console import make_console, print_table, widths
from conduit.commands.tables import grid

_COLUMNS = 8
"""Of ranks, that a table has at most."""


def print_statistics(statistics: Sequence[Mapping[str, int]]) -> None:
    """Print a row for each count with what each rank has, or where ranks are many the least, the mean and the most."""
    console = make_console(stderr=sys.stdout is sys.stderr)
    table = _counts(statistics, many=len(statistics) > _COLUMNS)
    if widths(console, table)[1] > console.width:  # the names of counts would be folded
        table = _counts(statistics, many=True)
    print_table(console, table)


def _counts(statistics: Sequence[Mapping[str, int]], *, many: bool) -> Table:
    names = dict.fromkeys(name for counts in statistics for name in counts)
    columns = ("least", "mean", "most") if many else tuple(f"rank {rank}" for rank in range(len(statistics)))
    rows = []
    for name in names:
        had = [counts[name] for counts in statistics if name in counts]
        mean = f"{sum(had) / len(had):.1f}"
        own = (min(had), mean, max(had)) if many else tuple(counts.get(name) for counts in statistics)
        rows.append((name, *own))
    titles = ("count", *columns)
    return grid(titles, rows, right=range(1, len(titles)))
