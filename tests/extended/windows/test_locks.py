"""Passive target synchronisation: who has a lock when, what waits for the rank that is locked, cancelled locks."""

import re

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended import Extended
from extended.windows import LOCK_EXCLUSIVE, LOCK_SHARED, Win


async def made(ep, **options):
    return await Win.Allocate(64, 8, comm=await Extended.attach(ep), **options)


async def count_up(ep, create, lock_type, turns):
    """Count up at rank 0, atomically where the lock is shared, else by a get and a put."""
    x = await Extended.attach(ep)
    win = await (Win.Create(np.zeros(2, "i8"), 8, comm=x) if create else Win.Allocate(16, 8, comm=x))
    found = []
    for _ in range(turns):
        old = np.zeros(1, "i8")
        await win.Lock(0, lock_type)
        if lock_type == LOCK_SHARED:
            await win.Fetch_and_op(np.ones(1, "i8"), old, 0)
        else:
            await win.Get(old, 0)
            await win.Flush(0)
            await win.Put(old + 1, 0)
        await win.Unlock(0)
        found.append(int(old[0]))
    await x.barrier()
    last = int(np.frombuffer(win.tomemory(), "i8")[0])
    await win.Free()
    return found, last


@pytest.mark.parametrize("lock_type", [LOCK_EXCLUSIVE, LOCK_SHARED])
@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_no_count_is_lost(network, create, lock_type, ranks):
    values = conduit.run(count_up, create, lock_type, 3, ranks=ranks, conduit=network).values
    assert sorted(one for found, _ in values for one in found) == list(range(3 * ranks))
    assert values[0][1] == 3 * ranks


@pytest.mark.parametrize("machine", ["origin", "t3e"])
@pytest.mark.parametrize(
    ("lock_type", "checks"), [(LOCK_EXCLUSIVE, True), (LOCK_EXCLUSIVE, False), (LOCK_SHARED, False)]
)
def test_where_operations_are_native_nothing_waits_for_the_target(machine, lock_type, checks):
    """Accesses under a lock that is shared are told to the target, where they are checked."""

    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x, checks=checks)
        begin, one, out = ep.now, np.ones(1, "i8"), np.zeros(1, "i8")
        if ep.rank == 1:
            await ep.compute(1.0)
        else:
            await win.Lock(1, lock_type)
            await win.Put(one, 1)
            await win.Flush(1)
            await win.Get(out, 1)
            await win.Accumulate(one, 1, 1)
            await win.Compare_and_swap(one, np.zeros(1, "i8"), np.zeros(1, "i8"), 1, 2)
            await win.Unlock(1)
        took = ep.now - begin
        await x.barrier()
        found = np.frombuffer(win.tomemory(), "i8")[:3].tolist()
        await win.Free()
        return took, found

    values = conduit.run(main, conduit=machine).values
    assert values[1][1] == [1, 1, 1]
    assert values[0][0] < 1e-4


def test_elsewhere_a_passive_target_serves_when_it_polls():
    async def main(ep):
        win = await made(ep)
        begin = ep.now
        if ep.rank == 1:
            await ep.compute(1.0)
        else:
            await win.Lock(1)
            await win.Put(np.ones(1), 1)
            await win.Unlock(1)
        took = ep.now - begin
        await win.Free()
        return took

    assert conduit.run(main, conduit="sci").values[0] > 1.0


def test_those_that_share_a_lock_do_not_wait_for_one_another(network):
    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x, checks=False)
        await x.barrier()
        begin = ep.now
        if ep.rank:
            await win.Lock(0, LOCK_SHARED)
            took = ep.now - begin
            await ep.compute(1.0)
            await win.Unlock(0)
        else:
            took = 0.0
        await x.barrier()
        await win.Free()
        return took

    assert max(conduit.run(main, ranks=5, conduit=network).values) < 1e-2


# ----------------------------------------------------------------------------------------- who has it, and gives it up

