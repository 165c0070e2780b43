"""Messages that no receive takes are told when the job is over: MPI forbids them, and programs would not know."""

import numpy as np
import pytest

from conduit import ConduitWarning
from conduits.mpi import MPI

LIBRARIES = ["scampi", "sunmpi", "start"]
BYTES = np.zeros(8, np.uint8)


async def sent(comm, tag):
    """Rank 0 sends what nobody receives; rank 1 looks at it so late that it has come."""
    if comm.rank == 0:
        await comm.Send(BYTES, 1, tag)
    await comm.Barrier()
    await comm.Barrier()


async def sent_last(comm):
    if comm.rank == 0:
        await comm.Send(BYTES, 1, 5)


async def other_calls(comm):
    if comm.rank == 0:
        await comm.Bcast(BYTES.copy(), 0)
        await comm.Send(BYTES, 1)
    else:
        await comm.Recv(BYTES.copy(), 0)


async def all_received(comm):
    """Of every way to receive one."""
    if comm.rank == 0:
        for tag in range(5):
            await comm.Send(BYTES, 1, tag)
    else:
        for tag in range(2):
            await comm.Recv(BYTES.copy(), 0, tag)
        request = await comm.Irecv(BYTES.copy(), MPI.ANY_SOURCE, 2)
        await request.Wait()
        message = await comm.Mprobe(0, 3)
        await message.Recv(BYTES.copy())
        never = await comm.Irecv(BYTES.copy(), 0, 99)
        await never.Cancel()
        await never.Wait()
        await comm.Recv(BYTES.copy(), 0, MPI.ANY_TAG)
    await comm.Allreduce(np.ones(3), np.zeros(3))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_message_that_was_there_is_told_with_its_source_and_tag(library):
    with pytest.warns(ConduitWarning) as told:
        MPI.run(sent, 7, library=library, ranks=2)
    assert [str(each.message) for each in told] == [
        "rank 1: 1 message from rank 0, tag 7, on MPI_COMM_WORLD, never received"
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_message_that_was_on_its_way_is_told(library):
    with pytest.warns(ConduitWarning, match="1 message .*never received"):
        MPI.run(sent_last, library=library, ranks=2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_collective_calls_of_some_ranks_alone_are_told(library):
    with pytest.warns(ConduitWarning) as told:
        MPI.run(other_calls, library=library, ranks=2)
    line = other_calls.__code__.co_firstlineno + 2
    assert [str(each.message) for each in told] == [
        f"rank 0: Bcast on MPI_COMM_WORLD, at {__file__}:{line}, was called by rank 0, and not by rank 1: all ranks "
        "make the same collective calls",
        "rank 1: 1 message of other communicators, or of collective calls that not all ranks have made alike, never "
        "received",
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_is_told_where_all_was_received(library):
    assert MPI.run(all_received, library=library, ranks=2).warnings == [[], []]
