"""Ranks that give a collective buffers of different sizes are told which call it was, and both sizes."""

import re

import numpy as np
import pytest

from conduits.mpi import MPI
from conduits.mpi.errors import ErrorClass, MpiError

SHORT, LONG = 2, 4  # doubles of rank 0 and of the others; of each rank's part, where there are parts


def ones(count):
    return np.ones(count)


CALLS = {
    "Bcast": lambda comm, n: comm.Bcast(ones(n), root=1),
    "Reduce": lambda comm, n: comm.Reduce(ones(n), ones(n)),
    "Allreduce": lambda comm, n: comm.Allreduce(ones(n), ones(n)),
    "Scan": lambda comm, n: comm.Scan(ones(n), ones(n)),
    "Exscan": lambda comm, n: comm.Exscan(ones(n), ones(n)),
    "Gather": lambda comm, n: comm.Gather(ones(n), ones(n * comm.size)),
    "Allgather": lambda comm, n: comm.Allgather(ones(n), ones(n * comm.size)),
    "Scatter": lambda comm, n: comm.Scatter(ones(n * comm.size), ones(n), root=1),
    "Alltoall": lambda comm, n: comm.Alltoall(ones(n * comm.size), ones(n * comm.size)),
    "Reduce_scatter_block": lambda comm, n: comm.Reduce_scatter_block(ones(n * comm.size), ones(n)),
}


@pytest.mark.parametrize(("library", "per_host"), [("scampi", 1), ("sunmpi", 1), ("sunmpi", 2), ("start", 1)])
@pytest.mark.parametrize("longer", ["rank 0", "the others"])
@pytest.mark.parametrize("call", CALLS)
def test_the_collective_is_named_with_both_sizes(call, longer, library, per_host):
    async def main(comm):
        await CALLS[call](comm, LONG if (comm.rank == 0) == (longer == "rank 0") else SHORT)

    with pytest.raises(MpiError) as raised:
        MPI.run(main, library=library, ranks=2, ranks_per_host=per_host)
    assert raised.value.Get_error_class() == ErrorClass.ERR_TRUNCATE
    found = re.fullmatch(
        rf"MPI {call} .*on MPI_COMM_WORLD: rank ([01]) sent (\d+) bytes where (\d+) were counted on; make the same "
        r"collective calls in the same order on all ranks, with counts, datatypes, root and algorithm= that agree",
        str(raised.value),
    )
    assert found, str(raised.value)
    parts = 2 if call == "Reduce_scatter_block" else 1  # of this all parts may travel together
    assert {int(found[2]), int(found[3])} in ({8 * SHORT, 8 * LONG}, {8 * SHORT * parts, 8 * LONG * parts})


@pytest.mark.parametrize(("long", "short"), [(500, 0), (500, 31), (500, 32), (500, 33), (193, 32), (20_000, 30)])
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("call", ["Reduce", "Allreduce", "Reduce_scatter_block"])
def test_a_rank_that_has_too_little_to_read_what_others_write_keeps_nobody_from_being_told(call, ranks, long, short):
    """What others write for it in the buffers of the host is never read."""

    async def main(comm):
        await CALLS[call](comm, short if comm.rank == ranks - 1 else long)

    with pytest.raises(
        MpiError, match=rf"^MPI {call} .*: rank \d sent \d+ bytes where \d+ were counted on; make the same"
    ):
        MPI.run(main, library="sunmpi", ranks=ranks, ranks_per_host=ranks)


def test_what_is_longer_than_a_receive_of_the_program_s_own_is_told_as_that():
    async def main(comm):
        await comm.Sendrecv(ones(LONG), 1 - comm.rank, 0, ones(SHORT), 1 - comm.rank, 0)

    said = rf"^the message of 32 bytes from rank [01], tag 0, sent at {__file__}:\d+, is longer than the buffer of"
    with pytest.raises(MpiError, match=said):
        MPI.run(main, library="scampi", ranks=2)
