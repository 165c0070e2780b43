"""Collectives of programs, on simulated libraries, against numpy."""

import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from conduits.mpi import MPI
from conduits.mpi.collectives.algorithms import named
from conduits.mpi.libraries.scampi import Scampi

from .conftest import LIBRARIES

REDUCTIONS = ("Reduce", "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan", "Iallreduce")
RANKS = ((1, 1), (2, 1), (3, 2), (4, 4), (5, 2), (6, 2), (8, 2), (9, 3), (17, 5))


def by_turns(first):
    """Give each library with each number of ranks; the usual run has each number with one, another for each `first`."""
    return [
        pytest.param(library, *ranks, marks=[] if (first + row + column) % 3 == 0 else [pytest.mark.every])
        for row, ranks in enumerate(RANKS)
        for column, library in enumerate(LIBRARIES)
    ]


@pytest.fixture(autouse=True)
def crowded(monkeypatch):
    """Let a host hold any number of ranks, which those of SCI's papers do not."""
    monkeypatch.setattr(Scampi, "max_ranks_per_host", classmethod(lambda cls, options: None))


def data(rank, count, dtype="i8", seed=0):
    chance = np.random.default_rng([rank, count, seed])
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return chance.integers(0, 2, count).astype(dtype)
    if dtype.kind == "c":
        return (chance.integers(-3, 4, count) + 1j * chance.integers(-3, 4, count)).astype(dtype)
    return chance.integers(0 if dtype.kind == "u" else -3, 4, count).astype(dtype)


async def call(comm, name, *args, **options):
    """Make a collective; wait for what is only begun."""
    begun = await getattr(comm, name)(*args, **options)
    if name.startswith("I"):
        await begun.Wait()
        assert not begun


def algorithms(library, name):
    """Return the names of those of a call, with what the library has besides."""
    return named(name, "exchange" if library == "sunmpi" else "")


@pytest.mark.filterwarnings("error")
def test_a_sum_that_overflows_is_infinite_without_a_word_as_in_mpi(library):
    async def main(comm):
        into = np.zeros(1)
        await comm.Allreduce(np.full(1, 1e308), into)
        assert into[0] == np.inf

    MPI.run(main, library=library, ranks=2)


