"""The bytes that an array of a program means, against those that numpy itself gives of it."""

import numpy as np
import pytest

import conduit
from conduits.mpi import MPI
from conduits.mpi.awaited import datatypes
from conduits.mpi.awaited.buffers import bytes_of, parts, share_bytes, span

NUMBERS = [*"?bBhHiIlLqQfdgFDG", "S1"]
LAYOUTS = {
    "in a row": lambda dtype: np.arange(24).astype(dtype),
    "of two dimensions": lambda dtype: np.arange(24).astype(dtype).reshape(4, 6),
    "Fortran's": lambda dtype: np.asfortranarray(np.arange(24).astype(dtype).reshape(4, 6)),
    "a part of another": lambda dtype: np.arange(24).astype(dtype)[5:17],
    "of one element": lambda dtype: np.array(7).astype(dtype),
    "empty": lambda dtype: np.empty((0, 3), dtype),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMBERS)
def test_an_array_means_its_bytes_as_they_lie_in_memory(dtype, layout):
    array = LAYOUTS[layout](dtype)
    found = span(array, "Comm.Send: buf")
    assert bytes(found.view) == bytes(bytes_of(array, "Send")) == array.tobytes("A")
    assert (found.datatype, found.count) == (datatypes.of(array.dtype, "buf"), array.size)
    assert found.source is array


@pytest.mark.parametrize("layout", sorted(LAYOUTS.keys() - {"empty"}))
@pytest.mark.parametrize("dtype", ["B", "d", "F"])
def test_what_is_written_to_its_bytes_is_in_the_array(dtype, layout):
    array = LAYOUTS[layout](dtype)
    for view in (bytes_of(array, "Recv", writable=True), span(array, "Comm.Recv: buf", writable=True).view):
        array[...] = 1
        view[:] = bytes(len(view))
        assert not array.any()


@pytest.mark.parametrize("take", [bytes_of, span])
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: np.zeros((4, 6))[:, 1], r"shape \(4,\) and strides \(48,\) is not contiguous"),
        (lambda: np.zeros(6, ">f8"), ">f8 is not in this machine's byte order"),
        (lambda: np.zeros(6, "e"), "no basic datatype for numpy's float16"),
        (lambda: np.zeros(6, "M8[s]"), "no basic datatype for numpy's datetime64"),
        (lambda: np.zeros(6, object), "Python objects"),
    ],
)
def test_an_array_that_means_none_is_refused(make, said, take):
    with pytest.raises(conduit.BadRequest, match=said):
        take(make(), "Send")


@pytest.mark.parametrize("take", [bytes_of, span])
@pytest.mark.parametrize("layout", sorted(LAYOUTS.keys() - {"empty"}))
@pytest.mark.parametrize("dtype", ["B", "d"])
def test_one_that_is_read_only_can_be_sent_alone(dtype, layout, take):
    array = LAYOUTS[layout](dtype)
    array.flags.writeable = False
    take(array, "Send")
    with pytest.raises(conduit.BadRequest, match="the array is read-only"):
        take(array, "Recv", writable=True)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_as_any_array():
    """All views of it have two dimensions; some of its elements, and all of them."""

    async def main(comm):
        given, got = np.matrix([[1.0, 2.0, 3.0]]), np.matrix(np.zeros((1, 3)))
        whole = np.matrix(np.zeros((2, 3)))
        if comm.Get_rank() == 0:
            await comm.Send([given, 2], 1)
        else:
            await comm.Recv(got, 0)
        await comm.Allgather(given, whole)
        return got.tolist(), whole.tolist()

    assert MPI.run(main).values[1] == ([[1, 2, 0]], [[1, 2, 3], [1, 2, 3]])


def test_two_buffers_share_bytes_where_some_are_meant_in_both():
    random = np.random.default_rng(7)
    found = set()
    for _ in range(2000):
        whole = np.arange(40, dtype=np.uint8)
        buffers, meant = [], []
        for _ in range(2):
            counts, places = random.integers(0, 5, 3), random.integers(0, 30, 3)
            first = int(random.integers(0, 6))
            buffers.append(parts([whole[first:], [*map(int, counts)], [*map(int, places)], MPI.BYTE], 3, "buf"))
            meant.append({first + at + n for count, at in zip(counts, places, strict=True) for n in range(count)})
        start, stop = sorted(random.integers(0, 40, 2))
        for one, other in ((0, 1), (1, 0)):
            assert share_bytes(buffers[one], buffers[other]) == bool(meant[one] & meant[other])
        simple = span(whole[start:stop], "buf")
        assert share_bytes(simple, buffers[0]) == bool({*range(start, stop)} & meant[0])
        assert share_bytes(buffers[0], simple) == bool({*range(start, stop)} & meant[0])
        found.add(bool(meant[0] & meant[1]))
    assert found == {True, False}
    assert not share_bytes(span(np.zeros(3), "buf"), span(np.zeros(3), "buf"))


