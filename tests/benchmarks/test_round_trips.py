"""A simulated round trip: every even rank asks its odd neighbour, all pairs at the same time.

A short, medium or long request is answered by a short reply; both sides poll in `block_until`.  On simulated MPI it is
a ping-pong of `Send` and `Recv`.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conduits.mpi.program import entered

TRIPS = {2: 1000, 64: 60, 1024: 8}
LONG = 65536
EVENTS = {"sci": 13, "sunfire": 8}  # of a short round trip, at most


async def ping_pong(ep: Any, trips: int, category: str, nbytes: int) -> None:
    """Make so many round trips on each pair of ranks."""
    answered = 0

    def ask_short(token: Any) -> None:
        token.reply_short(answer)

    def ask(token: Any, payload: memoryview) -> None:
        token.reply_short(answer)

    def answer(token: Any) -> None:
        nonlocal answered
        answered += 1

    await ep.attach(ask_short, ask, answer)
    if ep.rank % 2:
        return
    payload = bytes(nbytes)
    for trip in range(1, trips + 1):
        if category == "short":
            await ep.request_short(ep.rank + 1, ask_short)
        elif category == "medium":
            await ep.request_medium(ep.rank + 1, ask, payload)
        else:
            await ep.request_long(ep.rank + 1, ask, payload, 0)
        await ep.block_until(lambda trip=trip: answered >= trip)


@pytest.mark.parametrize(
    ("spec", "ranks"),
    # With more ranks the pairs of sunfire share a host.
    [*((spec, ranks) for spec in ("sci", "loggp") for ranks in (2, 64, 1024)), ("sunfire", 2)],
)
def test_short(bench: Any, make_job: Callable[..., Any], spec: str, ranks: int) -> None:
    """Short: the figure to watch, and the number of its events."""
    trips = TRIPS[ranks]

    def make(count: int) -> Any:
        return make_job(ping_pong, count, "short", 0, ranks=ranks, spec=spec)

    figure = bench.measure(f"short round trip, {spec}, {ranks} ranks", make, trips, count=trips * ranks // 2, before=1)
    if spec in EVENTS and ranks == 2:
        assert figure.events <= EVENTS[spec]


@pytest.mark.parametrize(("category", "nbytes"), [("medium", 512), ("long", LONG)])
@pytest.mark.parametrize("spec", ["sci", "sunfire", "loggp"])
def test_payload(bench: Any, make_job: Callable[..., Any], spec: str, category: str, nbytes: int) -> None:
    """Medium of 512 bytes, and long of 64 KB."""
    trips = 500

    def make(count: int) -> Any:
        return make_job(ping_pong, count, category, nbytes, ranks=2, spec=spec, segment=LONG)

    bench.measure(f"{category} of {nbytes} bytes, {spec}, 2 ranks", make, trips, before=1)


BELOW = {"sunmpi": "sunfire", "scampi": "sci", "start": "startx"}
"""The network of Active Messages on the interconnect of each simulated MPI library."""
TIMES = {"sunmpi": 1.5}  # a short round trip of that network, at most


async def mpi_ping_pong(ep: Any, trips: int) -> None:
    """Send 8 bytes there and back so often."""
    async with entered(ep) as comm:
        data = np.zeros(8, np.uint8)
        for _ in range(trips):
            if comm.rank == 0:
                await comm.Send(data, 1)
                await comm.Recv(data, 1)
            else:
                await comm.Recv(data, 0)
                await comm.Send(data, 0)


@pytest.mark.parametrize("library", BELOW)
def test_mpi(bench: Any, make_job: Callable[..., Any], library: str) -> None:
    """A ping-pong of 8 bytes, as a ratio to a short round trip on the same interconnect, between the same rounds."""

    def make(count: int) -> Any:
        return make_job(mpi_ping_pong, count, ranks=2, ranks_per_host=1, spec=f"mpi:library={library}")

    def short_trip() -> float:
        took = []
        for trips in (1, 1 + TRIPS[2]):
            job = make_job(ping_pong, trips, "short", 0, ranks=2, ranks_per_host=1, spec=BELOW[library])
            begin = time.process_time()
            job.run()
            took.append(time.process_time() - begin)
        return (took[1] - took[0]) / TRIPS[2]

    figure = bench.measure(f"ping-pong of MPI, {library}, 2 ranks", make, TRIPS[2], before=1, bare=short_trip)
    assert figure.ratio <= TIMES.get(library, figure.ratio)
