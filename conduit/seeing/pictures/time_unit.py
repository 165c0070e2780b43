"""Units of the times on an axis: such that no time has many digits."""

from __future__ import annotations

from typing import NamedTuple


class TimeUnit(NamedTuple):
    """What times are counted in.

    Attributes:
        name: as it is written.
        ticks: picoseconds.
    """

    name: str
    ticks: int


_UNITS = (TimeUnit("ns", 10**3), TimeUnit("µs", 10**6), TimeUnit("ms", 10**9), TimeUnit("s", 10**12))
_BELOW = (10**6, 10**11, 10**14)
"""Picoseconds from which on the next unit is better: a microsecond, else what has six digits before the point."""


def time_unit(longest: int) -> TimeUnit:
    """Return the unit for times up to `longest` picoseconds.

    Microseconds serve from one on up to a tenth of a second, so that most pictures agree with the text beside them.
    """
    return next((unit for unit, below in zip(_UNITS, _BELOW, strict=False) if longest < below), _UNITS[-1])