@pytest.mark.parametrize("call", ["Gatherv", "Scatterv", "Allgatherv"])
def test_a_buffer_may_lie_in_a_gap_of_another(call):
    async def main(comm):
        many = np.full(8, 9)
        own = many[2:4]
        if call == "Scatterv":
            many[[0, 1, 4, 5]] = [0, 1, 2, 3]
            await comm.Scatterv([many, [2, 2], [0, 4], MPI.LONG], own)
        else:
            own[:] = [2 * comm.rank, 2 * comm.rank + 1]
            await getattr(comm, call)(own, [many, [2, 2], [0, 4], MPI.LONG])
        return many.tolist()

    values = MPI.run(main, library="scampi", ranks=2).values
    for rank, value in enumerate(values):
        if not (call == "Gatherv" and rank):
            assert value == [0, 1, 2 * rank, 2 * rank + 1, 2, 3, 9, 9]


def test_a_status_takes_integers_alone():
    status = MPI.Status()
    for call in (status.Set_source, status.Set_tag, status.Set_error):
        with pytest.raises(conduit.BadRequest, match=r"Status\.Set_\w+: \w+=1\.5 is no integer"):
            call(1.5)
        call(np.int32(3))
    assert (status.source, status.tag, status.error) == (3, 3, 3)
    status.Set_elements(MPI.DOUBLE, 2)
    assert (status.Get_count(MPI.INT), status.Get_count("i4"), status.Get_elements(MPI.DOUBLE)) == (4, 4, 2)
    with pytest.raises(conduit.BadRequest, match=r"Status\.Set_elements: count=2\.5 is no integer"):
        status.Set_elements(MPI.DOUBLE, 2.5)
    with pytest.raises(MPI.Exception, match=r"Status\.Set_elements: count=-1 is less than 0"):
        status.Set_elements(MPI.DOUBLE, -1)
    with pytest.raises(conduit.BadRequest, match=r"Status\.Get_count: datatype: .*float64.* is no datatype"):
        status.Get_count(np.float64)


@pytest.mark.parametrize("call", ["Gatherv", "Allgatherv", "Alltoallv"])
def test_parts_that_are_received_must_not_overlap(call):
    async def main(comm):
        if call == "Gatherv" and comm.rank:
            return True
        into, own = np.zeros(8), np.zeros(2)
        if call == "Alltoallv":
            own = [np.zeros(4), [2, 2, 0], [0, 0, 0], MPI.DOUBLE]
        for counts, places, text in (
            ([2, 2, 2], [0, 3, 4], "of rank 1, 2 elements from 3 on, and of rank 2, 2 from 4 on"),
            ([2, 2, 2], [4, 0, 3], "of rank 2, 2 elements from 3 on, and of rank 0, 2 from 4 on"),
            ([2, 2, 2], [2, 2, 5], "of rank 0, 2 elements from 2 on, and of rank 1, 2 from 2 on"),
        ):
            with pytest.raises(MPI.Exception) as error:
                await getattr(comm, call)(own, [into, counts, places, MPI.DOUBLE])
            assert error.value.Get_error_class() == MPI.ERR_BUFFER
            assert str(error.value) == (
                f"Comm.{call}: recvbuf: the parts {text}, overlap; no element is received twice: give other "
                "displacements"
            )
        return True

    assert MPI.run(main, library="scampi", ranks=3).values == [True] * 3


def test_parts_that_are_sent_may_overlap_and_empty_ones_lie_anywhere():
    async def main(comm):
        got = np.zeros(2)
        await comm.Scatterv([np.arange(4.0), [2, 2], [1, 1], MPI.DOUBLE], got)
        into = np.zeros(4)
        counts = [2, 0] if comm.rank == 0 else [0, 2]
        await comm.Alltoallv([np.arange(4.0), counts, [1, 1], MPI.DOUBLE], [into, counts, [1, 2], MPI.DOUBLE])
        return got.tolist(), into.tolist()

    values = MPI.run(main, library="scampi", ranks=2).values
    assert values == [([1, 2], [0, 1, 2, 0]), ([1, 2], [0, 0, 1, 2])]
