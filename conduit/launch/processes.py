"""The processes of a job on a network whose ranks are processes, as the command line has them started."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping

from conduit.contract import RankKind
from conduit.core import arguments
from conduit.launch.crossing import hear
from conduit.launch.registry import Spec, networks
from conduit.launch.starting import WORDS, Outcome
from conduit.launch.starting import start as start_command

DEFAULT_RANKS = 2
MOST_RANKS = (1 << 31) - 1
_OF_LAUNCHERS = ("PMI", "OMPI_")
"""How names of environment variables begin that launchers of processes set, all of which speak PMI, PMI-2 or PMIx."""


def wanted(spec: Spec) -> bool:
    """Return whether ranks are processes and are not started yet."""
    return spec.rank_kind is RankKind.PROCESS and spec.cls.announced(spec.options) is None


def announced(spec: Spec) -> int | None:
    """Return how many ranks there will be because that many processes were started; None where that is open."""
    return (spec.cls.announced(spec.options) or None) if spec.rank_kind is RankKind.PROCESS else None


def warn_of_copies(specs: Iterable[Spec]) -> None:
    """Warn on standard error where a launcher has started several processes, and each runs a whole job of its own."""
    alone = [spec.text for spec in specs if spec.rank_kind is not RankKind.PROCESS]
    if not alone or not any(name.startswith(_OF_LAUNCHERS) for name in os.environ):
        return
    for text, cls in networks().items():
        if isinstance(cls, type) and cls.rank_kind is RankKind.PROCESS and (count := cls.announced(cls.Options())):
            if count > 1:
                print(
                    f"warning: a launcher has started {count} processes, and each of them runs all ranks on "
                    f"'{alone[0]}' by itself; give --conduit {text} for a rank in each process, or start one process",
                    file=sys.stderr,
                )
            return


def start(
    spec: Spec,
    ranks: int | None,
    environment: Mapping[str, str] | None = None,
    progress: Callable[[bytes], object] | None = None,
) -> Outcome:
    """Run the command that runs now once more, as processes, one for each rank; who listens hears what they recorded.

    Args:
        spec: the network.
        ranks: how many; None: two.
        environment: variables that they are to have.
        progress: is told, in a thread, how far the work is, each time that a rank says so.

    Raises:
        BadRequest: no such number can be started, or this machine has no launcher.
    """
    count = DEFAULT_RANKS if ranks is None else arguments.amount("run", "ranks", ranks, 1, MOST_RANKS)
    command, defaults = spec.cls.start_command(spec.options, count, ["-m", "conduit", *WORDS.get()])
    return start_command(count, command, defaults, environment or {}, hear, progress)
