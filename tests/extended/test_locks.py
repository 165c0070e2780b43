"""What locks leave behind, whenever somebody gives up: nothing."""

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended import Extended

WHOLE = 60e-6
"""Seconds in which an attempt on loggp's default set has its answer, waits, and is granted the lock."""


def _left(x):
    locks = x._locks
    return locks._requests, locks._holds, locks._queues, locks._places, bool(locks.outgoing)


async def _attempts(ep, script):
    """Ask for one lock again and again, each time at most for a while; give how often it was got, and what is left."""
    x = await Extended.attach(ep)
    inside = x.atomic("i4")
    got = 0
    for pause, patience, keep in script[ep.rank]:
        await ep.compute(pause * WHOLE)
        with trio.move_on_after(patience * WHOLE):
            async with x.lock("one"):
                with trio.CancelScope(shield=True):
                    assert await inside.fetch_inc(0, 0) == 0
                    await ep.compute(keep * WHOLE)
                    assert await inside.fetch_dec(0, 0) == 1
                got += 1
    await x.barrier()
    async with x.lock("one"):  # all that was given up has been handled when everybody has had it once more
        pass
    await x.barrier()
    await x.barrier()
    return got, _left(x)


share = st.floats(0, 1)
scripts = st.lists(
    st.lists(st.tuples(share, st.one_of(share, st.just(1e6)), share), max_size=5), min_size=1, max_size=4
)  # fmt: skip


@pytest.mark.slow
@given(script=scripts, weak=st.booleans(), slots=st.sampled_from((1, 16)), seed=st.integers(0, 9))
@settings(max_examples=60)
def test_whoever_gives_up_when_leaves_nothing_behind(script, weak, slots, seed):
    spec = f"loggp:slots={slots},order={'weak' if weak else 'strict'}"
    result = conduit.run(_attempts, script, ranks=len(script), conduit=spec, seed=seed, segment=64, time_limit=10)
    for rank, (got, left) in enumerate(result.values):
        assert got >= sum(patience > 1 for _, patience, _ in script[rank])
        assert left == ({}, {}, {}, {}, False)
    assert not any(result.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("order", ["strict", "weak"])
def test_a_wait_that_is_cut_short_at_every_instant(order):
    """From before the request is sent until after the grant has come, in steps of a fraction of each."""

    async def main(ep):
        x = await Extended.attach(ep)
        lock = x.lock(next(name for name in range(99) if x.lock(name).home == 2))
        got = 0
        for step in range(80):
            await x.barrier()
            if ep.rank == 0:
                async with lock:
                    await ep.compute(20e-6)
            elif ep.rank == 1:
                await ep.compute(5e-6)
                with trio.move_on_after(step * 1e-6):
                    async with lock:
                        got += 1
            else:
                await ep.compute(10e-6)
                async with lock:
                    pass
        await x.barrier()
        async with lock:
            pass
        await x.barrier()
        await x.barrier()
        return got, _left(x)

    result = conduit.run(main, ranks=3, conduit=f"loggp:order={order}", segment=0, time_limit=10)
    assert 5 < result.values[1][0] < 75
    assert [left for _, left in result.values] == [({}, {}, {}, {}, False)] * 3


@pytest.mark.slow
@pytest.mark.parametrize("patience", [1e6, 1e-4])
def test_a_grant_that_overtakes_the_answer_is_not_lost(patience):
    """The holder releases when the next one asks, in a network that delivers in any order."""

    async def main(ep):
        x = await Extended.attach(ep)
        lock = x.lock(next(name for name in range(99) if x.lock(name).home == 2))
        for _ in range(300):
            if ep.rank == 0:
                await lock.acquire()
            await x.barrier()
            if ep.rank == 0:
                await lock.release()
            elif ep.rank == 1:
                with trio.move_on_after(patience):
                    async with lock:
                        pass

    conduit.run(main, ranks=3, conduit="loggp:order=weak,L=100us", segment=0, time_limit=10)


@pytest.mark.slow
def test_thousands_of_names_leave_nothing_behind():
    async def main(ep):
        x = await Extended.attach(ep)
        for number in range(1000):
            async with x.lock(number):
                pass
        await x.barrier()
        await x.barrier()
        return _left(x)

    assert conduit.run(main, ranks=2, conduit="loggp", segment=0).values == [({}, {}, {}, {}, False)] * 2


def test_tickets_begin_again_after_the_last_that_fits_a_message():
    async def main(ep):
        x = await Extended.attach(ep)
        x._locks._ticket = (1 << 31) - 2
        got = []
        for _ in range(4):
            async with x.lock("often"):
                got.append(ep.rank)
        await x.barrier()
        await x.barrier()
        return got, _left(x)

    assert conduit.run(main, ranks=2, conduit="loggp", segment=0).values == [
        ([rank] * 4, ({}, {}, {}, {}, False)) for rank in range(2)
    ]


def test_the_queues_of_many_locks_are_spread_over_the_ranks():
    async def main(ep):
        x = await Extended.attach(ep)
        return [x.lock(f"row {number}").home for number in range(1600)]

    first, *others = conduit.run(main, ranks=16, conduit="loggp", segment=0).values
    assert all(homes == first for homes in others)
    assert all(50 < first.count(rank) < 150 for rank in range(16))


def test_a_cancelled_rank_that_never_polls_again_is_not_waited_for():
    async def main(ep):
        x = await Extended.attach(ep)
        lock = next(lock for lock in map(x.lock, range(100)) if lock.home == 0)  # not the rank that computes
        await x.barrier()
        if ep.rank == 0:
            async with lock:
                with trio.move_on_after(10e-3):
                    await ep.block_until(lambda: False)
        elif ep.rank == 1:
            await ep.compute(2e-3)
            with trio.move_on_after(2e-3) as scope:
                await lock.acquire()
            assert scope.cancelled_caught
            await ep.compute(100e-3)
        else:
            await ep.compute(3e-3)
            async with lock:
                return ep.now
        return 0.0

    assert conduit.run(main, ranks=3, conduit="loggp").values[2] < 50e-3
