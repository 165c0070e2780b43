"""What Active Messages on a simulated library take beside MPI's own calls: their software, and copies of payloads."""

import numpy as np
import pytest

import conduit
from conduits.mpi import MPI
from conduits.mpi.wire import BARE
from conduits.sci import constants as sci
from conduits.startx import constants as startx
from conduits.sunfire import constants as sunfire

LIBRARIES = ("scampi", "sunmpi", "start")
COPY = {
    library: (machine.ps(machine.COPY_START) / 1e6, machine.COPY_RATE.value)
    for library, machine in (("scampi", sci), ("sunmpi", sunfire), ("start", startx))
}
"""Of a processor of each library's hosts: us before the first byte, bytes per us."""
TEST = {"scampi": 0.05, "sunmpi": 0.03, "start": 0.12}
REQUEST = {"scampi": 0.6 + 0.6 + 0.9, "sunmpi": 0.1 + 0.03 + 0.15, "start": 1.2}
"""Checks, slot, header."""


def copy(library, nbytes):
    start, rate = COPY[library]
    return start + nbytes / rate


async def requests(ep, sends):
    """Rank 0 makes each request when all is quiet; return how long its calls take, and when the handlers begin, us."""
    took, began, seen = [], [], []

    def take(token, *payload):
        seen.append(ep.now * 1e6)

    await ep.attach(take)
    for number, (category, nbytes) in enumerate(sends):
        await ep.attach()
        await ep.compute(100e-6)
        began.append(ep.now * 1e6)
        if ep.rank:
            await ep.block_until(lambda number=number: len(seen) > number)
        elif category == "short":
            await ep.request_short(1, take)
        elif category == "medium":
            await ep.request_medium(1, take, bytes(nbytes))
        else:
            await ep.request_long(1, take, bytes(nbytes), 0)
        took.append(ep.now * 1e6 - began[-1])
        while ep.rank == 0 and ep.now * 1e6 < began[-1] + 2000:
            await ep.poll()  # a rendezvous, the empty answer
    return took, [when - begin for when, begin in zip(seen, began, strict=False)]


def of_requests(library, *sends):
    """Return of each request, the first one apart, which makes connections: call at its sender, and way to its handler.

    A request is a category and a size.
    """
    options = {"conduit": f"mpi:library={library}", "ranks_per_host": 1}
    (took, _), (_, ways) = conduit.run(requests, [("short", 0), *sends], **options).values
    return took[1:], ways[1:]


async def sends(comm, *sizes):
    """Return how long calls of Send take when all is quiet, us."""
    ep, took = conduit.current(), []
    for size in (0, *sizes):
        data = np.zeros(size, np.uint8)
        await comm.Barrier()
        await ep.compute(100e-6)
        begun = ep.now
        await (comm.Recv(data, 0) if comm.rank else comm.Send(data, 1))
        took.append((ep.now - begun) * 1e6)
    return took[1:]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_request_takes_the_layer_s_software_beside_mpi_s_call(library):
    """And three questions: two of its poll after receives, one after the last send from there."""
    ((call,), _) = of_requests(library, ("short", 0))
    (plain,) = MPI.run(sends, BARE, ranks=2, ranks_per_host=1, library=library).values[0]
    assert call - plain == pytest.approx(REQUEST[library] + 3 * TEST[library], abs=1e-4)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("category", ["medium", "long"])
def test_a_payload_behind_its_header_is_copied_there_by_its_sender(library, category):
    size = 900
    (none, some), _ = of_requests(library, ("short", 0), (category, size))
    bare, full = MPI.run(sends, BARE, BARE + size, ranks=2, ranks_per_host=1, library=library).values[0]
    assert (some - none) - (full - bare) == pytest.approx(copy(library, size), abs=1e-4)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("size", [1, 900, 8192])
def test_a_long_payload_behind_its_header_is_copied_into_the_segment_by_its_receiver(library, size):
    _, (medium, long) = of_requests(library, ("medium", size), ("long", size))
    assert long - medium == pytest.approx(copy(library, size), abs=1e-4)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_long_payload_that_travels_by_itself_is_copied_by_nobody_but_the_library(library):
    """All three send it by rendezvous, so that its bytes are nothing to the call."""
    (_, less, more), _ = of_requests(library, *(("long", nbytes) for nbytes in (300_000, 300_000, 400_000)))
    assert less == pytest.approx(more, abs=1e-4)
