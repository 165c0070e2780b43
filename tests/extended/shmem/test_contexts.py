"""Contexts that several tasks of a PE use at once."""

import importlib

import numpy as np
import pytest
import trio

from extended import shmem

COUNT = 8000


def run(main, network):
    """Run a program of two PEs, which is also given the arrays of all: they are to be looked at without a message."""
    arrays = {}

    async def whole(pe):
        arrays[pe.my_pe()] = there = await pe.zeros(COUNT, "i8")
        await pe.barrier_all()
        found = await main(pe, there, arrays) if pe.my_pe() == 0 else None
        await pe.barrier_all()
        return found

    return shmem.run(whole, pes=2, conduit=network).values[0]


async def _cleared(pe, array, lock):
    await pe.set_lock(array)
    yield
    await pe.clear_lock(array)


async def _released(pe, array, lock):
    await lock.acquire()
    yield
    await lock.release()


async def _left(pe, array, lock):
    async with lock:
        yield


async def _quiet(pe, array, lock):
    yield
    await pe.quiet()


@pytest.mark.parametrize("how", [_cleared, _released, _left, _quiet])
@pytest.mark.parametrize("network", ["loggp", "origin"])
def test_what_completes_puts_returns_when_they_are_there(network, how):
    arrays = {}

    async def main(pe):
        arrays[pe.my_pe()] = there = await pe.zeros(COUNT, "i8")
        array, lock = await pe.new_lock(), await pe.Lock()
        await pe.barrier_all()
        if pe.my_pe() == 0:
            async for _ in how(pe, array, lock):
                await pe.put_nbi(there, np.full(COUNT, 7), 1)
            assert set(arrays[1].tolist()) == {7}
        await pe.barrier_all()

    shmem.run(main, pes=2, conduit=network)


@pytest.mark.parametrize("other", ["quiet", "fence"])
@pytest.mark.parametrize("network", ["loggp", "origin"])
def test_a_quiet_waits_for_what_another_task_waits_for_too(network, other):
    async def main(pe, there, arrays):
        async with trio.open_nursery() as nursery:
            await pe.put_nbi(there, np.full(COUNT, 7), 1)
            nursery.start_soon(getattr(pe, other))
            for _ in range(3):  # until that waits
                await trio.lowlevel.checkpoint()
            await pe.quiet()
            return set(arrays[1].tolist())

    assert run(main, network) == {7}


@pytest.mark.parametrize("network", ["loggp", "origin"])
def test_a_fence_orders_what_was_begun_in_a_quiet_of_another_task(network):
    async def main(pe, there, arrays):
        async with trio.open_nursery() as nursery:
            await pe.put_nbi(there[:1], np.full(1, 7), 1)
            nursery.start_soon(pe.quiet)
            for _ in range(3):
                await trio.lowlevel.checkpoint()
            await pe.put_nbi(there, np.full(COUNT, 8), 1)
        stream = pe.CTX_DEFAULT.stream("ctx.fence")
        unordered = [handle.done for handles in stream._unordered.values() for handle in handles]
        assert unordered == [False]  # else the fence would do nothing
        await pe.fence()
        await pe.put_nbi(there[-1:], np.full(1, 9), 1)
        await pe.quiet()
        assert not stream._unordered
        return int(arrays[1][-1])

    assert run(main, network) == 9


def test_what_a_cancelled_destroy_has_left_is_completed_at_the_end():
    async def main(pe, there, arrays):
        with trio.CancelScope() as scope:
            async with await pe.Ctx.create() as ctx:
                await pe.put_nbi(there, np.full(COUNT, 7), 1, ctx=ctx)
                scope.cancel()
                await trio.lowlevel.checkpoint()
        assert scope.cancelled_caught
        assert not ctx
        await pe.Ctx.create()  # lets go of contexts that are over

    run(main, "loggp")  # without a warning


def test_what_is_over_is_the_invalid_one_in_sets_too():
    async def main(pe):
        team = await pe.TEAM_WORLD.split_strided(0, 1, pe.n_pes())
        ctx = await pe.Ctx.create()
        live = {team, ctx, pe.TEAM_INVALID, pe.CTX_INVALID}
        await ctx.destroy()
        await team.destroy()
        return (
            len(live),
            (team, ctx) == (pe.TEAM_INVALID, pe.CTX_INVALID),
            {team, ctx} == {pe.TEAM_INVALID, pe.CTX_INVALID},
        )

    assert shmem.run(main, pes=2, conduit="loggp").values == [(4, True, True)] * 2


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("on", ["pe", "ctx"])
@pytest.mark.parametrize("network", ["origin", "t3e"])
def test_a_fence_and_a_quiet_have_the_price_of_the_machine(network, on, begun):
    """Whether or not there is anything to wait for; the formula of docs/models, with the poll in front of each call."""
    constants = importlib.import_module(f"conduits.{network}.constants")
    price = constants.PUT.value / 1e9

    async def main(pe, there, arrays):
        async def taken(call):
            ctx = await pe.Ctx.create() if on == "ctx" else None
            if begun:
                await pe.put(there[:1], np.full(1, 7), 1, ctx=ctx)
            begin = pe.ep.now
            await getattr(pe, call)(ctx=ctx)
            return pe.ep.now - begin

        return [await taken(call) for call in ("fence", "quiet")]

    fence, quiet = run(main, network)
    assert fence == pytest.approx(price, abs=0.05e-6)
    assert quiet == pytest.approx(price, abs=0.05e-6)
