"""Messages that no receive takes are told when the job is over: MPI forbids them, and programs would not know."""

import numpy as np
import pytest

from conduit import ConduitWarning, Deadlock
from conduits.mpi import MPI

LIBRARIES = ["scampi", "sunmpi", "start"]
BYTES = np.zeros(8, np.uint8)


def line_of(function, number):
    """Return a line of a function, from 0 for that of its name."""
    return f"{__file__}:{function.__code__.co_firstlineno + number}"


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
        f"rank 1: 1 message from rank 0, tag 7, on MPI_COMM_WORLD, sent at {line_of(sent, 3)}, never received"
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_message_that_was_on_its_way_is_told_likewise(library):
    with pytest.warns(ConduitWarning) as told:
        MPI.run(sent_last, library=library, ranks=2)
    assert [str(each.message) for each in told] == [
        f"rank 1: 1 message from rank 0, tag 5, on MPI_COMM_WORLD, sent at {line_of(sent_last, 2)}, never received"
    ]


async def by_other_calls(comm):
    if comm.rank == 0:
        await comm.Send(BYTES, 1, 1)
        await comm.Send(BYTES, 1, 1)
        await comm.Bsend(BYTES, 1, 2)
        request = await comm.Isend(BYTES, 1, 3)
        await request.Wait()
        await comm.Sendrecv(BYTES, 1, 4, BYTES.copy(), 1, 0)
        for _ in range(2):
            await comm.Send(BYTES, 1, 5)
    else:
        await comm.Recv(BYTES.copy(), 0, 1)
        await comm.Send(BYTES, 0, 0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_of_several_the_lines_are_those_of_the_last_sends(library):
    async def main(comm):
        if comm.rank == 0:
            MPI.Attach_buffer(bytearray(1000))
        await by_other_calls(comm)

    with pytest.warns(ConduitWarning) as told:
        MPI.run(main, library=library, ranks=2)
    assert [str(each.message) for each in told] == [
        f"rank 1: {count} from rank 0, tag {tag}, on MPI_COMM_WORLD, sent at {line_of(by_other_calls, line)}, never "
        "received"
        for count, tag, line in [
            ("1 message", 1, 3), ("1 message", 2, 4), ("1 message", 3, 5), ("1 message", 4, 7), ("2 messages", 5, 9),
        ]
    ]  # fmt: skip


async def persistent(comm):
    if comm.rank == 0:
        request = comm.Send_init(BYTES, 1, 5)
        await request.Start()
        await request.Wait()
    await comm.Barrier()


def test_of_persistent_sends_the_line_of_the_start_is_told():
    with pytest.warns(ConduitWarning) as told:
        MPI.run(persistent, ranks=2)
    assert [str(each.message) for each in told] == [
        f"rank 1: 1 message from rank 0, tag 5, on MPI_COMM_WORLD, sent at {line_of(persistent, 3)}, never received"
    ]


async def many(comm):
    if comm.rank == 0:
        for _ in range(300):
            await comm.Send(BYTES, 1, 1)
            await comm.Recv(BYTES.copy(), 1, 1)
    else:
        await comm.Send(BYTES, 0, 9)
        for _ in range(300):
            await comm.Recv(BYTES.copy(), 0, 1)
            await comm.Send(BYTES, 0, 1)


def test_a_line_that_is_too_long_ago_is_not_told():
    with pytest.warns(ConduitWarning) as told:
        MPI.run(many, ranks=2)
    assert [str(each.message) for each in told] == [
        "rank 0: 1 message from rank 1, tag 9, on MPI_COMM_WORLD, never received"
    ]


async def only_probed(comm):
    if comm.rank == 0:
        await comm.Send(BYTES, 1, 5)
    else:
        await comm.Mprobe(0, 5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_message_that_was_probed_and_not_received_is_told(library):
    with pytest.warns(ConduitWarning) as told:
        MPI.run(only_probed, library=library, ranks=2)
    assert [str(each.message) for each in told] == [
        "rank 1: 1 message that Mprobe or Improbe has found, never received: `await` the Recv() of each"
    ]


def test_the_report_of_a_deadlock_tells_the_line_of_a_message_that_no_receive_asks_for():
    async def main(comm):
        if comm.rank == 0:
            await comm.Send(BYTES, 1, 5)
        else:
            await comm.Recv(BYTES.copy(), 0, 6)

    with pytest.raises(Deadlock) as caught:
        MPI.run(main, ranks=2)
    line = main.__code__.co_firstlineno + 2
    assert (
        f"\n    1 message from rank 0, tag 5, on MPI_COMM_WORLD, sent at test_never_received.py:{line}: no receive "
        "asks for it" in str(caught.value)
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_collective_calls_of_some_ranks_alone_are_told(library):
    with pytest.warns(ConduitWarning) as told:
        MPI.run(other_calls, library=library, ranks=2)
    line = other_calls.__code__.co_firstlineno + 2
    assert [str(each.message) for each in told] == [
        f"rank 0: Bcast on MPI_COMM_WORLD, at {__file__}:{line}, was called by rank 0, and not by rank 1: all ranks "
        "make the same collective calls",
        "rank 1: 1 message of other communicators, or of collective calls that have failed or that not all ranks have "
        "made alike, never received",
    ]


@pytest.mark.parametrize("library", LIBRARIES)
def test_nothing_is_told_where_all_was_received(library):
    assert MPI.run(all_received, library=library, ranks=2).warnings == [[], []]
