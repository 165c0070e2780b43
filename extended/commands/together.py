"""How the ranks of a benchmark begin at one time.

Ranks leave a barrier one after the other, and what was measured before may leave them in a pattern of coming out far
apart.  So they agree upon a time that lies ahead of all of them, and measure again where one of them has missed it, as
SKaMPI does: T. Worsch, R. Reussner and W. Augustin, On Benchmarking Collective MPI Operations (2002).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from extended import Extended

AHEAD = (3, 12, 48, 192)
"""How far ahead the time is, in agreements, and where a rank has missed it.

One is for learning of it.  Until one before it ranks poll, for what is still on its way; then they do nothing, so that
none of them is in a poll when it comes.
"""


class Began(NamedTuple):
    """When a rank has begun.

    Attributes:
        at: that time, seconds.
        late: whether that is later than was agreed.
    """

    at: float
    late: bool


async def begin_together(x: Extended, ahead: int = AHEAD[0]) -> Began:
    """Meet the other ranks in a barrier, and begin with them at one time.

    In real time ranks begin as the barrier lets them go: their clocks are not one.

    Args:
        x: the extended layer of the rank's endpoint.
        ahead: how far ahead of the agreement the time is, in such agreements.
    """
    ep = x.ep
    await x.barrier()
    if not ep.simulated:
        return Began(ep.now, False)
    since = ep.now
    await x.all_reduce(since, "max")
    latest, took = (float(each) for each in await x.all_reduce(np.array([ep.now, ep.now - since]), "max"))
    start = latest + ahead * took
    while ep.now < start - took:
        await ep.poll()
    late = ep.now > start
    if not late:
        await ep.compute(start - ep.now)
    return Began(ep.now, late)
