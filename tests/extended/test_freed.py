"""Arrays whose memory was freed: calls refuse them, and what a program has kept of them can be written no more."""

import numpy as np
import pytest

import conduit
from extended import shmem, upc


def test_calls_of_shmem_say_that_one_was_freed():
    async def main(pe):
        a, b = await pe.zeros(8), await pe.zeros(8, "i8")
        await pe.free(a)
        await pe.free(b)
        c = await pe.zeros(8)
        for call in (
            lambda: pe.put(a, c, 0),
            lambda: pe.put(c, a, 0),
            lambda: pe.get(c, a, 0),
            lambda: pe.get(a, c, 0),
        ):
            with pytest.raises(conduit.BadRequest, match=r" was freed; use arrays before they are freed"):
                await call()
        d = await pe.zeros(1, "i8")
        with pytest.raises(conduit.BadRequest, match=r"\A\S+: fetch was freed; use arrays before they are freed"):
            await pe.atomic_fetch_add_nbi(b[:1], d, 1, 0)

    shmem.run(main, conduit="loggp")


def test_memory_that_was_freed_is_writable_for_its_next_owner():
    async def of_shmem(pe):
        a = await pe.zeros(8)
        await pe.free(a)
        b = await pe.ones(8)
        b += 1
        assert np.shares_memory(a, b)
        assert a.tolist() == [2] * 8

    async def of_upc(t):
        a = await t.all_alloc(8)
        mine = a.local
        await t.barrier()
        await t.all_free(a)
        b = await t.all_alloc(8)
        b.local = 3
        await t.barrier()
        assert np.shares_memory(mine, b.local)
        assert (await b[:]).tolist() == [3] * 8

    shmem.run(of_shmem, conduit="loggp")
    upc.run(of_upc, conduit="loggp")
