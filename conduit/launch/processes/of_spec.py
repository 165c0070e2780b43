"""The processes of a job on a network whose ranks are processes, as the command line has them started."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from conduit.contract import RankKind
from conduit.core import arguments
from conduit.errors import BadRequest
from conduit.launch.call_words import DEFAULT_RANKS, WORDS
from conduit.launch.hints.hidden import hider
from conduit.launch.launchers import started_together
from conduit.launch.printing import output, terminal
from conduit.launch.registry import Spec, networks

if TYPE_CHECKING:
    from conduit.launch.processes.starting import Outcome

MOST_RANKS = (1 << 31) - 1
_WARNED: list[Spec] = []
"""Of what this process has been warned: once is enough."""


def wanted(spec: Spec) -> bool:
    """Return whether ranks are processes and are not started yet."""
    return spec.rank_kind is RankKind.PROCESS and spec.cls.announced(spec.options) is None


def announced(spec: Spec) -> int | None:
    """Return how many ranks there will be because that many processes were started; None where that is open."""
    return (spec.cls.announced(spec.options) or None) if spec.rank_kind is RankKind.PROCESS else None


def copies(spec: Spec, way: str) -> str:
    """Return a warning where a launcher has started several processes, and each runs a whole job of its own.

    In the first of them, for its first such job; in all others "".

    Args:
        spec: the network of the job.
        way: how a network is chosen, with {} for its spec.
    """
    together = started_together()
    if together is None or together.count < 2 or together.number or _WARNED:
        return ""
    if spec.rank_kind is RankKind.PROCESS or output.speech() is not None or output.is_framed():
        return ""  # it knows that it is one of several
    _WARNED.append(spec)
    found = networks().items()
    others = [text for text, cls in found if isinstance(cls, type) and cls.rank_kind is RankKind.PROCESS]
    instead = f"choose {way.format(others[0])} for a rank in each process, or " if others else ""
    return (
        f"a launcher has started {together.count} processes, and each of them runs all ranks on '{spec.text}' by "
        f"itself; {instead}start it without the launcher"
    )


def warn_of_copies(specs: Iterable[Spec]) -> None:
    """Print that warning on standard error."""
    for spec in specs:
        if text := copies(spec, "--conduit {}"):
            terminal.tell(f"warning: {text}")


def start(
    spec: Spec,
    ranks: int | None,
    environment: Mapping[str, str] | None = None,
    progress: Callable[[bytes], object] | None = None,
    words: Callable[[str], str] = str,
    *,
    ends_unread: bool = False,
) -> Outcome:
    """Run the command that runs now once more, as processes, one for each rank; who listens hears what they recorded.

    Args:
        spec: the network.
        ranks: how many; None: two.
        environment: variables that they are to have.
        progress: is told, in a thread, how far the work is, each time that a rank says so.
        words: gives what is shown of the text of the failure that ends the job.
        ends_unread: whether they are ended where nobody reads any more what they print.

    Raises:
        BrokenPipeError: so they were.
        BadRequest: no such number can be started, this machine has no launcher, or a file hides this package from them.
    """
    from conduit.launch.processes import starting  # which sees processes to their end, as no other job needs

    if file := hider(os.getcwd()):
        raise BadRequest(
            f"{file} hides the package conduit from the processes that are to be started here: give the file another "
            "name, such as my_conduit.py"
        )
    count = DEFAULT_RANKS if ranks is None else arguments.amount("run", "ranks", ranks, 1, MOST_RANKS)
    command, defaults = spec.cls.start_command(spec.options, count, ["-m", "conduit", *WORDS.get()])
    return starting.start(
        count, command, defaults, environment or {}, _hear, progress, words, ends_unread=ends_unread,
        tells_end=spec.cls.tells_end,
    )  # fmt: skip


def _hear(recorded: Sequence[bytes]) -> None:
    """Let who listens here hear of what processes have recorded, if they have."""
    if recorded:
        # With all that recordings are made of, as who listens has it already.
        from conduit.launch.processes.crossing import hear

        hear(recorded)