@pytest.mark.parametrize(("library", "ranks", "per_host"), by_turns(0))
def test_all_algorithms_move_what_they_should(library, ranks, per_host):
    async def main(comm):
        me, size = comm.rank, comm.size
        for count in (3, 700) if size < 6 else (5,):
            mine, all_ = data(me, count), np.stack([data(rank, count) for rank in range(size)])
            many = data(me, size * count, seed=1).reshape(size, count)
            for root in {0, size - 1} if size < 6 else {size // 2}:
                for name in ("Bcast", "Ibcast"):
                    for algorithm in algorithms(library, name):
                        buffer = mine.copy()
                        await call(comm, name, buffer, root, algorithm=algorithm)
                        assert (buffer == all_[root]).all(), (name, algorithm)
                for algorithm in algorithms(library, "Gather"):
                    into = np.full_like(all_, -100) if me == root else None
                    await comm.Gather(mine, into, root, algorithm=algorithm)
                    assert me != root or (into == all_).all(), algorithm
                for algorithm in algorithms(library, "Scatter"):
                    into = np.full(count, -100)
                    await comm.Scatter(all_ if me == root else None, into, root=root, algorithm=algorithm)
                    assert (into == mine).all(), algorithm
            for name in ("Allgather", "Allgatherv"):
                for algorithm in algorithms(library, name):
                    into = np.full_like(all_, -100)
                    await call(comm, name, mine, into, algorithm=algorithm)
                    assert (into == all_).all(), (name, algorithm)
            expected = np.stack([data(rank, size * count, seed=1).reshape(size, count)[me] for rank in range(size)])
            for name in ("Alltoall", "Alltoallv", "Ialltoall"):
                for algorithm in algorithms(library, name):
                    into = np.full_like(expected, -100)
                    await call(comm, name, many, into, algorithm=algorithm)
                    assert (into == expected).all(), (name, algorithm)
                    into = many.copy()
                    await call(comm, name, MPI.IN_PLACE, into, algorithm=algorithm)
                    assert (into == expected).all(), (name, algorithm)
        return True

    assert MPI.run(main, library=library, ranks=ranks, ranks_per_host=per_host).values == [True] * ranks


@pytest.mark.parametrize(("library", "ranks", "per_host"), by_turns(1))
def test_all_algorithms_combine_what_they_should(library, ranks, per_host):
    async def main(comm):
        me, size = comm.rank, comm.size
        for count in (1, 120) if size < 6 else (120,) if size == 8 else (7,):
            operands = np.stack([data(rank, size * count) for rank in range(size)])
            total, mine = operands.sum(axis=0), operands[me]
            part = slice(me * count, (me + 1) * count)
            expected = {
                "Reduce": total, "Allreduce": total, "Iallreduce": total, "Scan": operands[: me + 1].sum(axis=0),
                "Exscan": operands[:me].sum(axis=0) if me else np.full(size * count, -100),
                "Reduce_scatter": total[part], "Reduce_scatter_block": total[part],
            }  # fmt: skip
            for name in REDUCTIONS:
                for algorithm in algorithms(library, name):
                    into = np.full_like(expected[name], -100)
                    options = {"root": size // 2} if name == "Reduce" else {}
                    await call(comm, name, mine, into, **options, algorithm=algorithm)
                    if name != "Reduce" or me == size // 2:
                        assert (into == expected[name]).all(), (name, algorithm)
                    place = mine.copy()
                    sent = MPI.IN_PLACE if name != "Reduce" or me == size // 2 else mine
                    if name == "Reduce_scatter":
                        options = {"recvcounts": [count] * size}
                    await call(comm, name, sent, place, **options, algorithm=algorithm)
                    if sent is MPI.IN_PLACE and not (name == "Exscan" and not me):
                        assert (place[: len(expected[name])] == expected[name]).all(), (name, algorithm)
            assert (operands[me] == data(me, size * count)).all()
        return True

    assert MPI.run(main, library=library, ranks=ranks, ranks_per_host=per_host).values == [True] * ranks


@pytest.mark.parametrize("per_host", [1, 2, 6])
def test_no_rank_leaves_a_barrier_early(library, per_host):
    async def main(comm):
        found = []
        for name in ("Barrier", "Ibarrier"):
            for algorithm in algorithms(library, name):
                await conduit.current().compute(1e-5 * ((comm.rank * 5) % comm.size))
                come = MPI.Wtime()
                await call(comm, name, algorithm=algorithm)
                found.append((come, MPI.Wtime()))
        return found

    for times in zip(*MPI.run(main, library=library, ranks=6, ranks_per_host=per_host).values, strict=True):
        assert max(come for come, _ in times) <= min(gone for _, gone in times)


# -- operators and datatypes --------------------------------------------------------------------------------

CODES = {"i": "bhilq", "u": "BHILQ", "f": "fdg", "c": "FDG", "b": "?"}
OPERATORS = {
    "MAX": ("iuf", np.maximum), "MIN": ("iuf", np.minimum), "SUM": ("iufc", np.add), "PROD": ("iufc", np.multiply),
    "LAND": ("iub", np.logical_and), "LOR": ("iub", np.logical_or), "LXOR": ("iub", np.logical_xor),
    "BAND": ("iu", np.bitwise_and), "BOR": ("iu", np.bitwise_or), "BXOR": ("iu", np.bitwise_xor),
}  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS)
def test_operators_on_all_datatypes(library, op):
    kinds, function = OPERATORS[op]

    async def main(comm):
        for code in "".join(CODES[kind] for kind in kinds):
            operands = [data(rank, 7, code) for rank in range(comm.size)]
            expected = operands[0]
            for each in operands[1:]:
                expected = function(expected, each).astype(code)
            for name in ("Allreduce", "Reduce", "Scan"):
                into = np.zeros(7, code)
                await call(
                    comm, name, operands[comm.rank], into, getattr(MPI, op), **({"root": 4} if name == "Reduce" else {})
                )
                if name == "Allreduce" or comm.rank == comm.size - 1:
                    assert (into == expected).all(), (name, code)

    MPI.run(main, library=library, ranks=5, ranks_per_host=2)


DEFINED = {
    "i": "MAX MIN SUM PROD LAND LOR LXOR BAND BOR BXOR", "f": "MAX MIN SUM PROD", "c": "SUM PROD",
    "b": "LAND LOR LXOR", "byte": "BAND BOR BXOR", "pair": "MAXLOC MINLOC", "": "",
}  # fmt: skip
"""Of groups of datatypes, the operators: MPI 4.0, section 6.9.2."""
GROUPS = {
    "i": "SIGNED_CHAR SHORT INT LONG LONG_LONG UNSIGNED_CHAR UNSIGNED_SHORT UNSIGNED UNSIGNED_LONG UNSIGNED_LONG_LONG "
    "INT8_T INT16_T INT32_T INT64_T UINT8_T UINT16_T UINT32_T UINT64_T AINT OFFSET COUNT",
    "f": "FLOAT DOUBLE LONG_DOUBLE",
    "c": "C_FLOAT_COMPLEX C_DOUBLE_COMPLEX C_LONG_DOUBLE_COMPLEX",
    "b": "C_BOOL",
    "byte": "BYTE",
    "pair": "FLOAT_INT DOUBLE_INT LONG_INT TWOINT SHORT_INT LONG_DOUBLE_INT",
    "": "CHAR WCHAR",
}
OF_DATATYPE = {name: DEFINED[group].split() for group, names in GROUPS.items() for name in names.split()}
ALL_OPERATORS = (*OPERATORS, "MAXLOC", "MINLOC")


def test_operators_are_defined_for_the_datatypes_that_the_standard_names():
    async def main(comm):
        found = {}
        for name in OF_DATATYPE:
            datatype = getattr(MPI, name)
            for op in ALL_OPERATORS:
                for reduction in REDUCTIONS:
                    buffers = [[np.zeros(64, "u1"), 1, datatype] for _ in range(2)]
                    options = {"recvcounts": [1]} if reduction == "Reduce_scatter" else {}
                    try:
                        await call(comm, reduction, *buffers, op=getattr(MPI, op), **options)
                    except MPI.Exception as error:
                        classes.add(error.Get_error_class())
                    else:
                        found.setdefault((name, reduction), []).append(op)
        return found

    classes = set()
    found = MPI.run(main, library="scampi", ranks=1).values[0]
    assert classes == {MPI.ERR_OP}
    for name, defined in OF_DATATYPE.items():
        for reduction in REDUCTIONS:
            assert found.get((name, reduction), []) == defined, (name, reduction)


def test_a_real_library_defines_operators_for_the_same_datatypes(tmp_path):
    pytest.importorskip("mpi4py", reason="real MPI needs mpi4py here")
    (tmp_path / "real.py").write_text(REAL)
    words = [sys.executable, str(tmp_path / "real.py"), json.dumps([list(OF_DATATYPE), ALL_OPERATORS])]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    found["CHAR"] = []  # MPICH takes it for a number, the standard does not
    assert found == OF_DATATYPE


REAL = """
import json, sys
from mpi4py import MPI

datatypes, operators = json.loads(sys.argv[1])
found = {name: [] for name in datatypes}
for name in datatypes:
    for op in operators:
        buffers = [[bytearray(64), 1, getattr(MPI, name)] for _ in range(2)]
        try:
            MPI.COMM_SELF.Allreduce(*buffers, op=getattr(MPI, op))
        except MPI.Exception as error:
            assert error.Get_error_class() == MPI.ERR_OP
        else:
            found[name].append(op)
print(json.dumps(found))
"""
"""Of one process."""


PAIRS = {"FLOAT_INT": "f4", "DOUBLE_INT": "f8", "LONG_INT": "i8", "INT_INT": "i4", "SHORT_INT": "i2"}
PAIR = np.dtype([("value", "f8"), ("rank", "i4")], align=True)


async def located(comm, name, code):
    """Reduce, scan and move structured arrays with fields of the program's own; return what comes of it."""
    pair, datatype = np.dtype([("key", code), ("rank", "i4")], align=True), getattr(MPI, name)
    mine, best, first = np.zeros(3, pair), np.zeros(3, pair), np.zeros((2, 2), pair)
    mine["key"], mine["rank"] = [comm.rank, 7 - comm.rank, 2], comm.rank
    await comm.Allreduce([mine, 3, datatype], [best, 3, datatype], MPI.MAXLOC)
    await comm.Scan([mine, datatype], [mine.copy(), datatype], MPI.MINLOC)
    all_ = np.zeros((comm.size, 3), pair)
    await comm.Allgather([mine, datatype], [all_, datatype])
    expected = [(comm.size - 1, comm.size - 1), (7, 0), (2, 0)]
    assert best.tolist() == expected
    assert all_["rank"].tolist() == [[each] * 3 for each in range(comm.size)]
    request = await comm.Irecv([first, MPI.BYTE], (comm.rank - 1) % comm.size)
    await comm.Send([memoryview(best), 2, 1, datatype], (comm.rank + 1) % comm.size)
    await request.Wait()
    assert first.tolist()[0] == expected[1:]
    await comm.Bcast([best, "B"])


@pytest.mark.parametrize("name", PAIRS)
def test_an_explicit_datatype_stands_for_the_bytes_of_any_array(library, name):
    MPI.run(located, name, PAIRS[name], library=library, ranks=3)


def test_an_array_whose_elements_are_no_pairs_of_c_is_refused():
    packed = np.zeros(4, [("value", "f8"), ("rank", "i4")])
    match = (
        "^Comm.Allreduce: recvbuf: the array's elements have 12 bytes, those of MPI_DOUBLE_INT 16, as in C; give "
        "numpy.dtype the fields of that type, and align=True$"
    )
    buffers = [packed, 3, MPI.DOUBLE_INT], [packed.copy(), 3, MPI.DOUBLE_INT]
    refused(conduit.BadRequest, match, lambda comm: comm.Allreduce(*buffers, MPI.MINLOC))


@pytest.mark.parametrize("given", [lambda array: array, lambda array: [array, MPI.BYTE]], ids=["alone", "as bytes"])
def test_python_objects_are_refused_whatever_they_are_said_to_be(given):
    match = (
        "^Comm.Send: buf: the array's elements are Python objects, which have no bytes to send; give an array of "
        "numbers, or pickle to bytes$"
    )
    refused(conduit.BadRequest, match, lambda comm: comm.Send(given(np.array([{}, {}])), 0))


@pytest.mark.parametrize("op", ["MAXLOC", "MINLOC"])
@pytest.mark.parametrize("name", ["FLOAT_INT", "DOUBLE_INT", "LONG_INT", "TWOINT", "SHORT_INT"])
def test_the_place_of_the_largest_and_the_smallest(library, name, op):
    datatype = getattr(MPI, name)

    async def main(comm):
        def pairs(rank):
            made = np.zeros(6, datatype.dtype)
            made["value"], made["index"] = data(rank, 6), rank
            return made

        into = np.zeros(6, datatype.dtype)
        await comm.Allreduce([pairs(comm.rank), datatype], [into, datatype], getattr(MPI, op))
        values = np.stack([data(rank, 6) for rank in range(comm.size)])
        where = values.argmax(axis=0) if op == "MAXLOC" else values.argmin(axis=0)
        assert (into["index"] == where).all()
        assert (into["value"] == values[where, range(6)]).all()

    MPI.run(main, library=library, ranks=5, ranks_per_host=2)


def multiply(incoming, inout, datatype):
    """Elements are matrices of 2 x 2 integers, whose products do not commute."""
    one, other = (np.frombuffer(each, datatype.dtype).reshape(-1, 2, 2) for each in (incoming, inout))
    other[...] = one @ other


@pytest.mark.parametrize(("ranks", "per_host"), [(1, 1), (2, 2), (5, 1), (6, 4), (9, 3), (17, 5)])
def test_operators_that_do_not_commute_keep_the_order_of_the_ranks(library, ranks, per_host):
    async def main(comm):
        op = MPI.Op.Create(multiply, commute=False)
        operands = [data(rank, 4) for rank in range(comm.size)]
        products = [operands[0].reshape(2, 2)]
        for each in operands[1:]:
            products.append(products[-1] @ each.reshape(2, 2))
        root = comm.size - 1
        shared = ["local-exchange"] * (library == "sunmpi")
        for algorithm in ("", "linear", "binomial-ordered", "two-level", *shared):
            into = np.zeros(4, "i8")
            await comm.Reduce(operands[comm.rank], into, op, root, algorithm=algorithm)
            assert comm.rank != root or (into == products[-1].ravel()).all(), algorithm
        for algorithm in ("", "reduce-broadcast", "recursive-doubling", "two-level", *shared):
            into = np.zeros(4, "i8")
            await comm.Allreduce(operands[comm.rank], into, op, algorithm=algorithm)
            assert (into == products[-1].ravel()).all(), algorithm
        for algorithm in ("", "linear", "recursive-doubling"):
            into = np.zeros(4, "i8")
            await comm.Scan(operands[comm.rank], into, op, algorithm=algorithm)
            assert (into == products[comm.rank].ravel()).all(), algorithm
            await comm.Exscan(operands[comm.rank], into, op, algorithm=algorithm)
            assert not comm.rank or (into == products[comm.rank - 1].ravel()).all(), algorithm

    MPI.run(main, library=library, ranks=ranks, ranks_per_host=per_host)


# -- blocks of several sizes, other communicators, many at once ----------------------------------------------


@st.composite
def tables(draw):
    """Draw ranks, how many share a host, and how many elements each has for each."""
    ranks = draw(st.integers(1, 6))
    counts = draw(st.lists(st.lists(st.integers(0, 5), min_size=ranks, max_size=ranks), min_size=ranks, max_size=ranks))
    return ranks, draw(st.integers(1, ranks)), counts, draw(st.integers(0, ranks - 1)), draw(st.integers(0, 2))


@settings(max_examples=12, deadline=None)
@given(tables())
def test_blocks_of_any_size_at_any_place(crowded_table):
    ranks, per_host, counts, root, gap = crowded_table

    def places(sizes):
        return [sum(sizes[:rank]) + gap * (rank + 1) for rank in range(len(sizes))]

    def room(sizes):
        return np.full(sum(sizes) + gap * (len(sizes) + 1), -100)

    def laid(blocks):
        whole = room([len(each) for each in blocks])
        for place, block in zip(places([len(each) for each in blocks]), blocks, strict=True):
            whole[place : place + len(block)] = block
        return whole

    async def main(comm):
        me = comm.rank
        row = counts[root]
        blocks = [data(rank, row[rank]) for rank in range(ranks)]
        into = room(row)
        await comm.Gatherv(blocks[me], [into, (row, places(row)), MPI.LONG] if me == root else None, root)
        assert me != root or (into == laid(blocks)).all()
        into = room(row)
        await comm.Allgatherv(blocks[me], [into, row, places(row), MPI.LONG])
        assert (into == laid(blocks)).all()
        own = np.full(row[me], -100)
        await comm.Scatterv([laid(blocks), row, places(row), MPI.LONG] if me == root else None, own, root)
        assert (own == blocks[me]).all()
        sends = [[data(one * 10 + other, counts[one][other]) for other in range(ranks)] for one in range(ranks)]
        column = [counts[other][me] for other in range(ranks)]
        into = room(column)
        await comm.Alltoallv(
            [laid(sends[me]), counts[me], places(counts[me]), "i8"], [into, column, places(column), "i8"]
        )
        assert (into == laid([sends[other][me] for other in range(ranks)])).all()
        operands = [data(rank, sum(row)) for rank in range(ranks)]
        own = np.full(row[me], -100)
        await comm.Reduce_scatter(operands[me], own)
        assert (own == sum(operands)[sum(row[:me]) :][: row[me]]).all()

    MPI.run(main, library="scampi", ranks=ranks, ranks_per_host=per_host)


def test_collectives_of_several_communicators_and_tasks_do_not_mix(library):
    async def main(comm):
        other = await comm.Dup()
        half = await comm.Split(comm.rank % 2, -comm.rank)
        one, two, three = np.zeros(1, "i8"), np.zeros(1, "i8"), np.full(9000, comm.rank)
        mine = np.array([comm.rank])
        requests = [
            await comm.Iallreduce(mine, one),
            await other.Iallreduce(mine, two, MPI.MAX),
            await comm.Ibcast(three, 2, algorithm="scatter-allgather"),
            await other.Ibarrier(),
        ]
        total = np.zeros(1, "i8")
        await half.Allreduce(mine, total, algorithm="two-level")
        await MPI.Request.Waitall(requests)
        assert (one[0], two[0]) == (10, 4)
        assert (three == 2).all()
        assert total[0] == (4 if comm.rank % 2 else 6)

    MPI.run(main, library=library, ranks=5, ranks_per_host=2)


def test_an_option_chooses_what_is_usual():
    async def main(comm, algorithm):
        await comm.Bcast(np.zeros(3000), 1, algorithm=algorithm)

    def job(library, algorithm):
        return MPI.run(main, algorithm, library=library, ranks=6, ranks_per_host=3).seconds

    assert job("scampi", "") == job("scampi:collectives=flat", "") == job("scampi", "binomial")
    for style in ("nodes", "broadcast"):
        assert job(f"scampi:collectives={style}", "") == job("scampi", "two-stage") != job("scampi", "binomial")
    for library in ("sunmpi:collectives=nodes", "start"):
        assert job(library, "") == job(library, "two-stage") != job(library, "binomial")
    assert job("sunmpi", "") == job("sunmpi", "local-exchange") != job("sunmpi", "two-stage")


@pytest.mark.parametrize("library", ["scampi", "start", "sunmpi:collectives=nodes"])
def test_shared_buffers_are_for_the_library_that_has_them(library):
    async def main(comm):
        await comm.Bcast(np.zeros(1), algorithm="local-exchange")

    known = "linear, binomial, scatter-allgather, two-stage"
    with pytest.raises(conduit.BadRequest, match=rf"^Comm.Bcast: algorithm='local-exchange' is none of {known}\n"):
        MPI.run(main, library=library, ranks=2)


@pytest.mark.parametrize("library", ["scampi", "start"])
def test_the_style_of_shared_buffers_is_for_the_library_that_has_them(library):
    async def main(comm):
        await comm.Barrier()

    with pytest.raises(conduit.BadRequest, match=r"cannot be 'exchange'; allowed: flat\|broadcast\|nodes$"):
        MPI.run(main, library=f"{library}:collectives=exchange", ranks=2)


def test_placement_decides_what_leaves_a_host():
    """A two-stage broadcast of a large message takes less time than one that is blind to who shares a host."""

    async def main(comm, algorithm):
        await comm.Barrier()
        begun = MPI.Wtime()
        await comm.Bcast(np.zeros(50_000), 0, algorithm=algorithm)
        await comm.Barrier()
        return MPI.Wtime() - begun

    times = {}
    for algorithm in ("binomial", "two-stage"):
        job = MPI.run(main, algorithm, library="scampi", ranks=6, ranks_per_host=3)
        times[algorithm] = max(job.values)
    assert times["two-stage"] < times["binomial"]


# -- refusals ---------------------------------------------------------------------------------------------


def refused(error, match, act, ranks=2, **options):
    async def main(comm):
        with pytest.raises(error, match=match) as caught:
            await act(comm)
        if error is MPI.Exception:
            return caught.value.Get_error_class()
        return None

    return MPI.run(main, library="scampi", ranks=ranks, **options).values[0]


ONE, TWO = np.arange(2), np.arange(4)


@pytest.mark.parametrize(
    ("match", "act"),
    [
        (r"Comm.Bcast: algorithm='fast' is none of linear, binomial, scatter-allgather, two-stage$",
         lambda comm: comm.Bcast(ONE, algorithm="fast")),
        (r"Comm.Allgatherv: algorithm=3 is none of ring, bruck, ", lambda comm: comm.Allgatherv(ONE, TWO, algorithm=3)),
        (r"Comm.Bcast: buf=None, and this rank needs one", lambda comm: comm.Bcast(None)),
        (r"Comm.Bcast: buf=MPI.IN_PLACE is not allowed on this rank", lambda comm: comm.Bcast(MPI.IN_PLACE)),
        (r"Comm.Allgather: recvbuf=None", lambda comm: comm.Allgather(ONE, None)),
        (r"Comm.Allreduce: sendbuf has 2 elements of MPI_LONG, recvbuf 3 of MPI_LONG",
         lambda comm: comm.Allreduce(ONE, np.zeros(3, "i8"))),
        (r"Comm.Scan: sendbuf has 2 elements of MPI_LONG, recvbuf 2 of MPI_DOUBLE",
         lambda comm: comm.Scan(ONE, ONE * 1.0)),
        (r"Comm.Allreduce: op=<built-in function sum> is no operator",
         lambda comm: comm.Allreduce(ONE, ONE.copy(), sum)),
        (r"Comm.Alltoall: sendbuf: the buffer's 24 bytes .* cannot be divided among 2 ranks",
         lambda comm: comm.Alltoall(np.arange(3), TWO)),
        (r"Comm.Allgather: recvbuf: 3 elements of MPI_LONG for each of 2 ranks, .* take 48 bytes, the buffer has 32",
         lambda comm: comm.Allgather(np.arange(3), [TWO, 3, MPI.LONG])),
        (r"Comm.Reduce_scatter_block: 3 elements cannot be divided among 2 ranks",
         lambda comm: comm.Reduce_scatter_block(np.arange(3), ONE)),
        (r"Comm.Reduce_scatter: recvcounts: 1 numbers for 2 ranks", lambda comm: comm.Reduce_scatter(TWO, ONE, [4])),
        *(
            (rf"^Comm.{what}={re.escape(repr(wrong))} is an? {kind}, whose items have no order that counts; give a "
             r"list or an array of 2 integers, one for each rank$", act)
            for wrong, kind in (({2, 1}, "set"), ({0: 2, 1: 2}, "dict"), ({2: 2}.keys(), "dict_keys"))
            for what, act in (
                ("Reduce_scatter: recvcounts", lambda comm, wrong=wrong: comm.Reduce_scatter(TWO, ONE, wrong)),
                ("Allgatherv: recvbuf: counts", lambda comm, wrong=wrong: comm.Allgatherv(ONE, [TWO, wrong])),
                ("Alltoallv: sendbuf: displacements",
                 lambda comm, wrong=wrong: comm.Alltoallv([TWO, [2, 2], wrong, MPI.LONG], ONE)),
            )
        ),
        (r"Comm.Reduce_scatter: the counts \(2, 1\) come to 3 elements, the operand has 4",
         lambda comm: comm.Reduce_scatter(TWO, ONE, [2, 1])),
        (r"Comm.Reduce_scatter: recvcounts=None tells no blocks", lambda comm: comm.Reduce_scatter(MPI.IN_PLACE, TWO)),
        (r"Comm.Reduce_scatter: sendbuf has 5 elements, the receive buffers of all have \(2, 2\)",
         lambda comm: comm.Reduce_scatter(np.arange(5), ONE.copy())),
        (r"Comm.Reduce: algorithm='binomial' changes the order of operands, and op=MPI_OP_CREATED does not commute; "
         r"use linear, binomial-ordered, two-level$",
         lambda comm: comm.Reduce(ONE, TWO[:2], MPI.Op.Create(multiply), algorithm="binomial")),
    ],
)  # fmt: skip
def test_what_is_refused(match, act):
    refused(conduit.BadRequest, match, act)


@pytest.mark.parametrize(
    ("code", "instead"),
    [
        ("f2", "reduce array.astype(numpy.float32)"),
        ("m8[s]", "reduce array.view(numpy.int64)"),
        ("S5", "reduce an array of numbers"),
        ("i4,f8,i2", "reduce an array of numbers"),
        (PAIR, "give one explicitly, as [array, MPI.DOUBLE_INT]"),
    ],
)
def test_arrays_that_mpi_has_no_datatype_for_are_not_reduced_as_bytes(code, instead):
    data = np.zeros(2, code)
    missing = re.escape(f"MPI has no basic datatype for numpy's {data.dtype}; ")
    for name in REDUCTIONS:
        match = rf"^Comm.{name}: (send|recv)buf: {missing}{re.escape(instead)}$"
        refused(conduit.BadRequest, match, lambda comm, name=name: getattr(comm, name)(data, data.copy()))
    moved = r"give one explicitly, as \[array, MPI.BYTE\]$"
    for name in ("Bcast", "Send"):
        match = rf"^Comm.{name}: buf: {missing}{moved}"
        refused(conduit.BadRequest, match, lambda comm, name=name: getattr(comm, name)(data, 0))


def test_leaders_of_hosts_are_refused_where_they_would_change_the_order():
    async def act(comm):
        dealt = await comm.Split(0, comm.rank % 2)
        return await dealt.Allreduce(ONE, TWO[:2], MPI.Op.Create(multiply), algorithm="two-level")

    refused(conduit.BadRequest, "use reduce-broadcast, recursive-doubling$", act, ranks=4, ranks_per_host=2)


@pytest.mark.parametrize(
    ("which", "match", "act"),
    [
        (MPI.ERR_ROOT, r"Comm.Bcast: root=2 is no rank of MPI_COMM_WORLD; use 0 to 1", lambda comm: comm.Bcast(ONE, 2)),
        (MPI.ERR_ROOT, r"Comm.Gather: root=-1 ", lambda comm: comm.Gather(ONE, TWO, -1)),
        (MPI.ERR_OP, r"Comm.Allreduce: op=MPI_BAND does not take MPI_DOUBLE; MPI defines MAX, MIN, SUM, PROD for it$",
         lambda comm: comm.Allreduce(ONE * 1.0, TWO[:2] * 1.0, MPI.BAND)),
        (MPI.ERR_OP, r"Comm.Reduce: op=MPI_SUM does not take MPI_BYTE; MPI defines BAND, BOR, BXOR for it; numbers of "
         r"one byte are MPI.UINT8_T$", lambda comm: comm.Reduce(bytes(2), bytearray(2))),
        (MPI.ERR_OP, r"Comm.Scan: op=MPI_SUM does not take MPI_C_BOOL; MPI defines LAND, LOR, LXOR for it; to count, "
         r"give array.astype\(numpy.int32\)$", lambda comm: comm.Scan(ONE > 0, ONE > 1)),
        (MPI.ERR_OP, r"Comm.Exscan: op=MPI_MAX does not take MPI_CHAR; MPI defines none for characters; give an array "
         r"of integers$", lambda comm: comm.Exscan(np.zeros(2, "S1"), np.zeros(2, "S1"), MPI.MAX)),
        (MPI.ERR_OP, r"Comm.Allreduce: op=MPI_REPLACE is for windows",
         lambda comm: comm.Allreduce(ONE, TWO[:2], MPI.REPLACE)),
        (MPI.ERR_OP, r"op=MPI_OP_NULL is no operator", lambda comm: comm.Allreduce(ONE, TWO[:2], MPI.OP_NULL)),
        (MPI.ERR_BUFFER, r"Comm.Allreduce: sendbuf and recvbuf share bytes; give MPI.IN_PLACE",
         lambda comm: comm.Allreduce(TWO, TWO)),
        (MPI.ERR_BUFFER, r"Comm.Allgather: sendbuf and recvbuf share bytes", lambda comm: comm.Allgather(TWO[2:], TWO)),
        (MPI.ERR_BUFFER, r"BOTTOM is no buffer here", lambda comm: comm.Allreduce(MPI.BOTTOM, TWO)),
        (MPI.ERR_COUNT, r"Comm.Allgather: sendbuf gives this rank's own block 24 bytes, recvbuf has 16 for it",
         lambda comm: comm.Allgather(np.arange(3), TWO)),
        (MPI.ERR_OP, r"Comm.Allreduce: op=MPI_SUM does not take MPI_BYTE; MPI defines BAND, BOR, BXOR for it; numbers "
         r"of one byte are MPI.UINT8_T",
         lambda comm: comm.Allreduce([TWO, MPI.BYTE], [TWO.copy(), MPI.BYTE])),
        (MPI.ERR_OP, r"Comm.Allreduce: op=MPI_LAND does not take MPI_BYTE; MPI defines",
         lambda comm: comm.Allreduce([TWO, MPI.BYTE], [TWO.copy(), MPI.BYTE], MPI.LAND)),
        (MPI.ERR_COMM, r"Comm.Barrier: this communicator is null", lambda comm: MPI.COMM_NULL.Barrier()),
    ],
)  # fmt: skip
def test_what_is_refused_with_a_class(which, match, act):
    assert refused(MPI.Exception, match, act) == which


def test_bytes_are_combined_bit_by_bit():
    async def main(comm):
        result = np.zeros(2, np.uint8)
        await comm.Allreduce([np.array([1, 2], np.uint8) << comm.rank, MPI.BYTE], [result, MPI.BYTE], MPI.BOR)
        return result.tolist()

    assert MPI.run(main, library="scampi", ranks=2).values == [[3, 6], [3, 6]]


def test_what_mpi_has_no_datatype_for_is_told_how_to_reduce_it():
    async def main(comm):
        await comm.Allreduce(np.zeros(2, np.float16), np.zeros(2, np.float16))

    with pytest.raises(conduit.BadRequest) as caught:
        MPI.run(main, library="scampi", ranks=1)
    assert str(caught.value).endswith(
        ": MPI has no basic datatype for numpy's float16; reduce array.astype(numpy.float32)"
    )


def test_sizes_that_differ_between_ranks_end_the_call_that_sees_it():
    async def main(comm):
        await comm.Bcast(np.zeros(1 + comm.rank), 0)

    with pytest.raises(MPI.Exception, match=r"MPI Bcast of all on MPI_COMM_WORLD: rank 0 sent 8 bytes where 16 were"):
        MPI.run(main, library="scampi", ranks=2)


def test_a_call_that_has_begun_goes_on_when_its_operator_is_freed():
    def add(incoming, inout, datatype):
        np.frombuffer(inout)[:] += np.frombuffer(incoming)

    async def main(comm):
        op, total = MPI.Op.Create(add), np.zeros(3)
        request = await comm.Iallreduce(np.full(3, comm.rank + 1.0), total, op)
        op.Free()
        await request.Wait()
        with pytest.raises(MPI.Exception, match=r"^Comm\.Allreduce: op=MPI_OP_CREATED is no operator, or was freed$"):
            await comm.Allreduce(np.zeros(3), total, op)
        return total.tolist(), bool(op), op == MPI.OP_NULL, {op} == {MPI.OP_NULL}, MPI.Op.Create(add) == MPI.OP_NULL

    assert MPI.run(main, library="scampi", ranks=4).values == [([10.0] * 3, False, True, True, False)] * 4


def test_an_operator_that_fails_ends_the_call():
    def broken(incoming, inout, datatype):
        raise ZeroDivisionError("no such quotient")

    async def main(comm):
        await comm.Allreduce(np.zeros(2), np.zeros(2), MPI.Op.Create(broken, commute=True))

    with pytest.raises(ZeroDivisionError, match="no such quotient"):
        MPI.run(main, library="scampi", ranks=2)


@pytest.mark.parametrize("call", ["Ibarrier", "Ibcast"])
def test_a_collective_that_is_cancelled_as_it_is_begun_breaks_its_communicator(call):
    async def main(comm):
        buffer = np.zeros(1)
        with trio.CancelScope() as scope:
            scope.cancel()
            await (comm.Ibarrier() if call == "Ibarrier" else comm.Ibcast(buffer))
        assert scope.cancelled_caught
        with pytest.raises(MPI.Exception) as refused:
            await comm.Barrier()
        made = await comm.Create_group(comm.Get_group())
        await made.Barrier()
        return refused.value.Get_error_class(), str(refused.value)

    line = inspect.getsourcelines(main)[1] + 4
    text = (
        f"Comm.Barrier: MPI_COMM_WORLD is broken, its {call} at {__file__}:{line} was cancelled on this rank; make "
        "another by Create_group on all its ranks, as Dup and Split are calls of this one"
    )
    assert MPI.run(main, library="scampi", ranks=2).values == [(MPI.ERR_COMM, text)] * 2


def test_ranks_that_call_different_collectives_are_told_what_each_waits_for():
    async def main(comm):
        if comm.rank:
            await comm.Barrier()

    with pytest.raises(conduit.Deadlock, match=r"MPI Barrier of all on MPI_COMM_WORLD"):
        MPI.run(main, library="scampi", ranks=2)


def waits_of(main, ranks):
    with pytest.raises(conduit.Deadlock) as caught:
        MPI.run(main, library="scampi", ranks=ranks)
    return {rank.rank: rank.tasks[0].wait for rank in caught.value.report.ranks if rank.tasks}, str(caught.value)


def test_who_waits_in_a_collective_is_told_who_has_not_come_and_not_who_has():
    async def main(comm):
        await comm.Barrier()
        if comm.rank % 2:
            await comm.Recv(np.zeros(1), source=comm.rank - 1)
        await comm.Barrier()

    waits, text = waits_of(main, 6)
    assert [waits[rank].missing for rank in (0, 2, 4)] == [(1, 3, 5)] * 3
    assert waits[0].awaited == (1, 3, 5)
    assert "waits for MPI Barrier of all on MPI_COMM_WORLD, to which ranks 1, 3, 5 have not come, since" in text


def test_of_part_of_the_ranks_those_that_have_not_come_are_named_as_in_the_world():
    async def main(comm):
        part = await comm.Split(comm.rank % 2)
        part.Set_name("half")
        if comm.rank != 5:
            await part.Allreduce(np.zeros(1), np.zeros(1))

    waits, text = waits_of(main, 6)
    assert [waits[rank].missing for rank in (1, 3)] == [(5,)] * 2
    assert "waits for MPI Allreduce of all on half, to which rank 5 has not come, since" in text


def test_the_cycle_that_is_told_goes_through_who_has_not_come_to_a_collective():
    """The root waits for all that read its buffers, and those that have come wait for the root."""

    async def main(comm):
        if comm.rank == 3:
            await comm.Recv(np.zeros(1), source=0)
        for _ in range(6):
            await comm.Bcast(np.zeros(3000), root=0)
        if comm.rank == 0:
            await comm.Send(np.zeros(1), dest=3)

    with pytest.raises(conduit.Deadlock) as caught:
        MPI.run(main, library="sunmpi", ranks=4, ranks_per_host=4)
    assert str(caught.value).splitlines()[1] == "cycle: rank 0 waits for rank 3 waits for rank 0"


def test_of_a_broadcast_the_root_is_named_with_who_else_has_not_come():
    async def main(comm):
        if comm.rank > 1:
            await comm.Bcast(np.zeros(4), root=0)

    waits, text = waits_of(main, 4)
    assert [waits[rank].missing for rank in (2, 3)] == [(0, 1)] * 2
    assert "MPI Bcast of all on MPI_COMM_WORLD, to which ranks 0-1 have not come, since" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda comm: comm.Barrier(),
        lambda comm: comm.Allreduce(np.ones(4), np.zeros(4)),
        lambda comm: comm.Gather(np.ones(4), np.zeros(16), root=2),
    ],
    ids=["Barrier", "Allreduce", "Gather"],
)
def test_messages_of_a_collective_that_ranks_wait_in_are_not_told_besides(call):
    async def main(comm):
        if comm.rank != 1:
            await call(comm)
        if comm.rank in (0, 1):
            await comm.Recv(np.zeros(1), source=1 - comm.rank, tag=7)

    with pytest.raises(conduit.Deadlock) as error:
        MPI.run(main, ranks=4)
    assert "not handled" not in str(error.value)


