"""Programs that receive into what another open request sends or receives are warned, with both lines."""

import re
import warnings

import numpy as np
import pytest

from conduit import ConduitWarning
from conduits.mpi import MPI

LIBRARIES = ["scampi", "sunmpi", "start"]


def shared(main, library="scampi", ranks=2):
    """Run a program; return what it is warned of: on which ranks, how many buffers of which call, and beside which."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", ConduitWarning)
        MPI.run(main, ranks=ranks, library=library)
    said = [
        re.search(r"(ranks? \S+): (\d+) buffers? of (\w+) at \S+:\d+ shared bytes with that of (\w+), begun at", text)
        for text in (str(each.message) for each in found)
    ]
    assert None not in said, [str(each.message) for each in found]
    return [each.groups() for each in said]


async def halves(comm, begin_first, second):
    """Rank 0 begins two requests of buffers that share two elements; rank 1 does what they need."""
    a = np.zeros(8)
    if comm.rank == 0:
        first = await getattr(comm, begin_first)(a[:5], 1, 1)
        other = await getattr(comm, second)(a[3:], 1, 2)
        await MPI.Request.Waitall([first, other])
        for _ in range(3):  # what was waited for is the program's again
            await (await getattr(comm, second)(a, 1, 3)).Wait()
    else:
        counts = [(5, begin_first, 1), (5, second, 2), *[(8, second, 3)] * 3]
        for count, call, tag in counts:
            await (comm.Send if call == "Irecv" else comm.Recv)(np.zeros(count), 0, tag)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("first", "second", "told"),
    [("Isend", "Irecv", True), ("Irecv", "Isend", True), ("Irecv", "Irecv", True), ("Isend", "Isend", False)],
)
def test_two_open_requests_of_which_one_receives_are_told(library, first, second, told):
    async def main(comm):
        await halves(comm, first, second)

    assert shared(main, library) == [("rank 0", "1", second, first)] * told


def test_buffers_side_by_side_and_those_of_nobody_are_not_told():
    async def main(comm):
        a, other = np.zeros(8), 1 - comm.rank
        requests = [await comm.Irecv(a[2 * n : 2 * n + 2], other, n) for n in (3, 0, 2, 1)]
        requests += [await comm.Isend(np.ones(2), other, n) for n in range(4)]
        requests += [await comm.Irecv(a, MPI.PROC_NULL), await comm.Irecv(a[:0], other, 7)]
        await comm.Send(a[:0], other, 7)
        await MPI.Request.Waitall(requests)

    assert shared(main) == []


def test_a_window_of_receives_into_one_buffer_is_told_once_on_each_rank():
    async def main(comm):
        a = np.zeros(4)
        if comm.rank:
            await MPI.Request.Waitall([await comm.Irecv(a, 0) for _ in range(8)])
        else:
            for _ in range(8):
                await comm.Send(a, 1)

    assert shared(main) == [("rank 1", "7", "Irecv", "Irecv")]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("call", ["Recv", "Sendrecv", "Sendrecv_replace"])
def test_a_receive_that_waits_by_itself_into_what_is_being_sent_is_told(library, call):
    async def main(comm):
        a, other = np.ones(4), 1 - comm.rank
        request = await comm.Isend(a, other)
        match call:
            case "Recv":
                await comm.Recv(a, other)
            case "Sendrecv":
                await comm.Sendrecv(np.ones(2), other, 1, a, other, 0)
                await comm.Recv(np.ones(2), other, 1)
            case _:
                await comm.Sendrecv_replace(a, other, 0, other, 0)
                await comm.Recv(np.ones(4), other)
        await request.Wait()
        await comm.Sendrecv_replace(a, other, 0, other, 0)

    assert shared(main, library) == [("ranks 0-1", "1", call, "Isend")]


def test_a_send_of_what_is_being_received_is_told_and_one_of_the_same_is_not():
    async def main(comm):
        a, b, other = np.ones(4), np.ones(4), 1 - comm.rank
        requests = [await comm.Irecv(a, other), await comm.Isend(b, other)]
        await comm.Send(a, other, 1)
        await comm.Send(b, other, 2)
        await MPI.Request.Waitall(requests)
        for tag in (1, 2):
            await comm.Recv(a, other, tag)

    assert shared(main) == [("ranks 0-1", "1", "Send", "Irecv")]


def test_a_request_that_the_program_has_let_go_lends_nothing():
    async def main(comm):
        a, other = np.ones(4), 1 - comm.rank
        request = await comm.Isend(a, other)
        await request.Free()
        await comm.Recv(a, other)

    assert shared(main) == []


def test_a_buffer_that_only_its_request_has_is_not_given_out_again_before_it_is_waited_for():
    async def main(comm):
        other = 1 - comm.rank
        MPI.Attach_buffer(np.zeros(100_000, np.uint8))
        sends = [await comm.Ibsend(np.full(40, n), other, n) for n in range(20)]  # which has copied it
        receives = [await comm.Irecv(np.zeros(40, int), other, n) for n in range(20)]
        await MPI.Request.Waitall([*sends, *receives])

    assert shared(main) == []
