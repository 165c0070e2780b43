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
        re.search(r"(ranks? \S+): (\d+) buffers? of (.+?) at \S+:\d+ shared bytes with that of (.+?), begun at", text)
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


@pytest.mark.parametrize("call", ["Ssend", "Bsend", "Rsend"])
def test_each_send_that_waits_by_itself_of_what_is_being_received_is_told(call):
    async def main(comm):
        a, other = np.ones(4), 1 - comm.rank
        MPI.Attach_buffer(np.zeros(1000, np.uint8))
        requests = [await comm.Irecv(a, other, 1), await comm.Irecv(np.zeros(4), other, 2)]
        await comm.Barrier()
        await getattr(comm, call)(a, other, 2)
        await comm.Send(np.ones(4), other, 1)
        await MPI.Request.Waitall(requests)
        await comm.Send(a, MPI.PROC_NULL)

    assert shared(main) == [("ranks 0-1", "1", call, "Irecv")]


def test_an_exchange_that_sends_what_is_being_received_is_told():
    async def main(comm):
        a, other = np.ones(4), 1 - comm.rank
        request = await comm.Irecv(a, other, 1)
        await comm.Sendrecv(a, other, 2, np.zeros(4), other, 2)
        await comm.Sendrecv(a, MPI.PROC_NULL, 2, np.zeros(4), MPI.PROC_NULL, 2)
        await comm.Send(np.ones(4), other, 1)
        await request.Wait()

    assert shared(main) == [("ranks 0-1", "1", "Sendrecv", "Irecv")]


@pytest.mark.parametrize("library", LIBRARIES)
def test_persistent_requests_have_their_buffers_from_each_start_to_its_wait(library):
    async def main(comm):
        a, other = np.ones(4), 1 - comm.rank
        send, receive = comm.Send_init(a, other), comm.Recv_init(a, other)
        await comm.Barrier()
        for _ in range(3):  # one after the other: right
            if comm.rank:
                await send.Start()
                await send.Wait()
                await comm.Recv(a, other)
            else:
                await receive.Start()
                await receive.Wait()
                await comm.Send(a, other)
        for _ in range(2):  # both at once: wrong
            await send.Start()
            await MPI.Prequest.Startall([receive])
            await MPI.Request.Waitall([send, receive])
        await comm.Bcast(a)

    assert shared(main, library) == [("ranks 0-1", "2", "Recv_init (Startall)", "Send_init (Start)")]


def test_persistent_requests_of_nobody_that_were_freed_or_that_send_the_same_are_not_told():
    async def main(comm):
        a, other = np.ones(4), 1 - comm.rank
        nobody = [comm.Send_init(a, MPI.PROC_NULL), comm.Recv_init(a, MPI.PROC_NULL)]
        sends = [comm.Send_init(a, other, tag) for tag in range(3)]
        await MPI.Prequest.Startall([*nobody, *sends])
        for tag in range(3):
            await comm.Recv(np.zeros(4), other, tag)
        await MPI.Request.Waitall(sends[1:])
        await sends[0].Free()
        await comm.Bcast(a)
        await MPI.Request.Waitall(nobody)

    assert shared(main) == []


