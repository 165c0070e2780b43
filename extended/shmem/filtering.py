"""The filter of a series of timed trials, as the source paper has it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import conduit
from extended.front_ends import shown

SPIKE = 1.8
"""A trial above so many medians is a spike (`sh.m.spike`)."""

SHARE = 10
"""At most one trial in so many is removed (`sh.m.cap`; of the paper's 50 at most five, `sh.m.max5`)."""


def filtered_mean(seconds: Iterable[float]) -> float:
    """Return the mean of the times of a series of trials without its first one and without spikes.

    Of the trials after the first, those above 1.8 times their median are spikes and are left out; where spikes are more
    than a tenth of them, only the longest tenth is.

    Args:
        seconds: the times in the order of the trials, at least two, any unit; the paper takes 51.

    Raises:
        conduit.BadRequest: fewer than two, or no finite numbers.

    Source: Luecke, Spanoyannis and Kraeva, section 2.
    """
    times = sorted(_checked(seconds)[1:])
    limit = SPIKE * float(np.median(times))
    spikes = sum(time > limit for time in times)
    kept = times[: len(times) - min(spikes, len(times) // SHARE)]
    return math.fsum(kept) / len(kept)


def _checked(seconds: Any) -> Sequence[float]:
    call = "shmem.filtered_mean"
    try:
        times = [float(time) for time in seconds]
    except (TypeError, ValueError):
        raise conduit.BadRequest(
            f"{call}: seconds={shown(seconds)} is no series of numbers; give the time of each trial"
        ) from None
    if len(times) < 2:
        raise conduit.BadRequest(
            f"{call}: seconds has {len(times)} trials; give at least 2, since the first one is thrown away"
        )
    for number, time in enumerate(times):
        if not math.isfinite(time) or time < 0:
            raise conduit.BadRequest(f"{call}: seconds[{number}]={time} is no time; give finite numbers, 0 or more")
    return times
