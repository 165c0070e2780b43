"""What a program has come to on a conduit, as `conduit run` prints and writes it."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

import attrs
from rich.console import Console
from rich.table import Table

from conduit.commandline.console import make_console, print_table, widths
from conduit.commandline.files import package_version
from conduit.commands.tables import grid, print_specs
from conduit.errors import ConduitError
from conduit.launch import terminal
from conduit.launch.registry import Spec

_COLUMNS = 8
"""Of ranks, that a table has at most."""


@attrs.frozen(kw_only=True)
class Ran:
    """What a program has come to on one conduit."""

    program: str
    arguments: tuple[str, ...]
    conduit: str
    title: str
    simulated: bool
    options: Mapping[str, object]
    seed: int
    segment: int
    ranks: int
    ranks_per_host: int | None
    seconds: float
    digest: str | None
    statistics: list[dict[str, int]]
    warnings: list[dict[str, str]]

    def as_json(self) -> dict[str, object]:
        """Return what `--json` writes for this conduit."""
        return {
            "program": self.program,
            "arguments": list(self.arguments),
            "version": package_version(),
            "conduit": self.conduit,
            "options": dict(self.options),
            "ranks": self.ranks,
            "seed": self.seed,
            "segment": self.segment,
            "ranks_per_host": self.ranks_per_host,
            "clock": "virtual" if self.simulated else "wall",
            "seconds": self.seconds,
            "digest": self.digest,
            "statistics": self.statistics,
            "warnings": self.warnings,
        }


def per_host(spec: Spec, ranks: int, asked: int | None) -> int | None:
    """Return how many ranks share a host: as asked, else as a simulated network has it; None where neither says."""
    if asked is not None or not spec.simulated:
        return asked
    with suppress(ConduitError):  # what has too many ranks has failed of that
        return max(Counter(spec.placement(ranks, None)).values())
    return None


def print_end(ran: Ran, *, stats: bool) -> None:
    """Print what follows the program's own output: warnings, counts, and the line for scripts."""
    for warning in ran.warnings:
        terminal.tell(f"warning from {warning['of']}: {warning['text']}")
    if stats:
        _print_statistics(ran.statistics)
    digest = "none" if ran.digest is None else ran.digest
    print(f"ranks={ran.ranks} conduit={ran.conduit} seconds={ran.seconds!r} digest={digest}")


def print_times(runs: Sequence[Ran], console: Console) -> None:
    """Print a row for each conduit: its time, and how often that of the first one, if one clock has measured both."""
    first = runs[0]
    rows = [
        (
            each.title,
            each.ranks,
            f"{each.seconds * 1e6:.3f}",
            f"{each.seconds / first.seconds:.3f}" if first.seconds and each.simulated is first.simulated else "",
            "virtual" if each.simulated else "wall",
        )
        for each in runs
    ]
    print_specs(console, ("conduit", "ranks", "time us", "times the first", "clock"), rows, right=[1, 2, 3])


def _print_statistics(statistics: Sequence[Mapping[str, int]]) -> None:
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
