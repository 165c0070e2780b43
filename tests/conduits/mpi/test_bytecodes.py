"""What a ping-pong of MPI costs to simulate: bytecodes, events and steps of tasks, the same on every computer."""

import sys

import numpy as np
import pytest

import conduit
from conduit import trio_private
from conduit.sim.hooks import TaskHooks
from conduits.mpi.program import entered

BYTECODES = {"scampi": 6695, "sunmpi": 5870, "start": 7042}
"""Of 8 bytes there and back between two hosts, the program's own included, and some that tests before may add; they may
fall, not rise."""
EVENTS = {"scampi": 6.4, "sunmpi": 6.1, "start": 6.1}
"""Of the same."""
STEPS = 2.1
"""Of tasks: on each side one when its message has come, made by the kernel, not by Trio's loop; a send needs none."""


async def round_trips(ep, count):
    """A program of MPI alone."""
    async with entered(ep) as comm:
        data = np.zeros(8, np.uint8)
        for _ in range(count):
            if comm.rank == 0:
                await comm.Send(data, 1)
                await comm.Recv(data, 1)
            else:
                await comm.Recv(data, 0)
                await comm.Send(data, 0)


def steps_of_tasks(turns, spec):
    """Return how often a task of the job is made to go on."""
    steps = 0

    def count(frame, event, arg):
        nonlocal steps
        steps += event == "call" and frame.f_code in (TaskHooks.before_task_step.__code__, trio_private.step.__code__)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        conduit.run(round_trips, turns, conduit=spec, ranks_per_host=1)
    finally:
        sys.setprofile(before)
    return steps


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecodes")
@pytest.mark.parametrize("library", BYTECODES)
def test_a_round_trip_takes_no_more_bytecodes_than_it_did(library, bytecodes):
    def of(turns):
        return bytecodes(round_trips, turns, conduit=f"mpi:library={library}", ranks_per_host=1)

    of(1)  # what is made once for the process
    assert 2000 < (of(40) - of(20)) / 20 <= BYTECODES[library]


@pytest.mark.parametrize("library", EVENTS)
def test_a_round_trip_takes_no_more_events_than_it_did(library, jobs):
    for turns in (10, 110):
        conduit.run(round_trips, turns, conduit=f"mpi:library={library}", ranks_per_host=1)
    few, many = (job.kernel.events for job in jobs)
    assert 3 < (many - few) / 100 <= EVENTS[library]


@pytest.mark.parametrize("library", EVENTS)
def test_in_a_round_trip_each_task_is_woken_once_alone(library):
    spec = f"mpi:library={library}"
    assert 1 <= (steps_of_tasks(110, spec) - steps_of_tasks(10, spec)) / 100 <= STEPS
