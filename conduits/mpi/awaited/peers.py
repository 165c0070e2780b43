"""Ranks of a communicator in words, for reports whose lines name ranks of the job."""

from __future__ import annotations


def peer_in_words(number: int, world: int) -> str:
    """Return a rank by its number in a communicator, and by that in the job where it is another."""
    return f"rank {number}" if number == world else f"its rank {number} (rank {world} of the job)"
