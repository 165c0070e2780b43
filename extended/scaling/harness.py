"""Times a test in a series of trials, and looks at what it moved.

In a trial every PE flushes its caches, waits for the others, reads the clock, runs the code under test and what closes
it, reads the clock and waits for the others.  The time of a trial is that of the PE that took longest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import trio

import conduit
from extended.scaling import patterns
from extended.scaling.library import numbers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from extended.scaling.library import Array, Form, OneSidedLibrary

    Code = Callable[[], Awaitable[None]]
    Expected = Callable[[], Array]

SETTLED = 10e-3
"""Seconds of polling in which all comes to rest: what is on its way, retransmitted or answered in many steps."""

APART = 10e-12
"""Seconds from the beginning of one PE to that of the next: what decides who is first, and no more."""


async def series(
    library: OneSidedLibrary, code: Code, expected: Expected | None, trials: int, untimed: Code | None = None
) -> Array:
    """Run the trials of a test; return the seconds of each, the same on every PE.

    Args:
        library: of this PE.
        code: what is timed.
        expected: returns what is in this PE's target afterwards, made anew for each look and kept by none: with
            hundreds of PEs it is as much as their memories are; None: not looked at.
        trials: how many.
        untimed: what ends each trial outside of the clock.

    Raises:
        conduit.ConduitError: wrong numbers have arrived.
    """
    taken = np.zeros(trials)
    for trial in range(trials):
        library.flush()
        await _begin_together(library)
        began = library.ep.now
        await code()
        taken[trial] = library.ep.now - began
        if untimed is not None:
            await untimed()
        await library.barrier()
        if expected is not None:
            _look(library, expected())
        library.target[:] = 0
    return await _longest(library, taken)


async def distant(library: OneSidedLibrary, count: int, trials: int) -> Array:
    """Run the first test; return the seconds of each trial (first axis) with each partner, from PE 1 on.

    PE 0 takes one partner after the other within a trial.  Where a fence of all closes the get, all begin together for
    each of them.  Else the others are idle, and there is nothing to wait for in between.

    Args:
        library: of this PE.
        count: numbers in a message.
        trials: how many.

    Raises:
        conduit.ConduitError: wrong numbers have arrived.
    """
    taken = np.zeros((trials, library.size - 1))
    pause = 0.0
    for trial in range(trials):
        start = await _begin_together(library)
        longest = 0.0
        for partner in range(1, library.size):
            entered = library.ep.now
            if library.closes_together:
                library.flush()
                await _begin_again(library, start + partner * pause)
            elif library.rank == 0:  # an idle PE would not answer meanwhile, where gets are messages
                library.flush()
            began = library.ep.now
            await patterns.distant(library, count, partner)
            await library.close()
            taken[trial, partner - 1] = library.ep.now - began
            longest = max(longest, library.ep.now - entered)
            if library.rank == 0:
                _look(library, numbers(partner, count))
        await library.barrier()
        if library.closes_together and trial == 0:
            # From now on all know when to begin with a partner: to agree each time would take longest of all.
            pause = 2 * float(await library.x.all_reduce(longest, "max")) + 2 * SETTLED
    return await _longest(library, taken)


async def shift(library: OneSidedLibrary, count: int, form: Form, trials: int) -> Array:
    """Run the second test; arguments and result as `series`."""

    async def code() -> None:
        await patterns.shift(library, count, form)
        await library.close()

    return await series(library, code, partial(numbers, (library.rank - 1) % library.size, count), trials)


async def naive(library: OneSidedLibrary, count: int, trials: int) -> Array:
    """Run the third test; arguments and result as `series`."""

    async def code() -> None:
        await patterns.naive(library, count)
        await library.close()

    return await series(library, code, partial(numbers, 0, count) if library.rank else None, trials)


async def tree(library: OneSidedLibrary, count: int, form: Form, trials: int, *, whole: bool) -> Array:
    """Run the fourth test; arguments and result as `series`.

    The root's data lies in its target, from where all others hand on.

    Args:
        library: of this PE.
        count: numbers that are broadcast.
        form: get, with tokens, or put.
        trials: how many.
        whole: whether the barriers and fences with which MPI-2's listing begins and ends are timed.
    """
    wanted = partial(numbers, 0, count)

    async def inner() -> None:
        await library.broadcast(count, form)

    async def listing() -> None:
        await library.open_tree(form)
        await inner()
        await library.close_tree()

    taken = np.zeros(trials)
    for trial in range(trials):
        library.target[:] = wanted() if library.rank == 0 else 0
        library.reset()
        if whole:
            taken[trial] = (await series(library, listing, wanted, 1))[0]
            continue
        await library.open_tree(form)
        taken[trial] = (await series(library, inner, wanted, 1, library.close_tree))[0]
    return taken


async def alltoall(library: OneSidedLibrary, count: int, trials: int, *, stagger: bool) -> Array:
    """Run the fifth test; arguments and result as `series`, and as `patterns.alltoall`."""

    def wanted() -> Array:
        blocks = np.empty((library.size, count))
        for pe, block in enumerate(blocks):
            block[:] = 0 if pe == library.rank else numbers(pe, count, library.rank * count)
        return blocks.reshape(-1)

    async def code() -> None:
        await patterns.alltoall(library, count, stagger=stagger)
        await library.close()

    return await series(library, code, wanted, trials)


async def _begin_together(library: OneSidedLibrary) -> float:
    """Wait for all PEs; simulated ones go on at one instant, with nothing on its way.  Return it, of others the time.

    A barrier lets them go one after the other, and the last replies to its signals, where it is made of such, would
    arrive under the code that is timed.  So would what the collectives of the layer below
    tell one another now and then, step by step as each PE polls.  So no two trials would be alike.
    """
    ep = library.ep
    await library.barrier()
    if not ep.simulated:
        return ep.now
    latest = float(await library.x.all_reduce(ep.now, "max"))
    with trio.move_on_at(latest + SETTLED):
        await ep.block_until(lambda: False, what="the time at which all is at rest")
    await _go_on_at(library, latest + 2 * SETTLED)
    return latest + 2 * SETTLED


async def _begin_again(library: OneSidedLibrary, instant: float) -> None:
    """Wait for all PEs; simulated ones go on at an instant that all know, or at once where it is over.

    One poll takes what a barrier has left behind.  To poll for as long as `_begin_together` does would leave a
    cancelled wait in memory, for each PE and partner.
    """
    ep = library.ep
    await library.barrier()
    if not ep.simulated or ep.now >= instant - SETTLED:
        return
    await ep.compute(instant - SETTLED - ep.now)
    await ep.poll()
    await _go_on_at(library, instant)


async def _go_on_at(library: OneSidedLibrary, instant: float) -> None:
    # Times are rounded to picoseconds: a hair's breadth apart, the PEs come in the same order in each trial.
    await library.ep.compute(instant + library.rank * APART - library.ep.now)


def _look(library: OneSidedLibrary, expected: Array) -> None:
    wrong = np.flatnonzero(library.target[: expected.size] != expected)
    if wrong.size:
        at = int(wrong[0])
        raise conduit.ConduitError(
            f"shmem-tests: PE {library.rank} has {library.target[at]} at index {at} by {library.name}, "
            f"where {expected[at]} should have arrived"
        )


async def _longest(library: OneSidedLibrary, taken: Any) -> Array:
    return np.asarray(await library.x.all_reduce(taken, "max"))