@pytest.mark.parametrize(
    ("call", "in_place", "told"),
    [
        ("Ibcast", False, {"root": ["Irecv"], "other": ["Irecv", "Isend"]}),
        ("Iallreduce", False, {"send": ["Irecv"], "receive": ["Irecv", "Isend"]}),
        ("Iallreduce", True, {"receive": ["Irecv", "Isend"]}),
        ("Ialltoall", False, {"send": ["Irecv"], "receive": ["Irecv", "Isend"]}),
        ("Ialltoall", True, {"receive": ["Irecv", "Isend"]}),
    ],
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_collectives_that_were_begun_have_their_buffers_until_they_are_waited_for(library, call, in_place, told):
    async def main(comm, side, message):
        a, b, other = np.ones(4), np.ones(4), 1 - comm.rank
        if call == "Ibcast":
            shares = comm.rank == (side == "other")
            collective = await comm.Ibcast(a, 0)
        else:
            shares = True
            if in_place:
                b = MPI.IN_PLACE
            collective = await getattr(comm, call)(*((b, a) if side == "receive" else (a, b)))
        messages = [await getattr(comm, message)(a if shares else np.ones(4), other, 1)]
        messages.append(await comm.Irecv(np.ones(4), other, 1) if message == "Isend" else None)
        if message == "Irecv":
            await comm.Send(np.ones(4), other, 1)
        await MPI.Request.Waitall([collective, *filter(None, messages)])
        await comm.Recv(a, MPI.PROC_NULL)
        await comm.Allreduce(MPI.IN_PLACE, a)

    ranks = {"root": "rank 0", "other": "rank 1"}
    for side in ("root", "other") if call == "Ibcast" else ("receive",) if in_place else ("send", "receive"):
        for message in ("Isend", "Irecv"):

            async def program(comm, side=side, message=message):
                await main(comm, side, message)

            expected = [(ranks.get(side, "ranks 0-1"), "1", message, call)] * (message in told[side])
            assert shared(program, library) == expected, (side, message)


def test_a_collective_that_waits_by_itself_is_told_of_each_line_once_a_call():
    async def main(comm):
        a, other = np.zeros(8), 1 - comm.rank
        receives = [await comm.Irecv(a[n : n + 1], other, n) for n in range(4)]
        send = await comm.Isend(a[4:], other, 4)
        await comm.Gather(a[:4], np.zeros(8) if comm.rank == 0 else None)  # reads what is received
        await comm.Allreduce(a[4:], np.zeros(4))  # reads what is sent
        for n in range(4):
            await comm.Send(np.ones(1), other, n)
        await comm.Recv(np.zeros(4), other, 4)
        await MPI.Request.Waitall([*receives, send])

    assert shared(main) == [("ranks 0-1", "1", "Gather", "Irecv")]


def test_the_block_that_stays_in_place_is_not_moved():
    async def main(comm):
        a, me, other = np.zeros(4), comm.rank, 1 - comm.rank
        send = await comm.Isend(a[2 * me : 2 * me + 2], other)
        await comm.Allgather(MPI.IN_PLACE, a)
        await comm.Recv(np.zeros(2), other)
        await send.Wait()

    assert shared(main) == []


def test_a_request_that_get_status_says_is_over_has_given_its_buffer_back():
    async def main(comm):
        a, other = np.zeros(4), 1 - comm.rank
        receive = await comm.Irecv(a, other)
        await comm.Send(np.ones(4), other)
        await comm.Barrier()
        while not receive.Get_status():
            await comm.Iprobe(other, 9)
        await comm.Bcast(a)
        await receive.Wait()

    assert shared(main) == []


@pytest.mark.parametrize(
    ("call", "buffers"),
    [
        ("Allreduce", lambda a: (a[:4], a[3:7])), ("Reduce", lambda a: (a[:4], a[3:7])),
        ("Scan", lambda a: (a[:4], a[:4])), ("Exscan", lambda a: (a[:4], a[:4])),
        ("Allgather", lambda a: (a[:1], a[:2])), ("Allgatherv", lambda a: (a[:1], a[:2])),
        ("Alltoall", lambda a: (a[:4], a[2:6])), ("Alltoallv", lambda a: (a[:4], a[2:6])),
        ("Gather", lambda a: (a[:1], a[:2])), ("Gatherv", lambda a: (a[:1], a[:2])),
        ("Scatter", lambda a: (a[:2], a[:1])), ("Scatterv", lambda a: (a[:2], a[:1])),
        ("Reduce_scatter", lambda a: (a[:2], a[:1], [1, 1])), ("Reduce_scatter_block", lambda a: (a[:2], a[:1])),
        ("Iallreduce", lambda a: (a[:4], a[3:7])), ("Ialltoall", lambda a: (a[:4], a[3:7])),
    ],
)  # fmt: skip
def test_the_two_buffers_of_a_collective_share_no_bytes(call, buffers):
    """MPI 4.1, 6.2: the buffers of one call are not aliased, but by IN_PLACE."""

    async def main(comm):
        if comm.rank == 0:
            with pytest.raises(MPI.Exception, match=f"Comm.{call}: sendbuf and recvbuf share bytes") as found:
                await getattr(comm, call)(*buffers(np.zeros(8)))
            assert found.value.Get_error_class() == MPI.ERR_BUFFER

    assert shared(main) == []