STEPS = st.lists(
    st.tuples(
        st.sampled_from([LOCK_EXCLUSIVE, LOCK_SHARED]), st.integers(0, 20), st.integers(0, 20),
        st.sampled_from([None, None, 0, 5, 12, 30]),
    ),
    max_size=6,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["loggp:order=weak", "t3e:order=weak", "sci"])
@settings(max_examples=15)
@given(st.lists(STEPS, min_size=2, max_size=5), st.integers(0, 3))
def test_whoever_has_it_alone_has_it_alone(spec, plans, seed):
    """Random holders and times, some of them cancelled while they wait; times in microseconds."""
    inside = []

    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(8, comm=x)
        for lock_type, before, during, limit in plans[ep.rank]:
            await ep.compute(before * 1e-6)
            with trio.move_on_after(1e3 if limit is None else limit * 1e-6) as scope:
                await win.Lock(0, lock_type)
            if scope.cancelled_caught:
                continue
            inside.append((ep.rank, lock_type))
            assert len(inside) == 1 or all(one == LOCK_SHARED for _, one in inside), inside
            await ep.compute(during * 1e-6)
            inside.remove((ep.rank, lock_type))
            await win.Unlock(0)
        await win.Free()
        return True

    # The lists that ranks share here are no arguments, which would be copied.
    assert all(conduit.run(main, ranks=len(plans), conduit=spec, seed=seed).values)
    assert not inside


def test_a_lock_that_is_held_for_ever_is_a_deadlock_that_names_the_wait():
    async def main(ep):
        win = await made(ep)
        if ep.rank == 0:
            await win.Lock(0)
            await ep.block_until(lambda: False)
        await ep.compute(1e-3)
        await win.Lock(0)

    with pytest.raises(conduit.Deadlock, match=r"win\.Lock of rank 0, in the queue behind rank 0") as found:
        conduit.run(main, conduit="loggp")
    line = main.__code__.co_firstlineno + 3
    (held,) = (each.strip() for each in str(found.value).splitlines() if "holds the exclusive" in each)
    assert re.fullmatch(
        r"holds the exclusive lock of rank 0's part of the window of Win\.Allocate at test_locks\.py:\d+, taken at "
        rf"test_locks\.py:{line}",
        held,
    ), held


def test_locks_that_are_taken_in_a_ring_end_in_what_to_do():
    async def main(ep):
        win = await made(ep)
        await win.Lock(ep.rank)
        await win.Get(np.zeros(1, "i8"), ep.rank)
        await win.Flush(ep.rank)
        await ep.compute(1e-3)
        await win.Lock((ep.rank + 1) % ep.size)
        await win.Get(np.zeros(1, "i8"), (ep.rank + 1) % ep.size)

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, ranks=3, conduit="loggp")
    assert str(found.value).splitlines()[-1] == (
        "take several locks in the same order on every rank, or release one before the next is taken"
    )


def test_a_share_that_is_held_for_ever_too():
    async def main(ep):
        win = await made(ep)
        if ep.rank == 0:
            await win.Lock(0, LOCK_SHARED)
            await ep.block_until(lambda: False)
        await ep.compute(1e-3)
        await win.Lock(0)

    with pytest.raises(conduit.Deadlock, match=r"win\.Lock of rank 0, until those that share it unlock"):
        conduit.run(main, conduit="loggp")


def test_two_tasks_share_what_lock_all_has_taken(network):
    async def main(ep):
        win = await made(ep)
        await win.Lock_all()
        out = np.zeros(2, "i8")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(win.Get, out[:1], 1, 0)
            nursery.start_soon(win.Get, out[1:], 1, 1)
        await win.Flush_all()
        await win.Unlock_all()
        await win.Free()
        return out.tolist()

    assert conduit.run(main, conduit=network).values[0] == [0, 0]


