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
