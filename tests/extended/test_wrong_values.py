"""Wrong arguments whose value cannot be shown, or is very long, are refused in the same words as others."""

import numpy as np
import pytest

import conduit
from extended import Extended, shmem, upc, windows

HUGE = 10**5000  # Python refuses to write more than 4300 digits


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no repr today")


VALUES = [HUGE, -HUGE, Unprintable(), "x" * 100_000, [[HUGE]], np.array([1, 2])]
BUFFER = np.zeros(4)
# By the argument that is wrong: of x, a team of two ranks, and atomic operations.
CALLS = {
    "offset": lambda x, team, numbers, value: x.put(0, value, b"ab"),
    "dest": lambda x, team, numbers, value: x.put(value, 0, b"ab"),
    "nbytes": lambda x, team, numbers, value: x.get(0, 0, value),
    "nbytes and out": lambda x, team, numbers, value: x.get(0, 0, value, out=BUFFER),
    "value": lambda x, team, numbers, value: x.put_value(0, 0, value),
    "nbytes of a value": lambda x, team, numbers, value: x.put_value(0, 0, 1, value),
    "signed": lambda x, team, numbers, value: x.get_value(0, 0, 8, value),
    "bulk": lambda x, team, numbers, value: x.put_nb(0, 0, b"ab", value),
    "byte": lambda x, team, numbers, value: x.memset(0, 0, value, 1),
    "offset of a piece": lambda x, team, numbers, value: x.put_vector(0, [(value, 1)], b"a"),
    "nbytes of a piece": lambda x, team, numbers, value: x.put_vector(0, [(0, value)], b"a"),
    "a piece": lambda x, team, numbers, value: x.put_vector(0, [value], b"a"),
    "an offset": lambda x, team, numbers, value: x.put_indexed(0, [value], 1, b"a"),
    "nbytes of elements": lambda x, team, numbers, value: x.put_indexed(0, [0], value, b"a"),
    "offset of an array": lambda x, team, numbers, value: x.put_strided(0, value, (8,), BUFFER),
    "a stride": lambda x, team, numbers, value: x.put_strided(0, 0, (value,), BUFFER),
    "strides": lambda x, team, numbers, value: x.put_strided(0, 0, (8, value), BUFFER),
    "nbytes of a block": lambda x, team, numbers, value: x.all_alloc(value),
    "align": lambda x, team, numbers, value: x.all_alloc(1, value),
    "a block": lambda x, team, numbers, value: x.free(value),
    "id": lambda x, team, numbers, value: x.barrier(value),
    "color": lambda x, team, numbers, value: x.split(value),
    "key": lambda x, team, numbers, value: x.split(0, value),
    "rank of a team": lambda x, team, numbers, value: team.job_rank(value),
    "rank of the job": lambda x, team, numbers, value: team.rank_of(value),
    "root": lambda x, team, numbers, value: x.broadcast(1, value),
    "op": lambda x, team, numbers, value: x.reduce(1, value),
    "algorithm": lambda x, team, numbers, value: x.reduce(1, algorithm=value),
    "offset of a number": lambda x, team, numbers, value: numbers.add(0, value, 1),
    "operand": lambda x, team, numbers, value: numbers.add(0, 0, value),
    "dtype": lambda x, team, numbers, value: x.atomic(value),
    "data": lambda x, team, numbers, value: x.put(0, 0, [value]),
}


@pytest.mark.parametrize("name", CALLS)
def test_whatever_the_value_the_refusal_can_be_read(name):
    async def main(ep):
        x = await Extended.attach(ep)
        team, numbers = await x.split(0), x.atomic("f8")
        for value in VALUES:
            if name == "operand" and isinstance(value, int):
                continue  # infinite, as a number of floats
            with pytest.raises(conduit.BadRequest, match=r"\A[\w.]+: ") as caught:
                CALLS[name](x, team, numbers, value)
            assert len(str(caught.value)) < 700

    conduit.run(main, ranks=2, conduit="loggp")


def test_the_name_of_a_lock_may_be_any_integer():
    async def main(ep):
        x = await Extended.attach(ep)
        async with x.lock(HUGE) as lock:
            return repr(lock), lock.title

    (shown, title), _ = conduit.run(main, ranks=2, conduit="loggp").values
    assert title == "lock an int of 16610 bits"
    assert shown.startswith("<Lock an int of 16610 bits kept by rank ")


def test_a_flag_that_is_an_array_is_refused_in_our_words():
    async def main(ep):
        x = await Extended.attach(ep)
        with pytest.raises(conduit.BadRequest, match=r"\Aput_nb: bulk=array\(\[1, 2\]\) is neither True nor False"):
            x.put_nb(0, 0, b"", np.array([1, 2]))

    conduit.run(main, ranks=1, conduit="loggp")


def test_a_number_of_more_than_64_bits_is_no_operand():
    async def main(ep):
        await (await Extended.attach(ep)).all_reduce(2**70)

    with pytest.raises(conduit.BadRequest) as caught:
        conduit.run(main, conduit="loggp")
    assert str(caught.value) == (
        "all_reduce: array of type int and dtype object is too large for 64 bits; give numbers or an array of a dtype "
        "with plain bytes"
    )


def test_a_class_is_no_operand_though_its_numbers_are():
    async def main(ep):
        x = await Extended.attach(ep)
        for dtype, kind in (("f8", "a real number"), ("i8", "an integer")):
            with pytest.raises(conduit.BadRequest, match=rf"\Aatomic\.add: v=.*int.* is a type; it must be {kind}"):
                x.atomic(dtype).add(0, 0, int)

    conduit.run(main, ranks=1, conduit="loggp")


