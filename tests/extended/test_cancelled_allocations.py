"""An allocation of all ranks goes to its end where it is cancelled: the barrier after it is a barrier of all."""

import numpy as np
import pytest
import trio

from extended import shmem, upc

LATE = 1e-3
NETWORKS = ["loggp", "sci", "t3e", "mpi"]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("after", [1e-6, 20e-6, 60e-6])
def test_of_threads(network, after):
    async def main(t):
        a = await t.all_alloc(2, dtype="i8", block=1)
        if t.MYTHREAD:
            await t.ep.compute(LATE)
        with trio.move_on_after(after if t.MYTHREAD == 0 else np.inf):
            await t.all_alloc(8, dtype="i8")
        if t.MYTHREAD:
            await t.ep.compute(LATE)
            await a.write(0, 1)
        await t.barrier()
        return int(await a[0])

    assert upc.run(main, threads=2, conduit=network).values == [1, 1]


ALLOCATIONS = {
    "zeros": lambda pe: pe.zeros(4),
    "empty": lambda pe: pe.empty(4),
    "alloc": lambda pe: pe.alloc(8),
    "new_lock": lambda pe: pe.new_lock(),
}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("which", ALLOCATIONS)
def test_of_processing_elements(network, which):
    async def main(pe):
        flag = await pe.zeros(1, "i8")
        if pe.my_pe():
            await pe.ep.compute(LATE)
        with trio.move_on_after(20e-6 if pe.my_pe() == 0 else np.inf):
            await ALLOCATIONS[which](pe)
        if pe.my_pe():
            await pe.ep.compute(LATE)
            await pe.put(flag, np.ones(1, "i8"), 0)
        await pe.barrier_all()
        return int(flag[0]) if pe.my_pe() == 0 else 1

    assert shmem.run(main, pes=2, conduit=network).values == [1, 1]
