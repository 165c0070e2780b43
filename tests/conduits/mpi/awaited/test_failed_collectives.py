"""A collective that fails on a rank breaks its communicator there, and whoever waits in it is told why."""

import inspect

import numpy as np
import pytest
import trio

import conduit
from conduits.mpi import MPI
from conduits.mpi.engine.contexts import OWN

LIBRARIES = ("scampi", "sunmpi", "start")


def raising(incoming, inout, datatype):
    raise ZeroDivisionError("no such quotient\nwhatever follows")


def line_of(function, text):
    """Return the line of a function that has a text."""
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


def advice_of(main, ranks=4, library="scampi", **options):
    """Return what the report of a deadlock says at its end, and all of it."""
    with pytest.raises(conduit.Deadlock) as caught:
        MPI.run(main, library=library, ranks=ranks, **options)
    text = str(caught.value)
    return [line for line in text.splitlines() if "in vain" in line], text


CALLS = {
    "Allreduce": lambda comm, op: comm.Allreduce(np.ones(4), np.zeros(4), op),
    "Reduce": lambda comm, op: comm.Reduce(np.ones(4), np.zeros(4), op),
    "Reduce_scatter": lambda comm, op: comm.Reduce_scatter(np.ones(4), np.zeros(1), [1] * 4, op),
    "Reduce_scatter_block": lambda comm, op: comm.Reduce_scatter_block(np.ones(4), np.zeros(1), op),
    "Scan": lambda comm, op: comm.Scan(np.ones(4), np.zeros(4), op),
    "Exscan": lambda comm, op: comm.Exscan(np.ones(4), np.zeros(4), op),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("call", CALLS)
def test_later_calls_on_a_communicator_say_which_call_has_failed_there(call, library):
    async def main(comm):
        failed = False
        with trio.move_on_after(1e-2):
            try:
                await CALLS[call](comm, MPI.Op.Create(raising, commute=True))  # here
            except ZeroDivisionError:
                failed = True
        if not failed:
            return None
        for later in (comm.Barrier(), comm.Ibarrier(), comm.Dup()):
            with pytest.raises(MPI.Exception) as refused:
                await later
            assert refused.value.Get_error_class() == MPI.ERR_COMM
        return str(refused.value)

    line = line_of(main, "# here")
    text = (
        f"Comm.Dup: MPI_COMM_WORLD is broken, its {call} at {__file__}:{line} has failed on this rank with "
        "ZeroDivisionError: no such quotient; make another by Create_group on all its ranks, as Dup and Split are "
        "calls of this one"
    )
    values = MPI.run(main, library=library, ranks=4).values
    assert text in values
    assert {*values} <= {text, None}


def test_a_report_names_the_collective_that_has_failed_and_where():
    async def main(comm):
        try:
            await comm.Allreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))  # here
        except ZeroDivisionError:
            return

    line = line_of(main, "# here")
    lines, text = advice_of(main)
    assert lines == [
        f"Allreduce on MPI_COMM_WORLD at test_failed_collectives.py:{line} has failed on ranks 0, 2 with "
        "ZeroDivisionError: no such quotient: whoever waits in it, or for them in a later collective, waits in vain"
    ]
    assert f":{line} in main: waits for MPI Allreduce of all on MPI_COMM_WORLD" in text


def test_of_many_ranks_that_have_failed_the_report_says_so_once():
    async def main(comm):
        try:
            await comm.Allreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))
        except ZeroDivisionError:
            await comm.Recv(np.zeros(1), source=(comm.rank + 1) % comm.size)

    lines, _ = advice_of(main, ranks=64)
    assert len(lines) == 1
    assert "has failed on ranks 0, 2, 4, 6, 8, 10, 12, 14, ... with ZeroDivisionError" in lines[0]


def test_a_request_that_fails_breaks_its_communicator_before_it_is_waited_for():
    async def main(comm):
        request = await comm.Iallreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))  # here
        await conduit.current().compute(1e-3)
        await conduit.current().poll()
        if comm.rank % 2:
            await request.Wait()
        with pytest.raises(MPI.Exception, match=r"its Iallreduce at .*:\d+ has failed on this rank with ZeroDiv"):
            await comm.Barrier()

    line = line_of(main, "# here")
    lines, _ = advice_of(main)
    assert lines == [
        f"Iallreduce on MPI_COMM_WORLD at test_failed_collectives.py:{line} has failed on ranks 0, 2 with "
        "ZeroDivisionError: no such quotient: whoever waits in it, or for them in a later collective, waits in vain"
    ]


