"""Reports of jobs that get no further name the requests that are open by then, and those alone who hold them up."""

import re

import numpy as np
import pytest

import conduit
from conduits.mpi import MPI
from conduits.mpi.program import entered

WORLD = "on MPI_COMM_WORLD"


def report(main, ranks, library, **options):
    """Return the report of a program of MPI that gets no further."""

    async def of(ep):
        async with entered(ep) as comm:
            await main(comm)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(of, ranks=ranks, ranks_per_host=1, conduit=f"mpi:library={library}", **options)
    return str(caught.value)


def notes_at(main, library, limit, ranks=2):
    """Return what the report of a time limit says of rank 0's last test."""

    async def of(ep):
        async with entered(ep) as comm:
            await main(comm)

    with pytest.raises(conduit.TimeLimit) as caught:
        conduit.run(of, ranks=ranks, ranks_per_host=1, conduit=f"mpi:library={library}", time_limit=limit)
    return re.findall(r"its last .*", str(caught.value))


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("Test", [f"its last Test was of MPI Irecv from rank 1, tag 2, {WORLD}"]),
        ("Testall", [f"its last Testall was of MPI Irecv from rank 1, tag 2, {WORLD}, and 1 more (1 other is over)"]),
    ],
)
def test_a_loop_of_tests_is_told_with_the_requests_that_are_open(library, call, found):
    async def main(comm):
        if comm.rank == 0:
            begun = [await comm.Irecv(np.zeros(1), 1, tag) for tag in (1, 2, 3)]
            test = begun[1].Test if call == "Test" else lambda: getattr(MPI.Request, call)(begun)
            while not await test():
                await comm.Iprobe(1, 9)
        else:
            await comm.Send(np.ones(1), 0, 1)
            await comm.Recv(np.zeros(1), 0, 9)

    assert notes_at(main, library, 0.005) == found


@pytest.mark.parametrize("call", ["Testany", "Testsome"])
def test_a_loop_for_one_of_several_is_told_while_none_is_over(library, call):
    async def main(comm):
        if comm.rank == 0:
            begun = [await comm.Irecv(np.zeros(1), 1, tag) for tag in (2, 3)]
            while True:
                await getattr(MPI.Request, call)(begun)
        await comm.Recv(np.zeros(1), 0, 9)

    assert notes_at(main, library, 0.005) == [
        f"its last {call} was of MPI Irecv from rank 1, tag 2, {WORLD}, and 1 more"
    ]


def test_a_test_before_another_wait_for_requests_is_not_told(library):
    async def main(comm):
        if comm.rank == 0:
            tested, awaited = [await comm.Irecv(np.zeros(1), 1, tag) for tag in (1, 2)]
            await tested.Test()
            await awaited.Wait()
        while True:
            await comm.Iprobe(0, 9)

    assert notes_at(main, library, 0.005) == []


def line_of(rank, text):
    """Return what a rank of a report waits for."""
    (found,) = re.findall(rf"^rank {rank}: .* waits for (.*), since ", text, re.MULTILINE)
    return found


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_Waitall_names_the_request_that_never_ends(library, missing):
    async def main(comm):
        if comm.rank == 0:
            buffers = np.zeros(3)
            await MPI.Request.Waitall([await comm.Irecv(buffers[rank - 1 : rank], rank, 7) for rank in (1, 2, 3)])
        elif comm.rank != missing:
            await comm.Send(np.ones(1), 0, 7)

    text = report(main, 4, library)
    waits = f"MPI Irecv from rank {missing}, tag 7, {WORLD} (2 others are over), which rank {missing} must bring about"
    assert line_of(0, text) == waits
    first, under, *_ = text.splitlines()[1:]
    assert first.startswith(f"rank {missing}: its main has returned")
    assert "rank 0 waits for it" in under


def test_of_several_that_never_end_it_names_the_first_and_all_ranks(library):
    async def main(comm):
        if comm.rank == 0:
            buffers = np.zeros(3)
            await MPI.Request.Waitall([await comm.Irecv(buffers[rank - 1 : rank], rank) for rank in (1, 2, 3)])
        elif comm.rank == 1:
            await comm.Send(np.ones(1), 0)

    waits = f"MPI Irecv from rank 2, any tag, {WORLD}, and 1 more (1 other is over), which ranks 2-3 must bring about"
    assert line_of(0, report(main, 4, library)) == waits


def test_what_was_over_when_the_wait_began_is_counted_too(library):
    async def main(comm):
        if comm.rank == 0:
            begun = [await comm.Irecv(np.zeros(1), rank, 4) for rank in (1, 2)]
            await comm.Recv(np.zeros(1), 1, 5)
            await MPI.Request.Waitall(begun)
        elif comm.rank == 1:
            for tag in (4, 5):
                await comm.Send(np.ones(1), 0, tag)

    waits = f"MPI Irecv from rank 2, tag 4, {WORLD} (1 other is over), which rank 2 must bring about"
    assert line_of(0, report(main, 3, library)) == waits


def test_a_cycle_is_one_of_requests_that_are_open(library):
    async def main(comm):
        if comm.rank == 0:
            await MPI.Request.Waitall([await comm.Irecv(np.zeros(1), rank) for rank in (1, 2, 3)])
            await comm.Send(np.ones(1), 2)
        elif comm.rank == 2:
            await comm.Recv(np.zeros(1), 0)
            await comm.Send(np.ones(1), 0)
        else:
            await comm.Send(np.ones(1), 0)

    assert report(main, 4, library).splitlines()[1] == "cycle: rank 0 waits for rank 2 waits for rank 0"


@pytest.mark.parametrize("call", ["Ibarrier", "Iallreduce", "Ialltoall"])
def test_a_collective_that_was_only_begun_waits_for_those_who_have_not_begun_it(library, call):
    async def main(comm):
        ones, got = np.ones(4), np.zeros(4)
        if comm.rank != 2:
            request = await (comm.Ibarrier() if call == "Ibarrier" else getattr(comm, call)(ones, got))
            await request.Wait()

    text = report(main, 4, library)
    assert text.count(f"MPI {call} of all {WORLD}, which rank 2 must bring about") >= 1
    assert not re.search(r"which ranks? [013]", text)
    assert text.splitlines()[1].startswith("rank 2: its main has returned")


def test_it_waits_for_all_others_once_all_have_begun_it(library):
    async def main(comm):
        request = await comm.Ibarrier()
        if comm.rank != 2:
            await request.Wait()
        else:
            await comm.Recv(np.zeros(1), 0)

    text = report(main, 3, library)
    assert "has not come" not in text
    assert line_of(2, text) == f"MPI Recv from rank 0, any tag, {WORLD}, which rank 0 must bring about"


def test_of_two_such_calls_each_waits_for_those_of_its_own_number(library):
    async def main(comm):
        first = await comm.Ibarrier()
        await first.Wait()
        if comm.rank:
            second = await comm.Ibarrier()
            await second.Wait()

    waits = f"MPI Ibarrier of all {WORLD}, which rank 0 must bring about"
    text = report(main, 3, library)
    if "\nranks 1-2, each:" not in text:
        assert line_of(1, text) == line_of(2, text) == waits
    assert waits in text
