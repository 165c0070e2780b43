"""Ranks that give a collective another operator, datatype or algorithm than others are told at the call."""

import array
import inspect

import numpy as np
import pytest

from conduits.mpi import MPI

FLOATS, LONGS, INTS = np.dtype("f8"), np.dtype("i8"), np.dtype("i4")
SAME = "give the same on all ranks of MPI_COMM_WORLD"


async def after_each_other(comm, makes):
    """Call in the order of the ranks."""
    for _ in range(comm.rank):
        await comm.Sendrecv(b"", comm.rank, 0, bytearray(), comm.rank, 0)
    request = await makes(comm)
    if request is not None:
        await request.Wait()


LINE = inspect.getsourcelines(after_each_other)[1] + 4


def run(*makes, library="scampi"):
    """Run a program of which each rank makes a call of its own."""

    async def main(comm):
        await after_each_other(comm, makes[comm.rank])

    MPI.run(main, library=library, ranks=len(makes))


def told(*makes, library="scampi"):
    """Return the class and the text of the error that such a program ends with; HERE is where the calls are."""
    with pytest.raises(MPI.Exception) as raised:
        run(*makes, library=library)
    return raised.value.Get_error_class(), str(raised.value).replace(f"{__file__}:{LINE}", "HERE")


def zeros(dtype, count=2):
    return np.zeros(count, dtype)


def own_op(commute):
    def added(incoming, inout, datatype):
        np.frombuffer(inout, datatype.dtype)[...] += np.frombuffer(incoming, datatype.dtype)

    return MPI.Op.Create(added, commute)


REDUCTIONS = {
    "Reduce": lambda comm, dtype, op: comm.Reduce(zeros(dtype), zeros(dtype), op),
    "Allreduce": lambda comm, dtype, op: comm.Allreduce(zeros(dtype), zeros(dtype), op),
    "Iallreduce": lambda comm, dtype, op: comm.Iallreduce(zeros(dtype), zeros(dtype), op),
    "Scan": lambda comm, dtype, op: comm.Scan(zeros(dtype), zeros(dtype), op),
    "Exscan": lambda comm, dtype, op: comm.Exscan(zeros(dtype), zeros(dtype), op),
    "Reduce_scatter": lambda comm, dtype, op: comm.Reduce_scatter(zeros(dtype), zeros(dtype, 1), op=op),
    "Reduce_scatter_block": lambda comm, dtype, op: comm.Reduce_scatter_block(zeros(dtype), zeros(dtype, 1), op=op),
}


@pytest.mark.parametrize("call", REDUCTIONS)
def test_another_operator(call):
    makes = REDUCTIONS[call]
    assert told(lambda comm: makes(comm, FLOATS, MPI.SUM), lambda comm: makes(comm, FLOATS, MPI.MAX)) == (
        MPI.ERR_OP,
        f"Comm.{call}: op=MPI_MAX, but rank 0 has called it with op=MPI_SUM at HERE; {SAME}",
    )


@pytest.mark.parametrize("call", REDUCTIONS)
def test_operands_of_another_datatype(call):
    makes = REDUCTIONS[call]
    assert told(lambda comm: makes(comm, FLOATS, MPI.SUM), lambda comm: makes(comm, LONGS, MPI.SUM)) == (
        MPI.ERR_TYPE,
        f"Comm.{call}: elements of MPI_LONG, but rank 0 has called it with MPI_DOUBLE at HERE; {SAME}",
    )


def test_operands_of_another_size_are_told_by_their_datatypes():
    makes = REDUCTIONS["Allreduce"]
    assert told(lambda comm: makes(comm, INTS, MPI.SUM), lambda comm: makes(comm, LONGS, MPI.SUM))[1] == (
        f"Comm.Allreduce: elements of MPI_LONG, but rank 0 has called it with MPI_INT at HERE; {SAME}"
    )


