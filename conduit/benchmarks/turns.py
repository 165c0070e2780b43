"""Ping-pongs in real time, where other programs take the processor now and then: a mean would tell of these."""

from collections.abc import Sequence

TURNS = 15
"""Parts of a ping-pong that are timed by themselves; the lower quartile of them counts."""


def rounds_of_a_turn(iterations: int) -> int:
    """Return how many of `iterations` round trips one turn has."""
    return iterations // min(TURNS, iterations)


def lower_quartile(turns: Sequence[float], iterations: int) -> float:
    """Return what all round trips would take, if each took as long as those of the turn at the lower quartile.

    Args:
        turns: seconds of each.
        iterations: round trips in all, of which each turn has `rounds_of_a_turn`.
    """
    return sorted(turns)[len(turns) // 4] * iterations / rounds_of_a_turn(iterations)
