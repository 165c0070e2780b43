"""What a program has come to on a conduit, as `conduit run` prints and writes it."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

import attrs

from conduit.commandline.files import package_version
from conduit.errors import ConduitError
from conduit.launch.printing import terminal
from conduit.launch.registry import Spec


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
        from conduit.commands.counted import print_statistics  # with rich, for tables alone

        print_statistics(ran.statistics)
    digest = "none" if ran.digest is None else ran.digest
    print(f"ranks={ran.ranks} conduit={ran.conduit} seconds={ran.seconds!r} digest={digest}")
