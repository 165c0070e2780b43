"""Programs of MPI alone tell of their messages and collectives, and do nothing else for it."""

from collections import Counter

import numpy as np
import pytest

import conduit
from conduit.launch.tracing import reporting
from conduits.mpi import MPI
from conduits.mpi.program import entered

LIBRARIES = ("scampi", "sunmpi", "start")


def reported(program, *args, library="scampi", ranks=4):
    """What a program of MPI alone comes to: its result, and its report."""
    with reporting() as reports:
        result = MPI.run(program, *args, library=library, ranks=ranks)
    (found,) = reports
    return result, found


async def sends_in_all_ways(comm):
    """Every rank sends to the next one, each time as many bytes as there were messages before."""
    there, here = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    out, into = np.zeros(64, np.uint8), np.zeros((8, 8), np.uint8)
    MPI.Attach_buffer(np.zeros(1000, np.uint8))
    receives = [await comm.Irecv(into[number, :number], here, number) for number in range(8)]
    await comm.Send(out[:0], there, 0)
    await comm.Bsend(out[:1], there, 1)
    sends = [await comm.Isend(out[:2], there, 2), await comm.Issend(out[:3], there, 3)]
    await comm.Sendrecv(out[:4], there, 4, into[:0], MPI.PROC_NULL)
    await comm.Sendrecv_replace(out[:5], there, 5, MPI.PROC_NULL)
    persistent = comm.Send_init(out[:6], there, 6)
    await persistent.Start()
    await comm.Rsend(out[:7], there, 7)
    await comm.Send(out, MPI.PROC_NULL)
    await persistent.Wait()
    await MPI.Request.Waitall([*receives, *sends])


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_send_is_in_the_matrix(library):
    result, report = reported(sends_in_all_ways, library=library)
    found = report.profile
    assert found.messages == {(rank, (rank + 1) % 4): 8 for rank in range(4)}
    assert found.nbytes == {(rank, (rank + 1) % 4): 28 for rank in range(4)}
    assert found.sizes == {"messages": Counter(dict.fromkeys(range(8), 4))}
    assert sum(found.messages.values()) == sum(counts["mpi_sends"] for counts in result.statistics)
    lines = [line for line in found.lines if line.requests]
    assert sorted(line.requests for line in lines) == [4] * 6 + [8]  # one line has two sends
    assert all(" in sends_in_all_ways" in line.place for line in lines)


async def short_ones(comm):
    """All ranks send to their neighbours, and wait for them by turns: some sends find nothing in their way."""
    after, before = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    out, into = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    for number in range(40):
        size = number * 7 % 30
        if comm.rank or number % 3:
            await comm.Send(out[:size], after)
        await comm.Recv(into[:size], before)
        if not (comm.rank or number % 3):
            await comm.Send(out[:size], after)
    return into.tolist()


@pytest.mark.parametrize("ranks", [2, 5])
@pytest.mark.parametrize("library", LIBRARIES)
def test_sends_that_are_made_at_once_take_the_times_of_those_that_are_not(library, ranks):
    # What tells of its sends leaves their stores to the worker, as sends of other calls do.
    with reporting():
        told = MPI.run(short_ones, library=library, ranks=ranks, ranks_per_host=1)
    assert told == MPI.run(short_ones, library=library, ranks=ranks, ranks_per_host=1)


async def collects(comm):
    data, mine = np.arange(24.0), np.zeros(6)
    await comm.Barrier()
    await comm.Bcast(data, 1)
    await comm.Scatter(data if comm.rank == 2 else None, mine, 2)
    await comm.Gather(mine, data if comm.rank == 0 else None, 0)
    await comm.Allgather(mine, data)
    await comm.Allgather(MPI.IN_PLACE, data)
    await comm.Alltoall(data.copy(), data)
    await comm.Reduce(mine, mine.copy(), MPI.SUM, 3)
    await comm.Reduce_scatter_block(data, mine)
    await comm.Exscan(mine[:1].copy(), mine[:1])
    request = await comm.Iallreduce(data.copy(), data)
    await request.Wait()
    return data.tolist(), mine.tolist()


GIVEN = {
    "Barrier": {0: 4},
    "Bcast": {192: 4},
    "Scatter": {192: 1, 48: 3},  # the root gives all, the others get
    "Gather": {48: 4},
    "Allgather": {48: 8},
    "Alltoall": {192: 4},
    "Reduce": {48: 4},
    "Reduce_scatter_block": {192: 4},
    "Exscan": {8: 4},
    "Iallreduce": {192: 4},
}
"""Bytes of each call, and how often."""


