"""Processes that reach one another by TCP, as those of two hosts do: MPICH can be told to; other MPIs do not listen."""

import pytest

pytestmark = pytest.mark.slow

BY_TCP = {"MPIR_CVAR_NOLOCAL": "1", "MPIR_CVAR_CH4_NETMOD": "ofi", "FI_PROVIDER": "tcp"}

BARE = """
import numpy
from mpi4py import MPI

MPI.COMM_WORLD.Allreduce(numpy.ones(1), numpy.zeros(1))
"""

PROGRAM = """
import numpy as np

from extended import Extended

async def main(ep):
    x = await Extended.attach(ep)
    there = (ep.rank + 1) % ep.size
    await x.put(there, 0, np.full(100_000, ep.rank, np.uint8))
    await x.barrier()
    before = (ep.rank - 1) % ep.size
    assert (ep.segment[:100_000] == before).all()
    if ep.rank == 0:
        print("all is there")
"""


@pytest.fixture
def by_tcp(shell):
    """Let the processes of this test meet by TCP alone."""
    shell.environment |= BY_TCP
    bare = shell.mpiexec(2, shell.file(BARE, "bare.py"))
    if bare.status:
        pytest.skip(f"the MPI of this machine has no TCP: {bare.err}")


def test_a_job_by_tcp_does_its_work_and_ends_well(by_tcp, run_program):
    done = run_program(PROGRAM, ranks=2)
    assert (done.status, done.err) == (0, "")
    assert done.lines[0] == "all is there"


def test_segments_of_one_host_end_well_where_mpi_also_has_tcp(by_tcp, shell, run_program):
    del shell.environment["MPIR_CVAR_NOLOCAL"]
    done = run_program(PROGRAM, ranks=2)
    assert (done.status, done.err) == (0, "")