@pytest.mark.parametrize("begun", [False, True])
def test_a_broadcast_that_the_network_fails_is_named(begun):
    async def main(comm):
        await comm.Barrier()
        await conduit.current().compute(5e-3)
        data = np.zeros(4)
        if comm.rank:
            await comm.Bcast(data, root=0) if not begun else await (await comm.Ibcast(data, root=0)).Wait()
        else:
            with pytest.raises(conduit.NetworkError):
                await comm.Bcast(data, root=0) if not begun else await (await comm.Ibcast(data, root=0)).Wait()  # here

    line = line_of(main, "# here")
    lines, _ = advice_of(main, 2, "sunmpi:fault=links@3ms", ranks_per_host=1)
    (text,) = lines
    call = "Ibcast" if begun else "Bcast"
    assert text.startswith(f"{call} on MPI_COMM_WORLD at test_failed_collectives.py:{line} has failed on rank 0 with ")
    assert "no path from host 0 to host 1" in text


def test_sizes_that_differ_are_named_where_a_rank_catches_the_error():
    async def main(comm):
        if comm.rank == 0:
            with pytest.raises(MPI.Exception, match="rank 1 sent 24 bytes where 32 were counted on"):
                await comm.Gather(np.zeros(4), np.zeros(8), root=0)
        else:
            await comm.Gather(np.zeros(3), None, root=0)
            await comm.Barrier()

    lines, _ = advice_of(main, 2)
    assert len(lines) == 1
    assert "Gather on MPI_COMM_WORLD at" in lines[0]
    assert "on rank 0 with MpiError: MPI Gather of all on MPI_COMM_WORLD: rank 1 sent 24 bytes" in lines[0]


def test_a_call_that_is_refused_breaks_nothing():
    """Of a call in whose place others have made another, and of one with wrong arguments, nothing has begun."""

    async def main(comm):
        if comm.rank == 0:
            await conduit.current().compute(1e-3)
            with pytest.raises(MPI.Exception, match="in its place rank 1 has called Allreduce"):
                await comm.Bcast(np.zeros(1))
            with pytest.raises(conduit.BadRequest, match="sendbuf has 1 element of MPI_DOUBLE, recvbuf 2"):
                await comm.Allreduce(np.ones(1), np.zeros(2))
        total = np.zeros(1)
        await comm.Allreduce(np.ones(1), total)
        return total[0]

    assert MPI.run(main, library="scampi", ranks=3).values == [3] * 3


def test_a_collective_that_was_cancelled_is_named_where_others_wait_in_the_next():
    async def main(comm):
        if comm.rank:
            await comm.Barrier()
            await comm.Barrier()
            return
        with trio.move_on_after(1e-6):
            await comm.Barrier()  # here
        with pytest.raises(MPI.Exception, match=r"broken, its Barrier at .* was cancelled on this rank"):
            await comm.Barrier()

    line = line_of(main, "# here")
    lines, text = advice_of(main)
    assert lines == [
        f"Barrier on MPI_COMM_WORLD at test_failed_collectives.py:{line} was cancelled on rank 0: whoever waits for "
        "that rank in a later collective waits in vain"
    ]
    assert "to which rank 0 has not come" in text


def test_a_create_group_that_was_cancelled_is_named_and_breaks_nothing():
    async def main(comm):
        if comm.rank:
            made = await comm.Create_group(comm.Get_group())
            await comm.Barrier()
            await made.Barrier()
            return
        with trio.move_on_after(1e-6):
            await comm.Create_group(comm.Get_group())  # here
        await comm.Barrier()

    line = line_of(main, "# here")
    lines, _ = advice_of(main)
    assert lines == [
        f"Create_group on MPI_COMM_WORLD at test_failed_collectives.py:{line} was cancelled on rank 0: whoever waits "
        "for that rank in a later collective waits in vain"
    ]


def test_what_fails_after_its_call_was_cancelled_is_told_too():
    async def main(comm):
        if comm.rank:
            await conduit.current().compute(1e-3)
            try:
                await comm.Allreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))
            except ZeroDivisionError:
                return
        else:
            with trio.move_on_after(1e-4):
                await comm.Allreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))
            await comm.Recv(np.zeros(1), source=1)

    lines, _ = advice_of(main)
    assert any("was cancelled on rank 0" in line for line in lines)
    assert any("has failed on rank 0 with ZeroDivisionError" in line for line in lines)


