"""What collectives take on simulated libraries, against a model that goes message by message."""

import random
from math import ceil

import numpy as np
import pytest

import conduit
from conduit.sim.topology import Torus, near_cubic
from conduits.mpi import MPI
from conduits.mpi.libraries.scampi import constants as scampi
from conduits.mpi.libraries.start import constants as start
from conduits.mpi.libraries.sunmpi import constants as sunmpi
from conduits.sci import constants as sci
from conduits.startx import constants as startx
from conduits.sunfire import constants as sunfire

from . import messages_one_by_one as one_by_one

BEGIN = 15e-3
"""When all ranks begin, seconds: connections have been made by then."""


def us(constant):
    return scampi.ps(constant) / 1e6


def copying(start, rate):
    return lambda nbytes: us(start) + nbytes / rate.value if nbytes else 0


def costs_of_scampi(size):
    torus = Torus((4, 2) if size <= 8 else near_cubic(size))

    def way(source, target):
        steps = torus.steps(source, target)
        turns = sum(map(bool, steps)) - 1
        ends = us(sci.SEND_LATENCY) + us(sci.RECEIVE_LATENCY)
        return ends + sum(steps) * us(sci.HOP) + turns * us(sci.TURN)

    return one_by_one.Costs(
        poll=us(scampi.POLL) + (size - 1) * us(scampi.POLL_PEER),
        call=us(scampi.CALL),
        send=lambda nbytes: us(scampi.BUILD) + us(sci.PIO_START) + (48 + nbytes) / sci.PIO_RATE.value,
        way=way,
        take=us(scampi.TAKE),
        match=us(scampi.MATCH),
        copy=copying(sci.COPY_START, sci.COPY_RATE),
        answer=lambda nbytes: 0,
        complete=us(scampi.COMPLETE),
    )


def costs_of_sunmpi(size):
    def stores(nbytes):
        lines = ceil((32 + nbytes) / 56)
        return us(sunfire.STORE_START) + lines * us(sunfire.STORE_LINE)

    return one_by_one.Costs(
        poll=us(sunmpi.POLL) + (size - 1) * us(sunmpi.HEAD),
        call=us(sunmpi.CALL),
        send=lambda nbytes: us(sunmpi.SIS_ENTRY) + stores(nbytes),
        way=lambda source, target: 1.148,  # docs/models/sunmpi.md
        take=us(sunmpi.SIS_ENTRY) + us(sunfire.SHARED_LINE),
        match=us(sunmpi.MATCH),
        copy=copying(sunfire.COPY_START, sunfire.COPY_RATE),
        answer=stores,
        complete=us(sunmpi.COMPLETE),
    )


COSTS = {"scampi": costs_of_scampi, "sunmpi": costs_of_sunmpi}
CALLS = [
    ("Barrier", "dissemination", one_by_one.dissemination),
    ("Bcast", "linear", one_by_one.linear_broadcast),
    ("Bcast", "binomial", one_by_one.binomial_broadcast),
    ("Scatter", "linear", one_by_one.linear_scatter),
    ("Gather", "linear", one_by_one.linear_gather),
    ("Allgather", "ring", one_by_one.ring),
    ("Alltoall", "linear", one_by_one.linear_exchange),
    ("Alltoall", "pairwise", one_by_one.pairwise_exchange),
    ("Reduce", "binomial", one_by_one.binomial_reduction),
    ("Allreduce", "recursive-doubling", one_by_one.recursive_doubling),
]


async def timed(comm, call, algorithm, nbytes, starts):
    """Return when a rank is through with a call that ranks begin at these times, microseconds."""
    ep, count = conduit.current(), nbytes // 8
    mine, other = np.zeros(count), np.zeros(count)
    all_of_one, all_of_all = np.zeros(count * comm.size), np.zeros(count * comm.size)
    args = {
        "Barrier": (), "Bcast": (mine,), "Scatter": (all_of_one, mine), "Gather": (mine, all_of_one),
        "Allgather": (mine, all_of_all), "Alltoall": (all_of_one, all_of_all), "Reduce": (mine, other),
        "Allreduce": (mine, other),
    }  # fmt: skip
    for _ in range(2):  # connections are made on first use
        await getattr(comm, call)(*args[call], algorithm=algorithm)
    for _ in range(2):
        await comm.Barrier()
    assert ep.now < BEGIN
    await ep.compute(BEGIN + starts[comm.rank] * 1e-6 - ep.now)
    await getattr(comm, call)(*args[call], algorithm=algorithm)
    return (ep.now - BEGIN) * 1e6


@pytest.mark.parametrize("apart", [0, 20], ids=["together", "apart"])
@pytest.mark.parametrize("nbytes", [8, 240])
@pytest.mark.parametrize(("library", "size"), [("scampi", 3), ("scampi", 8), ("scampi", 13), ("sunmpi", 5)])
@pytest.mark.parametrize(("call", "algorithm", "program"), CALLS)
def test_a_collective_takes_what_its_messages_take(call, algorithm, program, library, size, nbytes, apart):
    costs = COSTS[library](size)
    chance = random.Random(size)
    starts = [chance.uniform(0, apart) for _ in range(size)]
    expected = one_by_one.Model(costs, program(size, nbytes, costs.copy), starts).run()
    found = MPI.run(timed, call, algorithm, nbytes, starts, ranks=size, library=library, ranks_per_host=1).values
    assert max(found) == pytest.approx(max(expected), rel=0.04, abs=costs.poll)


def made_each(library, nbytes):
    """Return how long a rank's CPU takes for one send of many, microseconds."""
    if library != "start":
        costs = COSTS[library](8)
        return costs.call + costs.send(nbytes) + costs.complete
    packets = ceil((28 + nbytes) / 84)
    words = [8 + 4 + min(84, 28 + nbytes - 84 * number) for number in range(packets)]
    stores = sum(us(startx.SEND_START) + us(startx.STDA) * ceil(each / 64) for each in words)
    return us(start.CALL) + us(start.LAYERS) + stores + us(start.COMPLETE)


@pytest.mark.parametrize("nbytes", [8, 240])
@pytest.mark.parametrize("library", ["scampi", "sunmpi", "start"])
def test_each_of_many_sends_leaves_when_it_has_been_made(library, nbytes):
    """Not when all have been: a rank's CPU does what calls ask for in their order."""
    found = MPI.run(timed, "Bcast", "linear", nbytes, [0] * 8, ranks=8, library=library, ranks_per_host=1).values
    each = made_each(library, nbytes)
    assert found[2] - found[1] == pytest.approx(each, rel=0.1, abs=1.5 if library == "start" else 0.5)
    assert found[0] == pytest.approx(7 * each, rel=0.03, abs=3.1 if library == "start" else 0.2)


@pytest.mark.parametrize("library", ["scampi", "sunmpi", "start"])
def test_what_a_root_keeps_it_copies_when_its_stores_are_made(library):
    """One CPU stores and copies."""
    nbytes = 1000

    def alone(call):
        return MPI.run(timed, call, "linear", nbytes, [0] * 2, ranks=2, library=library, ranks_per_host=1).values[0]

    host = {"scampi": sci, "sunmpi": sunfire, "start": startx}[library]
    copy = copying(host.COPY_START, host.COPY_RATE)(nbytes)
    assert alone("Scatter") - alone("Bcast") == pytest.approx(copy, rel=0.01)
