"""What a shared array is: its layout, its local part, its zeros, its indices."""

from itertools import chain
from typing import Any

import numpy as np
import pytest

from conduit.conformance.cases import Case
from extended import upc
from extended.upc.conformance.programs import BLOCKS, filled, owner_of, play, refused, told


@pytest.mark.rule("U1", "U2", "U3")
@pytest.mark.crowds
@pytest.mark.parametrize("block", BLOCKS)
def test_elements_belong_to_threads_as_in_upc(case: Case, block: Any) -> None:
    """For every element: its owner, its place in the block, its place in the owner's view; all zero."""

    async def main(t: upc.Thread) -> None:
        for shape in ((), (0,), (1,), (37,), (5, 7), (2, 3, 4)):
            a = await t.all_alloc(shape, dtype="i4", block=block)
            size = int(np.prod(shape))
            owners = [owner_of(flat, block, size, t.THREADS) for flat in range(size)]
            mine = [flat for flat in range(size) if owners[flat] == t.MYTHREAD]
            assert a.local_index.tolist() == mine
            assert a.local.tolist() == [0] * len(mine)
            for flat in range(size):
                index = tuple(int(each) for each in np.unravel_index(flat, shape)) if shape else ()
                assert a.threadof(index) == owners[flat]
                wide = block == "indefinite"
                assert a.phaseof(index) == (0 if wide else flat % (block or max(-(-size // t.THREADS), 1)))
            assert repr(a).startswith(f"<SharedArray shape={shape} dtype=int32 block=")
            await t.all_free(a)

    play(case, main)


@pytest.mark.rule("U4")
@pytest.mark.crowds
def test_forall_gives_every_index_to_one_thread(case: Case) -> None:
    """In the order of the range; of several dimensions as tuples, or flattened."""

    async def main(t: upc.Thread) -> Any:
        a = await t.all_alloc(37, block=3)
        b = await t.all_alloc((4, 5), block=2)
        return (
            [list(a.forall(*each)) for each in ((), (10,), (3, 30), (1, 37, 5), (36, 0, -3), (5, 5))],
            list(b.forall()), list(b.forall(flat=True)), list(t.forall(3, 50, 4)),
        )  # fmt: skip

    values = play(case, main).values
    for number, each in enumerate((range(37), range(10), range(3, 30), range(1, 37, 5), range(36, 0, -3), range(0))):
        got = [value[0][number] for value in values]
        assert sorted(chain(*got)) == sorted(each)
        assert all(owner_of(i, 3, 37, len(values)) == thread for thread, mine in enumerate(got) for i in mine)
        assert all(mine == [i for i in each if i in mine] for mine in got)
    assert sorted(chain(*(value[1] for value in values))) == [(i, j) for i in range(4) for j in range(5)]
    assert all(value[2] == [i * 5 + j for i, j in value[1]] for value in values)
    assert [value[3] for value in values] == [
        [i for i in range(3, 50, 4) if i % len(values) == thread] for thread in range(len(values))
    ]


INDICES: tuple[Any, ...] = (
    3, -1, slice(None), slice(2, 30, 3), slice(None, None, -1), slice(5, 5), ..., np.array([3, 3, -1]), [1, 2],
    np.array([[1, 2], [3, 4]]), np.arange(37) % 3 == 0, np.int8(4), None, (slice(3, 9), None), np.array([], int),
)  # fmt: skip
WIDE: tuple[Any, ...] = (
    (1, 2), (-1,), 2, (slice(None), 3), (..., -1), ([0, 4], [1, 6]), (slice(1, 4), slice(None, None, -2)),
    (np.array([[0], [2]]), np.array([1, 5])), np.arange(35).reshape(5, 7) > 20, (np.arange(5) % 2 == 0, 0),
)  # fmt: skip


@pytest.mark.rule("U5", "U6")
@pytest.mark.crowds
@pytest.mark.parametrize("block", BLOCKS)
def test_indices_mean_what_they_mean_in_numpy(case: Case, block: Any) -> None:
    """Reads and writes, of one and two dimensions, on all threads."""

    async def main(t: upc.Thread) -> None:
        a, b = await filled(t, 37, block), await filled(t, (5, 7), block)
        for array, indices in ((a, INDICES), (b, WIDE)):
            model = np.arange(array.size).reshape(array.shape)
            for number, index in enumerate(indices):
                got = await array[index]
                assert np.shape(got) == np.shape(model[index])
                assert np.array_equal(got, model[index])
                assert np.array_equal(await array.read(index), model[index])
                await t.barrier()
                value = np.arange(np.size(model[index])).reshape(np.shape(model[index])) + 100 * number
                model[index] = value
                if number % t.THREADS == t.MYTHREAD:
                    array[index] = value
                await t.barrier()
                assert np.array_equal(await array.to_numpy(), model)
                await t.barrier()

    play(case, main)


@pytest.mark.rule("U5")
def test_wrong_indices_are_refused_where_they_stand(case: Case) -> None:
    """As an IndexError, for reads, writes and all calls that take one."""

    async def main(t: upc.Thread) -> None:
        a, b = await filled(t, 10), await filled(t, (3, 4))
        for index in (10, -11, 1.5, "x", (1, 2), np.array([3, 10]), np.ones(9, bool), slice(0, 5, 0)):
            assert "shape (10,)" in await refused(lambda index=index: a[index], IndexError)  # type: ignore[misc]
            assert await refused(lambda index=index: a.__setitem__(index, 1), IndexError)  # type: ignore[misc]
        for call in (
            a.read,
            a.threadof,
            lambda i: a.add_at(i, 1),
            lambda i: a.fetch_add(i, 1),
            lambda i: a.write(i, 0),
        ):
            assert "10" in await refused(lambda call=call: call(10), IndexError)  # type: ignore[misc]
        assert "axis 1" in await refused(lambda: b[0, 4], IndexError)
        assert "4 elements of shape (4,)" in await refused(lambda: b.fetch_add(0, 1), IndexError)
        assert "inside" in await refused(lambda: a.forall(0, 11), IndexError)
        for wide in (slice(3, None, 2**70), slice(3, None, -(2**70))):  # numpy takes these too
            assert (await a[wide]).tolist() == np.arange(10)[wide].tolist()
        assert list(a.forall(2**70, 0)) == []
        for wanted in (range(3, 10, 2**70), range(3, -1, -(2**70)), range(3, 2**70, 2**80)):
            mine = list(a.forall(wanted.start, wanted.stop, wanted.step))
            assert mine == [3] * (a.threadof(3) == t.MYTHREAD)

    play(case, main)


@pytest.mark.rule("U2")
@pytest.mark.crowds
def test_memory_used_before_is_zero_in_a_new_array(case: Case) -> None:
    """Whoever allocates, and whoever wrote there."""

    async def main(t: upc.Thread) -> None:
        for _ in range(3):
            a = await filled(t, 50 * t.THREADS)
            a.local = -1
            await t.all_free(a)
            b = await t.all_alloc(50 * t.THREADS, dtype="i8", block=7)
            assert not (await b[:]).any()
            await t.barrier()
            b[:] = 9
            await t.all_free(b)
            key = (await t.global_alloc(40 * t.THREADS, dtype="i8", block=3)).key if t.MYTHREAD == 0 else None
            c = t.array(await told(t, key, 0))
            assert not (await c[:]).any()
            await t.barrier()
            c.local = 5
            await t.all_free(c)

    play(case, main)


@pytest.mark.rule("U3")
@pytest.mark.parametrize("dtype", ["?", "i1", ">i2", "u4", "f8", "c16", "S5", "U3", "M8[s]", "i4,f8", "V7"])
def test_any_dtype_of_a_fixed_size(case: Case, dtype: str) -> None:
    """Values come back as they were put, through writes, reads and local views."""

    async def main(t: upc.Thread) -> None:
        a = await t.all_alloc(20, dtype=dtype, block=3)
        wanted = np.frombuffer(np.random.default_rng(5).integers(0, 2, 20 * a.dtype.itemsize, "u1").tobytes(), a.dtype)
        if t.MYTHREAD == t.THREADS - 1:
            a[:] = wanted
            a[3] = wanted[3]
        await t.barrier()
        assert a.local.tobytes() == wanted[a.local_index].tobytes()
        assert (await a[::-1]).tobytes() == wanted[::-1].tobytes()
        assert (await a[7]).tobytes() == wanted[7].tobytes()

    play(case, main)