def test_an_exclusive_lock_waits_for_the_accesses_of_lock_all():
    async def main(ep):
        win = await made(ep)
        if ep.rank == 0:
            await win.Lock_all()
            await win.Put(np.ones(1, "i8"), 0)
            await ep.compute(1e-3)
            await win.Unlock_all()
            await win.Free()
            return ep.now
        await ep.compute(1e-4)
        await win.Lock(0)
        got = ep.now
        await win.Unlock(0)
        await win.Free()
        return got

    left, got = conduit.run(main, conduit="loggp").values
    assert 1e-3 < got < left


def test_who_holds_a_lock_and_waits_for_those_that_want_it_is_told_to_release_it():
    async def main(ep):
        win = await made(ep)
        await win.Lock(0)
        await (await Extended.attach(ep)).barrier()
        await win.Unlock(0)

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, ranks=3, conduit="loggp")
    line = main.__code__.co_firstlineno + 2
    advice = str(found.value).splitlines()[-1]
    assert re.fullmatch(
        r"rank \d holds the lock of rank 0's part of the window of Win\.Allocate at \S*test_locks\.py:\d+ since "
        rf"\S*test_locks\.py:{line} and waits in a barrier at \S*test_locks\.py:{line + 1} for ranks \d(-|, )\d, which "
        r"need it first: release it before that call",
        advice,
    ), advice


def test_a_lock_of_another_window_is_not_what_others_need():
    async def main(ep):
        x = await Extended.attach(ep)
        first, second = await made(ep), await made(ep)
        if ep.rank == 0:
            await first.Lock(0)
            await x.barrier()
        await second.Lock(0)
        await x.barrier()

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, ranks=3, conduit="loggp")
    assert "holds the exclusive lock" in str(found.value)
    assert "release it before" not in str(found.value)


def test_who_shares_a_lock_that_a_rank_wants_alone_is_named():
    async def main(ep):
        x = await Extended.attach(ep)
        win = await made(ep)
        if ep.rank == 0:
            await win.Lock(1, LOCK_SHARED)
            await x.barrier()
            await ep.block_until(lambda: ep.segment[0] == 1, what="a flag", ranks=[2])
            await win.Unlock(1)
        else:
            await x.barrier()
        if ep.rank == 2:
            await win.Lock(1)
            await x.put(0, 0, b"\x01")

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, ranks=3, conduit="loggp")
    text, line = str(found.value), main.__code__.co_firstlineno + 4
    assert "win.Lock of rank 1, until those that share it unlock, which rank 0 must bring about, since" in text
    assert "cycle: rank 0 waits for rank 2 waits for rank 0" in text
    assert re.search(
        rf"rank 0 holds the lock of rank 1's part of the window of \S+ at \S+ since \S*:{line} and waits at "
        rf"\S*:{line + 2} for rank 2, which needs it first: release it before that wait\Z",
        text,
    ), text


def test_a_free_says_for_which_cancelled_lock_it_waits():
    async def main(ep):
        win = await made(ep)
        if ep.rank == 1:
            await win.Lock(0)
            await ep.block_until(lambda: False, what="the end of time")
        elif ep.rank == 0:
            await ep.compute(1e-3)
            with trio.move_on_after(1e-3):
                await win.Lock(0)
        await win.Free()

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, ranks=3, conduit="loggp")
    assert (
        "waits for win.Free, for its Lock of rank 0 that was cancelled, queued behind rank 1, which rank 1 must bring "
        "about, since"
    ) in str(found.value)


def test_one_lock_of_each_of_two_windows_is_no_matter_of_order():
    async def main(ep):
        x = await Extended.attach(ep)
        first, second = await made(ep), await Win.Allocate(64, 8, comm=x)
        if ep.rank == 0:
            await first.Lock(1)
            await x.barrier()
        else:
            await ep.compute(1e-3)
            await second.Lock(1)
            await first.Lock(1)
            await x.barrier()

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, conduit="loggp")
    assert "same order on every rank, or" not in str(found.value)
    assert len({each for each in str(found.value).splitlines() if "holds the exclusive" in each}) == 2
    assert "release it before that call" in str(found.value)
