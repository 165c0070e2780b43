"""What many ranks cost: a barrier and a reduction of all, and the memory of a rank that does nothing."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from extended import Extended

RANKS = 1024


async def barriers(ep: Any, count: int) -> None:
    """Go through so many barriers."""
    layer = await Extended.attach(ep)
    for _ in range(count):
        await layer.barrier()


@pytest.mark.parametrize("spec", ["sci", "loggp"])
@pytest.mark.parametrize("which", ["first", "later"])
def test_barrier(bench: Any, make_job: Callable[..., Any], spec: str, which: str) -> None:
    """A barrier is ten rounds, in each a message of every rank and its answer; the first one also finds the routes."""

    def make(count: int) -> Any:
        return make_job(barriers, count, ranks=RANKS, spec=spec)

    bench.measure(f"{which} barrier, {spec}, {RANKS} ranks", make, 1, before=0 if which == "first" else 1, rounds=3)


async def reductions(ep: Any, count: int) -> None:
    """Add up so many arrays of 100 numbers."""
    layer = await Extended.attach(ep)
    for _ in range(count):
        await layer.all_reduce(np.ones(100))


@pytest.mark.parametrize("spec", ["sci", "loggp"])
def test_all_reduce(bench: Any, make_job: Callable[..., Any], spec: str) -> None:
    """All reduce on 256 ranks: eight exchanges of every rank with another."""

    def make(count: int) -> Any:
        return make_job(reductions, count, ranks=256, spec=spec)

    bench.measure(f"all_reduce of 800 bytes, {spec}, 256 ranks", make, 1, before=1, rounds=3)


async def idle(ep: Any, seen: list[int]) -> None:
    """Attach, let all the others come to rest, then look at what is allocated."""
    await ep.attach()
    if ep.rank == 0:
        await ep.compute(1.0)
        seen.append(tracemalloc.get_traced_memory()[0])


@pytest.mark.parametrize("spec", ["sci", "loggp"])
def test_idle_rank(make_job: Callable[..., Any], spec: str, note: Callable[[str], None]) -> None:
    """Bytes that Python holds for one more rank, beside its segment."""
    held = {ranks: _held(make_job, spec, ranks) for ranks in (2, RANKS)}
    per_rank = (held[RANKS] - held[2]) / (RANKS - 2)
    note(f"memory of an idle rank, {spec}, {RANKS} ranks: {per_rank / 1000:.1f} KB")


def _held(make_job: Callable[..., Any], spec: str, ranks: int) -> int:
    seen: list[int] = []

    async def main(ep: Any) -> None:  # a closure, because arguments are copied for every rank
        await idle(ep, seen)

    make_job(main, ranks=2, spec=spec).run()  # what the first job of all leaves behind
    gc.collect()
    tracemalloc.start()
    try:
        make_job(main, ranks=ranks, spec=spec).run()
    finally:
        tracemalloc.stop()
    return seen[-1]