GRID = memoryview(np.array([[0, 2], [4, 3]]))


def test_a_memoryview_of_two_dimensions_is_a_list_of_pairs():
    async def main(ep):
        x = await Extended.attach(ep)
        ep.segment[:7] = np.arange(7)
        refusals = (
            (lambda: x.get_indexed(0, GRID, 1), r"get_indexed: offsets is an array of shape \(2, 2\)"),
            (lambda: x.get_strided(0, 0, GRID, np.zeros(2)), r"get_strided: strides\[0\]=.* is a ndarray"),
            (lambda: x.wait_all(GRID), r"wait_all: handles\[0\] is a ndarray, no handle"),
        )
        for call, words in refusals:
            with pytest.raises(conduit.BadRequest, match=rf"\A{words}"):
                call()
        win = await windows.Win.Allocate(8, comm=x)
        with pytest.raises(conduit.BadRequest, match=r"\Awin\.Post: group=array\(\[0, 2\]\) is a ndarray"):
            win.Post(GRID)
        return (await x.get_vector(0, GRID)).tolist()

    assert conduit.run(main, ranks=1, conduit="loggp").values == [[0, 1, 4, 5, 6]]


@pytest.mark.parametrize("order", [np.array(["C", "F"]), np.zeros(2), ["C"], None], ids=repr)
def test_an_order_of_shmem_is_a_text(order):
    async def main(pe):
        for call in (
            lambda: pe.zeros(4, "f8", order),
            lambda: pe.array([1], order=order),
            lambda: pe.fromalloc(memory, order=order),
        ):
            with pytest.raises(conduit.BadRequest, match=r"(?s)\Ape\.(zeros|array|fromalloc): order=.* is not known"):
                call()

    async def with_memory(pe):
        nonlocal memory
        memory = await pe.alloc(4, 8)
        await main(pe)

    memory = None
    shmem.run(with_memory, pes=1, conduit="loggp")


@pytest.mark.parametrize("call", ["get", "get_nb"])
def test_a_buffer_to_be_filled_has_a_name_of_its_own(call):
    """In SHMEM and GASNet it is an argument by its place."""

    async def main(ep):
        x = await Extended.attach(ep)
        with pytest.raises(conduit.BadRequest) as caught:
            getattr(x, call)(0, 0, bytearray(2))
        assert str(caught.value) == (
            f"{call}: nbytes=bytearray(b'\\x00\\x00') is a bytearray; it must be an integer; give a buffer that "
            "is to be filled as out="
        )

    conduit.run(main, ranks=1, conduit="loggp", segment=64)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x, none: x.get_vector(0, none), "get_vector: pieces is a ndarray; give a list of (offset, nbytes)"),
        (
            lambda x, none: x.get_strided(0, 0, none, np.zeros(2, "u1")),
            "get_strided: strides is a ndarray; give a tuple with the bytes between elements there, one number for "
            "each of the array's 1 dimensions",
        ),
    ],
)
def test_an_array_of_no_dimensions_is_no_list(call, said):
    async def main(ep):
        x = await Extended.attach(ep)
        with pytest.raises(conduit.BadRequest) as refused:
            call(x, np.array(3))
        return str(refused.value)

    assert conduit.run(main, ranks=1, conduit="loggp").values == [said]


OF_THREADS = {
    "index": lambda t, a: a[HUGE],
    "one of several indices": lambda t, a: a[HUGE, 0],
    "element to write": lambda t, a: a.write(HUGE, 0),
    "value": lambda t, a: a.write(0, HUGE),
    "element": lambda t, a: a.threadof(HUGE),
    "range": lambda t, a: a.forall(HUGE),
    "operand": lambda t, a: a.fetch_add(0, HUGE),
    "shape": lambda t, a: t.all_alloc(HUGE),
    "key": lambda t, a: t.array(HUGE),
    "number of bytes": lambda t, a: t.memget((a, 0), HUGE),
    "place": lambda t, a: t.memget((a, HUGE), 1),
    "thread": lambda t, a: a.gather_to(HUGE),
    "id": lambda t, a: t.barrier(HUGE),
}


@pytest.mark.parametrize("name", OF_THREADS)
def test_programs_of_threads_are_told_of_huge_integers(name):
    async def main(t):
        a = await t.all_alloc(4, dtype="i8")
        with pytest.raises(conduit.BadRequest, match=r"\A(t|a)[\w.]*[:\[].*an int of 16610 bits"):
            OF_THREADS[name](t, a)
        return repr(t.lock(HUGE))

    assert upc.run(main, threads=1, conduit="loggp").values == ["<SharedLock an int of 16610 bits>"]


def test_a_wait_of_shmem_for_a_huge_integer_is_refused():
    async def main(pe):
        a = await pe.zeros(2, "i8")
        with pytest.raises(
            conduit.BadRequest, match=r"\Ape\.wait_until: an int of 16610 bits is compared with ivar of "
        ):
            pe.wait_until(a[:1], "==", HUGE)

    shmem.run(main, pes=1, conduit="loggp")


def test_a_huge_status_is_none():
    async def main(ep):
        ep.exit(HUGE)

    with pytest.raises(
        conduit.BadRequest, match=r"\Aep\.exit: code=an int of 16610 bits is no exit status; pass an int "
    ):
        conduit.run(main, ranks=1, conduit="loggp")