@pytest.mark.parametrize("library", LIBRARIES)
def test_collectives_count_with_what_each_rank_gives_or_gets(library):
    result, report = reported(collects, library=library)
    found = report.profile
    assert {name: Counter(sizes) for name, sizes in GIVEN.items()} == {
        name: Counter(call.nbytes for call in report.recording.calls if (call.level, call.name) == ("collective", name))
        for name in GIVEN
    }
    assert found.sizes["collective calls"] == sum(map(Counter, GIVEN.values()), Counter())
    assert sum(found.messages.values()) == sum(counts["mpi_sends"] for counts in result.statistics)
    assert sum(line.requests for line in found.lines) == sum(found.messages.values())  # each has its collective's line
    assert result == MPI.run(collects, library=library, ranks=4)  # digest and times too


async def two_halves(comm):
    part = await comm.Split(comm.rank % 2, -comm.rank)
    await part.Send(np.zeros(10, np.uint8), 1 - part.rank)
    await part.Recv(np.zeros(10, np.uint8), 1 - part.rank)
    await part.Barrier()
    await part.Free()
    with pytest.raises(MPI.Exception, match="cannot be freed"):
        await comm.Free()
    copy = await comm.Dup()
    comm.Set_name("everybody")
    return comm.Get_name(), part == comm, copy.Compare(comm) == MPI.CONGRUENT


def test_ranks_are_those_of_the_world_and_communicators_made_are_heard_too():
    result, report = reported(two_halves)
    assert result.values == [("everybody", False, True)] * 4
    calls = [call for call in report.recording.calls if call.level == "message" and call.name == "send"]
    assert sorted((call.rank, call.peer, call.nbytes) for call in calls) == [
        (0, 2, 10),
        (1, 3, 10),
        (2, 0, 10),
        (3, 1, 10),
    ]
    assert report.profile.sizes["collective calls"] == {0: 4}  # a split is none of the program's data
    agreements = {call.name for call in report.recording.calls if call.level == "message"} - {"send"}
    assert agreements == {"Split", "Barrier", "Dup"}
    assert sum(report.profile.messages.values()) == sum(counts["mpi_sends"] for counts in result.statistics)


async def element_wise(comm):
    data = np.zeros(1)
    for _ in range(100):
        if comm.rank == 0:
            await comm.Ssend(data, 1)
        elif comm.rank == 1:
            await comm.Recv(data, 0)


async def all_to_one(comm):
    for _ in range(20):
        if comm.rank:
            await comm.Send(np.zeros(100), 0)
        else:
            for _ in range(comm.size - 1):
                await comm.Recv(np.zeros(100))


def test_advice_speaks_of_mpi():
    (told,) = reported(element_wise)[1].advice
    assert " sends to rank 1 element by element at " in told.what
    assert ": 100 messages of 8 bytes. " in told.what
    assert told.remedy == "Send a whole block at once, or begin all sends (Isend) and wait once (Waitall)."
    (told,) = reported(all_to_one, ranks=8)[1].advice
    assert told.what.startswith("Rank 0 is a hot spot: 140 of 140 messages go to it, from 7 ranks, ")


def test_messages_of_mpi_below_active_messages_are_not_counted():
    async def main(ep):
        got = []

        def hit(token):
            got.append(token.rank)

        await ep.attach(hit)
        await ep.request_short(1 - ep.rank, hit)
        await ep.block_until(lambda: got)

    with reporting() as reports:
        conduit.run(main, conduit="mpi")
    assert reports[0].profile.messages == {(0, 1): 1, (1, 0): 1}


def test_nobody_listens_where_nobody_asks():
    async def main(ep):
        async with entered(ep) as comm:
            return type(comm).__name__, type(comm.plain).__name__

    assert conduit.run(main, conduit="mpi").values == [("Comm", "EngineComm")] * 2


def test_what_one_rank_writes_for_its_host_is_in_the_matrix_once_for_each_that_reads():
    """On Sun MPI collectives go through buffers that all ranks of a host share."""

    def of(call):
        async def alone(comm):
            await call(comm)

        with reporting() as reports:
            MPI.run(alone, library="sunmpi", ranks=4, ranks_per_host=4)
        return reports[0].profile

    broadcast = of(lambda comm: comm.Bcast(np.zeros(50_000, np.uint8), 1))
    assert broadcast.nbytes == {(1, rank): 50_000 for rank in (0, 2, 3)}
    assert broadcast.messages == dict.fromkeys(broadcast.nbytes, 1)
    barrier = of(lambda comm: comm.Barrier())
    assert barrier.messages == {(rank, 0): 1 for rank in (1, 2, 3)} | {(0, rank): 1 for rank in (1, 2, 3)}
    total = of(lambda comm: comm.Allreduce(np.zeros(600, np.uint8), np.zeros(600, np.uint8)))
    # Slices of 256, 256 and 88 bytes: each goes to its worker from all others, and from there back to all.
    slices = {0: 256, 1: 256, 2: 88}
    expected = Counter()
    for worker, size in slices.items():
        for rank in range(4):
            if rank != worker:
                expected[rank, worker] += size
                expected[worker, rank] += size
    assert total.nbytes == expected