def test_an_operator_of_the_program_s_own_is_compared_by_what_is_known_of_it():
    makes = REDUCTIONS["Allreduce"]
    run(lambda comm: makes(comm, FLOATS, own_op(True)), lambda comm: makes(comm, FLOATS, own_op(True)))
    with_own, with_sum = (lambda comm: makes(comm, FLOATS, own_op(True))), (lambda comm: makes(comm, FLOATS, MPI.SUM))
    assert told(with_sum, with_own)[1] == (
        f"Comm.Allreduce: op=MPI_OP_CREATED (commute=True), but rank 0 has called it with op=MPI_SUM at HERE; {SAME}"
    )
    assert told(with_own, lambda comm: makes(comm, FLOATS, own_op(False)))[1] == (
        "Comm.Allreduce: op=MPI_OP_CREATED (commute=False), but rank 0 has called it with op=MPI_OP_CREATED "
        f"(commute=True) at HERE; {SAME}"
    )


@pytest.mark.parametrize("names", [("INT", "INT32_T"), ("LONG", "LONG_LONG"), ("DOUBLE_INT", "DOUBLE_INT")])
def test_datatypes_of_other_names_that_are_the_same_are_the_same(names):
    def makes(name):
        datatype = getattr(MPI, name)
        op = MPI.MAXLOC if datatype.is_pair else MPI.SUM
        return lambda comm: comm.Allreduce([bytearray(32), datatype], [bytearray(32), datatype], op)

    run(*map(makes, names))


def test_pairs_of_one_size_are_not_the_same():
    def makes(datatype):
        return lambda comm: comm.Allreduce([bytearray(32), datatype], [bytearray(32), datatype], MPI.MINLOC)

    assert told(makes(MPI.FLOAT_INT), makes(MPI.INT_INT))[1] == (
        f"Comm.Allreduce: elements of MPI_TWOINT, but rank 0 has called it with MPI_FLOAT_INT at HERE; {SAME}"
    )


MOVING = {
    "Bcast": lambda comm, data: comm.Bcast(data(2)),
    "Ibcast": lambda comm, data: comm.Ibcast(data(2)),
    "Scatter": lambda comm, data: comm.Scatter(data(2 * comm.size), data(2)),
    "Scatterv": lambda comm, data: comm.Scatterv(data(2 * comm.size), data(2)),
    "Gather": lambda comm, data: comm.Gather(data(2), data(2 * comm.size)),
    "Gatherv": lambda comm, data: comm.Gatherv(data(2), data(2 * comm.size)),
    "Allgather": lambda comm, data: comm.Allgather(data(2), data(2 * comm.size)),
    "Allgatherv": lambda comm, data: comm.Allgatherv(data(2), data(2 * comm.size)),
    "Alltoall": lambda comm, data: comm.Alltoall(data(2 * comm.size), data(2 * comm.size)),
    "Ialltoall": lambda comm, data: comm.Ialltoall(data(2 * comm.size), data(2 * comm.size)),
}


def moving(call, data):
    return lambda comm: MOVING[call](comm, data)


@pytest.mark.parametrize("call", MOVING)
def test_integers_are_no_numbers_with_a_point(call):
    def longs(count):
        return zeros(LONGS, count)

    said = f"Comm.{call}: elements of MPI_DOUBLE, but rank 0 has called it with MPI_LONG at HERE; {SAME}"
    assert told(moving(call, longs), moving(call, np.zeros)) == (MPI.ERR_TYPE, said)
    # Rank 0 moves bytes, which may be anything, of the others each knows its own.
    raw = moving(call, lambda count: bytearray(8 * count))
    said = said.replace("rank 0", "rank 1")
    assert told(raw, moving(call, longs), raw, moving(call, np.zeros)) == (MPI.ERR_TYPE, said)


@pytest.mark.parametrize(
    "data",
    [
        lambda count: array.array("q", [0] * count),
        lambda count: [zeros(LONGS, count), MPI.LONG],
        lambda count: [zeros("u8", count), MPI.INT64_T],
        lambda count: [zeros(LONGS, count), None],
    ],
    ids=["no array of numpy's", "said to be what it is", "of another sign", "no datatype given"],
)
def test_what_integers_are(data):
    assert told(moving("Bcast", data), moving("Bcast", np.zeros))[0] == MPI.ERR_TYPE