@pytest.mark.parametrize("library", LIBRARIES)
def test_an_operator_runs_as_the_rank_whose_call_it_is_of(library):
    async def main(comm):
        seen = []

        def add(incoming, inout, datatype):
            seen.append((MPI.COMM_WORLD.rank, conduit.current().rank))
            np.frombuffer(inout)[:] += np.frombuffer(incoming)

        total = np.zeros(4)
        await comm.Allreduce(np.ones(4), total, MPI.Op.Create(add, commute=True))
        await (await comm.Iallreduce(np.ones(4), total, MPI.Op.Create(add, commute=True))).Wait()
        assert set(seen) <= {(comm.rank, comm.rank)}
        return len(seen), total.tolist()

    values = MPI.run(main, library=library, ranks=8).values
    assert sum(count for count, _ in values) >= 2 * 7
    assert {tuple(total) for _, total in values} == {(8.0,) * 4}


@pytest.mark.parametrize("call", ["Wait", "Test", "Waitany", "Waitall", "Get_status"])
def test_the_status_of_a_collective_that_has_failed_has_its_error(call):
    async def main(comm):
        status, several = MPI.Status(), []
        if comm.rank:
            await comm.Iallreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))
            return None
        request = await comm.Iallreduce(np.ones(4), np.zeros(4), MPI.Op.Create(raising, commute=True))
        await conduit.current().compute(1e-3)
        await conduit.current().poll()
        if call == "Get_status":
            assert request.Get_status(status)
            with pytest.raises(ZeroDivisionError):
                await request.Wait()
            return status.error
        calls = {
            "Wait": lambda: request.Wait(status),
            "Test": lambda: request.Test(status),
            "Waitany": lambda: MPI.Request.Waitany([request], status),
            "Waitall": lambda: MPI.Request.Waitall([request], several),
        }
        with pytest.raises((ZeroDivisionError, MPI.Exception)):
            await calls[call]()
        return [*several, status][0].error

    with pytest.warns(conduit.ConduitWarning, match="rank 1: 1 request of Iallreduce"):
        assert MPI.run(main, library="scampi", ranks=2).values[0] == MPI.ERR_OTHER


@pytest.mark.parametrize(
    ("given", "text"), [((), "MPI_SUCCESS"), ((MPI.ERR_OP,), "MPI_ERR_OP"), ((12345,), "MPI error 12345")]
)
def test_an_operator_may_raise_an_error_of_mpi_by_its_class_alone(given, text):
    error = MPI.Exception(*given)
    assert (error.Get_error_class(), str(error)) == ((given or (MPI.SUCCESS,))[0], text)


@pytest.mark.parametrize("call", ["Dup", "Split", "Create_group"])
def test_the_agreement_of_a_cancelled_call_ends_with_its_messages(call):
    async def main(comm):
        given = [comm.Get_group()] if call == "Create_group" else []
        other = await comm.Dup()
        if comm.rank == 1:
            await trio.sleep(2e-3)
        with trio.move_on_after(1e-3):
            await getattr(other, call)(*given)
        library = comm.process.library
        under_way = library.next_context()
        library.agreed(under_way)
        await comm.Barrier()
        await trio.sleep(1e-3)
        return under_way >= OWN, library.next_context() < OWN

    # While the agreement is under way rank 0 proposes numbers of its own; rank 1 has made its call in time.
    assert MPI.run(main, library="scampi", ranks=2).values == [(True, True), (False, True)]


def test_parts_made_by_one_call_have_names_of_their_own():
    async def main(comm):
        world = comm.Get_group()
        mine = comm.rank // 2 * 2
        made = [
            await comm.Split(comm.rank % 2),
            await comm.Create(world.Incl([mine, mine + 1])),
            await comm.Create_group(world.Incl([mine, mine + 1])),
            await comm.Split_type(MPI.COMM_TYPE_SHARED),
        ]
        return [each.name.partition(" of MPI_COMM_WORLD (made at ")[0] for each in made]

    names = MPI.run(main, library="scampi", ranks=4, ranks_per_host=2).values
    assert names[0] == ["the part of color 0", *["the part of ranks 0, 1"] * 2, "the part on host 0"]
    assert names[3] == ["the part of color 1", *["the part of ranks 2, 3"] * 2, "the part on host 1"]
