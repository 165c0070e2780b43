"""Allocations that are cancelled.

One of all ranks goes to its end: the barrier after it is a barrier of all.  That of one rank alone is given back.
"""

import numpy as np
import pytest
import trio

import conduit
from extended import Extended, shmem, upc

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


@pytest.mark.slow
@pytest.mark.parametrize("network", ["loggp", "sci", "startx"])
def test_of_one_rank_alone(network):
    """Cancelled at every instant, also when the answer has come and the task has not seen it; there is room for one."""

    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        taken = []
        if ep.rank:
            await x.global_free(await x.global_alloc(8))
            begun = ep.now
            await x.global_free(await x.global_alloc(8))
            for patience in np.linspace(0, ep.now - begun, 300):
                with trio.move_on_after(patience) as scope:
                    taken.append(await x.global_alloc(3000))
                    with trio.CancelScope(shield=True):
                        await x.global_free(taken[-1])
                if scope.cancelled_caught:
                    await ep.compute(LATE)  # by then the answer has come that gives the block back
                    await ep.poll()
        await x.barrier()
        return len(taken)

    assert 0 < conduit.run(main, ranks=2, conduit=network, segment=4096).values[1] < 300
