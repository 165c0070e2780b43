"""The words of the command that runs, what it leaves open, and the status of a wrong call, for who starts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from itertools import pairwise

WORDS: ContextVar[tuple[str, ...]] = ContextVar("conduit.words", default=())
"""The words after `conduit` of the command that runs, for who has to start it once more as processes."""

DEFAULT_RANKS = 2
"""How many ranks a job has where neither its call nor a launcher says it."""

WRONG_CALL = 2
"""The exit status of a command that was called wrongly."""


def conduits_given(words: Sequence[str]) -> list[str]:
    """Return the specs that `--conduit` gives in the words of a call, those behind `=` first."""
    joined = [each.removeprefix("--conduit=") for each in words if each.startswith("--conduit=")]
    return joined + [after for each, after in pairwise(words) if each == "--conduit"]
