"""Ranks in words, for reports whose lines name ranks of the job."""

from __future__ import annotations

from collections.abc import Sequence

_SHOWN = 8  # ranks


def peer_in_words(number: int, world: int) -> str:
    """Return a rank by its number in a communicator, and by that in the job where it is another."""
    return f"rank {number}" if number == world else f"its rank {number} (rank {world} of the job)"


def ranks_in_words(ranks: Sequence[int]) -> str:
    """Return ranks with the word; of very many the first ones."""
    shown = ", ".join(map(str, ranks[:_SHOWN])) + ", ..." * (len(ranks) > _SHOWN)
    return f"rank{'s' * (len(ranks) > 1)} {shown}"
