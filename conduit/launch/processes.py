"""The processes of a job on a network whose ranks are processes, as the command line has them started."""

from __future__ import annotations

from collections.abc import Mapping

from conduit.contract import RankKind
from conduit.core import arguments
from conduit.launch.crossing import hear
from conduit.launch.registry import Spec
from conduit.launch.starting import WORDS, Outcome
from conduit.launch.starting import start as start_command

DEFAULT_RANKS = 2
MOST_RANKS = (1 << 31) - 1


def wanted(spec: Spec) -> bool:
    """Return whether ranks are processes and are not started yet."""
    return spec.rank_kind is RankKind.PROCESS and spec.cls.announced(spec.options) is None


def announced(spec: Spec) -> int | None:
    """Return how many ranks there will be because that many processes were started; None where that is open."""
    return (spec.cls.announced(spec.options) or None) if spec.rank_kind is RankKind.PROCESS else None


def start(spec: Spec, ranks: int | None, environment: Mapping[str, str] | None = None) -> Outcome:
    """Run the command that runs now once more, as processes, one for each rank; who listens hears what they recorded.

    Args:
        spec: the network.
        ranks: how many; None: two.
        environment: variables that they are to have.

    Raises:
        BadRequest: no such number can be started, or this machine has no launcher.
    """
    count = DEFAULT_RANKS if ranks is None else arguments.amount("run", "ranks", ranks, 1, MOST_RANKS)
    command, defaults = spec.cls.start_command(spec.options, count, ["-m", "conduit", *WORDS.get()])
    return start_command(command, defaults, environment or {}, hear)