LEGAL = {
    "bytes": lambda count: bytearray(8 * count),
    "an explicit MPI.BYTE": lambda count: [zeros(LONGS, count), MPI.BYTE],
    "said to be what the others have": lambda count: [zeros(LONGS, count), MPI.DOUBLE],
    "said to be something else": lambda count: [np.zeros(count), 2 * count, MPI.INT],
    "numbers of one byte": lambda count: zeros("u1", 8 * count),
    "booleans": lambda count: zeros("?", 8 * count),
    "numbers of another size": lambda count: zeros("f4", 2 * count),
    "complex": lambda count: zeros("c8", count),
    "characters": lambda count: [zeros("u4", 2 * count), MPI.WCHAR],
    "pairs": lambda count: [zeros(INTS, 2 * count), count, MPI.INT_INT],
    "dates": lambda count: [zeros("M8[s]", count), MPI.INT64_T],
}


@pytest.mark.parametrize("call", ["Bcast", "Gather", "Scatter", "Allgather", "Alltoall"])
@pytest.mark.parametrize("data", LEGAL)
def test_what_may_be_right_is_let_be(data, call):
    def given(count):
        found = LEGAL[data](count)
        parts = count // 2 if call in ("Gather", "Scatter", "Allgather", "Alltoall") and count > 2 else 1
        if isinstance(found, list) and len(found) == 3:  # a count is that of one part
            found[1] //= parts
        return found

    run(moving(call, given), moving(call, np.zeros))
    run(moving(call, np.zeros), moving(call, given))


def test_integers_of_one_size_and_another_sign_are_let_be():
    run(moving("Bcast", lambda count: zeros("u8", count)), moving("Bcast", lambda count: zeros("i8", count)))


def test_of_no_data_it_does_not_matter_what_they_are():
    run(
        lambda comm: comm.Allreduce(np.zeros(0), np.zeros(0)),
        lambda comm: comm.Allreduce(zeros(LONGS, 0), zeros(LONGS, 0)),
    )
    run(
        lambda comm: comm.Gatherv(np.zeros(0), [zeros(LONGS), [0, 2]]),
        lambda comm: comm.Gatherv(zeros(LONGS), None),
    )
    run(
        lambda comm: comm.Allgatherv(np.zeros(0), [zeros(LONGS), [0, 2]]),
        lambda comm: comm.Allgatherv(zeros(LONGS), [zeros(LONGS), [0, 2]]),
    )


def test_each_pair_of_ranks_may_exchange_other_data():
    """What goes there may be other than what comes back: numbers of the one, and indices of the other."""
    run(
        lambda comm: comm.Alltoallv([np.zeros(2), [0, 2]], [zeros(LONGS), [0, 2]]),
        lambda comm: comm.Alltoallv([zeros(LONGS), [2, 0]], [np.zeros(2), [2, 0]]),
    )


@pytest.mark.parametrize("call", ["Gather", "Scatter", "Allgather", "Allgatherv", "Alltoall"])
def test_the_two_buffers_of_a_rank_differ_already(call):
    def data(count):
        return zeros(LONGS if next(turns) else FLOATS, count)

    turns = iter((1, 0) * 4)
    assert told(moving(call, data), moving(call, data)) == (
        MPI.ERR_TYPE,
        f"Comm.{call}: sendbuf has elements of MPI_LONG, recvbuf of MPI_DOUBLE; give the same",
    )


@pytest.mark.parametrize("library", ["scampi", "sunmpi", "start"])
def test_another_algorithm(library):
    def makes(name):
        return lambda comm: comm.Allgather(np.zeros(2), np.zeros(6), algorithm=name)

    assert told(makes("bruck"), makes("ring"), makes("ring"), library=library) == (
        MPI.ERR_ARG,
        f"Comm.Allgather: algorithm='ring', but rank 0 has called it with algorithm='bruck' at HERE; {SAME}",
    )


def test_the_usual_algorithm_may_be_named_on_some_ranks():
    run(lambda comm: comm.Barrier("dissemination"), lambda comm: comm.Barrier())
    assert told(lambda comm: comm.Barrier(), lambda comm: comm.Barrier("tree"))[1] == (
        f"Comm.Barrier: algorithm='tree', but rank 0 has called it with algorithm='dissemination' at HERE; {SAME}"
    )