def test_messages_of_a_collective_that_no_rank_waits_in_are_told_with_its_line():
    async def main(comm):
        if comm.rank == 0:
            await comm.Bcast(np.ones(4), root=0)
        await comm.Recv(np.zeros(1), source=1 - comm.rank, tag=7)

    line = inspect.getsourcelines(main)[1] + 2
    with pytest.raises(conduit.Deadlock) as error:
        MPI.run(main, ranks=2)
    text = str(error.value)
    assert (
        f"    rank 1: 1 message of Bcast on MPI_COMM_WORLD, which rank 0 has called at test_collective.py:{line}"
        in text
    )
    assert "not handled" not in text


def test_colors_and_keys_have_bounds():
    async def main(comm):
        for bad in ((1 << 70, 0), (0, 1 << 70), (0, -(1 << 70))):
            with pytest.raises(MPI.Exception, match=r"^Comm\.Split: (color|key)=-?\d+ is (greater|less) than -?\d+$"):
                await comm.Split(*bad)
        with pytest.raises(MPI.Exception, match=r"^Comm\.Split_type: key=\d+ is greater than"):
            await comm.Split_type(MPI.COMM_TYPE_SHARED, 1 << 70)
        made = await comm.Split((1 << 31) - 1, -(1 << 31) + comm.rank)
        return made.rank

    assert MPI.run(main, library="scampi", ranks=2).values == [0, 1]


@pytest.mark.parametrize("call", ["Dup", "Clone", "Free", "Split", "Barrier", "Ibarrier"])
def test_a_null_communicator_refuses_a_call_by_its_own_name(call):
    async def main(comm):
        freed = await comm.Dup()
        await freed.Free()
        for null in (MPI.COMM_NULL, freed):
            with pytest.raises(MPI.Exception, match=rf"^Comm\.{call}: this communicator"):
                await getattr(null, call)()

    MPI.run(main, library="scampi", ranks=1)
