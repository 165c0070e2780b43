"""Units of the simulation: time is an integer number of picoseconds, sizes are bytes."""

from functools import lru_cache

PS_PER_S = 1_000_000_000_000
NS = 1_000
US = 1_000_000
MS = 1_000_000_000


def ps(seconds: float) -> int:
    """Return `seconds` as whole picoseconds, rounded to the nearest."""
    return round(seconds * 1e12)


def seconds(ticks: int) -> float:
    """Return a time of `ticks` picoseconds in seconds."""
    return ticks / 1e12


@lru_cache(maxsize=4096)  # a job has few sizes and rates, and asks for the same at every message
def duration(nbytes: int, bytes_per_s: float) -> int:
    """Return how many picoseconds `nbytes` take at `bytes_per_s`, rounded up."""
    whole, part = float(bytes_per_s).as_integer_ratio()
    return -(-nbytes * PS_PER_S * part // whole)


def deadline_ps(deadline: float) -> int:
    """Return the first whole picosecond whose `seconds` is not before `deadline`.

    Trio compares floats: a time rounded down would leave the deadline for ever in the future, one rounded up would
    let a task go on past a deadline that Trio takes for due.
    """
    ticks = round(deadline * 1e12)
    while ticks / 1e12 < deadline:
        ticks += 1
    while (ticks - 1) / 1e12 >= deadline:
        ticks -= 1
    return ticks
