"""The table of a program's times on several conduits."""

from collections.abc import Sequence

from conduit.commandline.console import make_console
from conduit.commands.ran import Ran
from conduit.commands.tables import print_specs


def print_times(runs: Sequence[Ran], *, stderr: bool) -> None:
    """Print a row for each conduit: its time, and how often that of the first one, if one clock has measured both.

    Args:
        runs: what the program has come to.
        stderr: whether it goes to standard error.
    """
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
    columns = ("conduit", "ranks", "time us", "times the first", "clock")
    print_specs(make_console(stderr=stderr), columns, rows, right=[1, 2, 3])
