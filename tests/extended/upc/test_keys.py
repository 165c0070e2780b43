"""Keys of arrays: of one length, so that those of all threads can be gathered, and complete or refused."""

import numpy as np
import pytest

import conduit
from extended import upc
from extended.upc.keys import KEY, Description


@pytest.mark.parametrize(("id", "offset", "first"), [(0, 0, 0), (7, 1 << 40, 3), (1 << 60, 1 << 48, 1 << 20)])
@pytest.mark.parametrize("dtype", ["i1", "f8", "S40"])
@pytest.mark.parametrize(("shape", "block"), [((), None), ((4,), 1), ((10**6, 10**6, 3), 10**9)])
def test_a_key_has_one_length_and_gives_what_it_was_made_of(id, offset, first, dtype, shape, block):
    made = Description(id, offset, shape, np.dtype(dtype), block, first)
    again = Description.of_key(made.key())
    assert len(made.key()) == KEY
    assert (again.id, again.offset, again.shape, again.dtype, again.block, again.first) == (
        id,
        offset,
        shape,
        dtype,
        block,
        first,
    )


def test_a_long_description_takes_a_multiple_whatever_its_numbers():
    dtype = np.dtype([(f"field {number}", "f8") for number in range(20)])
    sizes = {len(Description(10**n, 10**n, (4,), dtype, 1, n).key()) for n in range(16)}
    assert len(sizes) == 1
    assert sizes.pop() % KEY == 0


UNUSUAL = {
    "fields out of order": np.dtype({"names": ["a", "b"], "formats": ["i4", ">i2"], "offsets": [4, 0]}),
    "fields that overlap": np.dtype({"names": ["all", "low"], "formats": ["<i4", "<i2"], "offsets": [0, 0]}),
    "records": np.dtype((np.record, [("a", "i4"), ("b", "f8")])),
    "numbers whose parts have names": np.dtype((np.int32, [("low", "i2"), ("high", "i2")])),
}


@pytest.mark.parametrize("dtype", UNUSUAL.values(), ids=list(UNUSUAL))
def test_arrays_of_dtypes_that_numpy_s_own_description_leaves_out(dtype):
    async def main(t):
        a = await t.all_alloc(4, dtype=dtype, block=1)
        opened = t.array(a.key)
        again = Description.of_key(a.key).dtype
        if t.MYTHREAD == 0:
            a[:] = values
        await t.barrier()
        return again == dtype and again.type is dtype.type, (await opened[:]).tolist()

    values = np.arange(4 * dtype.itemsize, dtype=np.uint8).view(dtype)
    assert upc.run(main, threads=2, conduit="loggp").values == [(True, values.tolist())] * 2


def test_a_dtype_that_cannot_be_described_is_refused_before_any_memory_is_taken():
    dtype = np.dtype([((float("nan"), "a"), "i4")])

    async def main(t):
        low = t.extended.heap_low
        with pytest.raises(conduit.BadRequest) as refused:
            await t.all_alloc(4, dtype=dtype)
        await t.barrier()
        return str(refused.value), low == t.extended.heap_low

    text = (
        "t.all_alloc: dtype [((nan, 'a'), '<i4')] has a title that is no literal, so that other threads could not be "
        "told of it; give a dtype without it"
    )
    assert upc.run(main, threads=2, conduit="loggp").values == [(text, True)] * 2


@pytest.mark.parametrize("cut", [slice(-1), slice(1, None), slice(0)])
def test_a_key_that_is_not_whole_is_refused(cut):
    key = Description(0, 0, (4,), np.dtype("f8"), 1, 0).key()
    with pytest.raises(conduit.BadRequest, match=r"is no key of an array; give the bytes of a.key, all of them"):
        Description.of_key(key[cut])


async def _one_each(t):
    made = await t.alloc(4, dtype="i8")
    made.local = t.MYTHREAD
    keys = await t.extended.all_gather(np.frombuffer(made.key, "u1"))
    return [int(await t.array(key.tobytes())[0]) for key in keys]


@pytest.mark.parametrize("threads", [2, 11])
def test_keys_of_all_threads_are_gathered(threads):
    assert upc.run(_one_each, threads=threads, conduit="loggp").values == [list(range(threads))] * threads
