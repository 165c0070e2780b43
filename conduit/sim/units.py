"""Units of the simulation: time is an integer number of picoseconds, sizes are bytes."""

import math
from functools import lru_cache

PS_PER_S = 1_000_000_000_000
NS = 1_000
US = 1_000_000
MS = 1_000_000_000
_WHOLE = 2.0**53  # from here on not every whole number is a float


def ps(seconds: float) -> int:
    """Return `seconds` as whole picoseconds, rounded to the nearest."""
    return round(seconds * 1e12)


def check_ticks(what: str, value: object) -> None:
    """Refuse what is no number of picoseconds: times are added up as integers.

    Args:
        what: the class and its argument, as `HostModel: line_ps`.
        value: what was given.

    Raises:
        ValueError: it is no int from 0 on.
    """
    if not isinstance(value, int) or value < 0:
        raise ValueError(
            f"{what}={value!r} is no int of picoseconds from 0 on; use conduit.sim.units.ps(seconds) or round"
        )


def check_rate(what: str, value: object) -> None:
    """Refuse what is no rate that integers are divided by.

    Args:
        what: the class and its argument, as `Link: bytes_per_s`.
        value: what was given.

    Raises:
        ValueError: it is no int above 0.
    """
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"{what}={value!r} is no int of bytes per second above 0; pass one, as 10**8 or round(rate)")


def seconds(ticks: int) -> float:
    """Return a time of `ticks` picoseconds in seconds."""
    return ticks / 1e12


@lru_cache(maxsize=4096)  # a job has few sizes and rates, and asks for the same at every message
def duration(nbytes: int, bytes_per_s: float) -> int:
    """Return how many picoseconds `nbytes` take at `bytes_per_s`, rounded up."""
    whole, part = bytes_per_s.as_integer_ratio()
    return -(-nbytes * PS_PER_S * part // whole)


def deadline_ps(deadline: float) -> int:
    """Return the first whole picosecond whose `seconds` is not before `deadline`.

    Trio compares floats: a time rounded down would leave the deadline for ever in the future, one rounded up would
    let a task go on past a deadline that Trio takes for due.  Times begin at 0.
    """
    near = deadline * 1e12
    if near >= _WHOLE:
        return _late_deadline(deadline, near)
    ticks = round(near) if near > 0.0 else 0
    while ticks / 1e12 < deadline:
        ticks += 1
    while ticks and (ticks - 1) / 1e12 >= deadline:
        ticks -= 1
    return ticks


def _late_deadline(deadline: float, near: float) -> int:
    """Return the same where several picoseconds are one float: steps of one would never end."""
    if near == math.inf:
        return int(deadline) * PS_PER_S  # too late to be told in picoseconds as a float, or to come
    while near / 1e12 < deadline:
        near = math.nextafter(near, math.inf)
    while (before := math.nextafter(near, 0.0)) / 1e12 >= deadline:
        near = before
    ticks = (int(before) + int(near)) // 2  # the last that may be rounded down to `before`
    return ticks if float(ticks) == near else ticks + 1
