"""Shared arrays: heat in a plate, and what aggregation saves the computer that simulates, as ratios of the same run."""

import contextlib
import importlib.util
import io
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from extended import upc

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
THREADS = 16


def timed(action: Callable[..., Any], *args: Any, **options: Any) -> tuple[float, float]:
    """Return the seconds on the wall and of the processor that an action takes."""
    wall, cpu = time.perf_counter(), time.process_time()
    action(*args, **options)
    return time.perf_counter() - wall, time.process_time() - cpu


def test_heat_in_a_plate(note: Callable[[str], None]) -> None:
    """The program of the page, on 512 x 512 points, 100 steps, 16 threads of sci, with its serial run at the end."""
    place = importlib.util.spec_from_file_location("plate", EXAMPLES / "plate.py")
    assert place is not None
    assert place.loader is not None
    plate = importlib.util.module_from_spec(place)
    place.loader.exec_module(plate)
    with contextlib.redirect_stdout(io.StringIO()):
        wall, cpu = timed(upc.run, plate.main, "512", "100", threads=THREADS, conduit="sci")
    note(f"heat equation, 512 x 512, 100 steps, {THREADS} threads, sci: {wall:.1f} s of wall time, {cpu:.1f} s of CPU")
    assert cpu < 20


async def updates(t: upc.Thread, count: int, together: bool) -> None:
    """Update so many random elements of each thread, one by one or all together."""
    table = await t.all_alloc(1 << 16, dtype="i8", block=1)
    which = np.random.default_rng(t.MYTHREAD).integers(0, 1 << 16, count)
    await t.barrier()
    if together:
        await table.add_at(which, 1)
    else:
        for i in which:
            await table.add_at(i, 1)
    await t.barrier()
    assert await t.extended.all_reduce(int(table.local.sum())) == count * t.THREADS


def test_aggregated_updates(note: Callable[[str], None]) -> None:
    """GUPS: updates one by one against updates in bunches of 4096, of which a job without updates is subtracted."""
    bunch, single = 4096, 128
    ratios = []
    for _ in range(5):
        alone, by_one, together = (
            timed(upc.run, updates, count, aggregated, threads=THREADS, conduit="sci")
            for count, aggregated in ((0, True), (single, False), (bunch, True))
        )
        ratios.append(
            [
                (one - base) / single / ((many - base) / bunch)
                for base, one, many in zip(alone, by_one, together, strict=True)
            ]
        )
    wall, cpu = (median(each) for each in zip(*ratios, strict=True))
    note(f"updates of random elements, {THREADS} threads, sci: aggregated {wall:.0f} times faster in wall time")
    assert cpu > 20


async def reads(t: upc.Thread, took: list[tuple[float, float]]) -> None:
    """Read 100,000 random elements by one thread."""
    a = await t.all_alloc(1 << 18, dtype="f8", block=1)
    a.local = a.local_index
    await t.barrier()
    if t.MYTHREAD == 0:
        which = np.random.default_rng(4).integers(0, 1 << 18, 100_000)
        wall, cpu = time.perf_counter(), time.process_time()
        found = await a[which]
        took.append((time.perf_counter() - wall, time.process_time() - cpu))
        assert np.array_equal(found, which)
    await t.barrier()


def test_reads_of_random_elements(note: Callable[[str], None]) -> None:
    """One `await a[idx]` of 100,000 random elements over 16 threads on loggp, with all that the owners do for it."""
    took: list[tuple[float, float]] = []

    async def main(t: upc.Thread) -> None:  # a closure, because arguments are copied for every thread
        await reads(t, took)

    for _ in range(5):
        upc.run(main, threads=THREADS, conduit="loggp")
    wall, cpu = (median(each) for each in zip(*took, strict=True))
    note(f"100,000 random elements of {THREADS} threads, loggp: {wall:.3f} s of wall time, {cpu:.3f} s of CPU")
    assert cpu < 0.5
