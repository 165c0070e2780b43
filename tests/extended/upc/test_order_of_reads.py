"""A read takes as long in whatever order its indices are: what lies side by side goes together."""

import numpy as np
import pytest

from extended import upc

SIZE = 600
INDICES = {
    "backwards": np.arange(SIZE)[::-1],
    "shuffled": np.random.default_rng(1).permutation(SIZE),
    "by columns": np.arange(SIZE).reshape(20, 30).T.reshape(-1),
}


async def main(t, indices, block):
    a = await t.all_alloc(SIZE, dtype="i8", block=block)
    a.local = a.local_index**2
    await t.barrier()
    begun = t.ep.now
    got = await a[indices] if t.MYTHREAD == 0 else None
    taken = t.ep.now - begun
    await t.barrier()
    return got, taken


@pytest.mark.parametrize("spec", ["t3e", "origin", "sci", "loggp"])
@pytest.mark.parametrize("block", [None, 1, 7])
@pytest.mark.parametrize("how", INDICES)
def test_a_read_takes_as_long_in_any_order(spec, block, how):
    (ascending, least), (got, taken) = (
        upc.run(main, indices, block, threads=4, conduit=spec).values[0] for indices in (np.arange(SIZE), INDICES[how])
    )
    assert np.array_equal(ascending, np.arange(SIZE) ** 2)
    assert np.array_equal(got, INDICES[how] ** 2)
    assert taken == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("spec", ["t3e", "loggp"])
def test_of_one_thread_and_with_repeated_indices(spec):
    indices = np.array([7, 3, 7, 0, 599, 3, 8])
    assert np.array_equal(upc.run(main, indices, "indefinite", threads=2, conduit=spec).values[0][0], indices**2)

    async def of_another(t):
        a = await t.all_alloc(SIZE, dtype="i8", block="indefinite")
        a.local = a.local_index**2
        await t.barrier()
        return await a[indices]

    for got in upc.run(of_another, threads=2, conduit=spec).values:
        assert np.array_equal(got, indices**2)
