"""Ranks have a task beside their main that waits for the end of all: it is not why the job stands still."""

import re
from functools import partial

import pytest
import trio

import conduit
from extended import Extended


def report_of(work, servers, ranks=5):
    """Run `work(ep, x)` on each rank, on those of `servers` beside a task that waits for a word at the end."""

    async def main(ep):
        x = await Extended.attach(ep)
        state = {}

        def stop(token):
            state["stop"] = True

        await ep.attach(stop)
        async with trio.open_nursery() as nursery:
            if ep.rank in servers:
                nursery.start_soon(ep.block_until, lambda: state.get("stop"))
            await work(ep, x)
            await ep.request_short(ep.rank, stop)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=ranks, conduit="loggp")
    return caught.value


async def other_order(ep, x):
    if ep.rank == 1:
        await x.barrier()
    await x.all_reduce(ep.rank, op="sum")
    if ep.rank != 1:
        await x.barrier()


async def ring_of_locks(ep, x):
    await x.lock(ep.rank).acquire()
    await x.barrier()
    await x.lock((ep.rank + 1) % ep.size).acquire()


async def a_late_one(ep, x):
    if ep.rank == 3:
        await trio.sleep_forever()
    if ep.rank in (1, 2):
        await ep.block_until(lambda: False, what="a word", ranks=[3])
    await x.barrier()


def times_told(error, rank):
    """Return in how many lines that begin with ranks one is."""
    found = 0
    for line in str(error).splitlines()[1:]:
        told = re.match(r"(?:rank (\d+)|ranks ([\d, -]+), each|\d+ ranks \(([\d, -]+)\)): ", line)
        for part in (told[1] or told[2] or told[3]).split(", ") if told else ():
            first, _, last = part.partition("-")
            found += int(first) <= rank <= int(last or first)
    return found


@pytest.mark.parametrize("servers", [[], [0], [0, 2], [1, 3], range(5)])
def test_a_cycle_of_locks_stays_one(servers):
    error = report_of(ring_of_locks, servers)
    assert error.report.causes[0].cycle == (0, 1, 2, 3, 4, 0)
    assert "cycle: rank 0 waits for rank 1 waits for rank 2" in str(error).splitlines()[1]


@pytest.mark.parametrize("servers", [[], [0], [1], [0, 2], [1, 3], [0, 2, 3], range(5)])
def test_a_call_in_another_order_is_named_first(servers):
    error = report_of(other_order, servers)
    cycle = error.report.causes[0].cycle
    assert len(cycle) == 3
    assert 1 in cycle
    assert any(line.startswith("rank 1: ") for line in str(error).splitlines()[1:5]), error


async def a_word_of_who_waits_in_a_barrier(ep, x):
    if ep.rank == 3:
        await ep.block_until(lambda: False, what="a word", ranks=[4])
    await x.barrier()


@pytest.mark.parametrize("servers", [[], [3], [0, 1, 3], [0, 1, 2, 3]])
def test_a_cycle_through_a_barrier_stays_one_where_main_is_to_come_to_it(servers):
    error = report_of(a_word_of_who_waits_in_a_barrier, servers)
    assert [cause.cycle for cause in error.report.causes] == [(3, 4, 3)]
    assert str(error).splitlines()[1].startswith("cycle: rank 3 waits for rank 4 waits for rank 3")


@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_where_main_waits_beside_a_task_that_is_in_the_cycle_its_wait_is_the_cause(network):
    """Main is to come to the barrier, and nobody is known to bring about what it waits for."""

    async def main(ep):
        x = await Extended.attach(ep)
        async with trio.open_nursery() as nursery:
            if ep.rank == 1:
                nursery.start_soon(partial(ep.block_until, lambda: False, what="a word", ranks=[0]))
                await ep.block_until(lambda: False, what="nothing known")
            await x.barrier()

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=3, conduit=network)
    assert [(cause.ranks, cause.cycle) for cause in caught.value.report.causes] == [((1,), ())]


def test_where_each_rank_has_one_every_rank_is_told_once_and_none_is_a_cause_by_it():
    error = report_of(other_order, range(5))
    assert [len(cause.cycle) for cause in error.report.causes] == [3]
    assert [times_told(error, rank) for rank in range(5)] == [1] * 5


def test_who_waits_for_the_cause_is_none_by_such_a_task():
    error = report_of(a_late_one, range(5))
    assert [cause.ranks for cause in error.report.causes] == [(3,)]


async def a_word_later(ep):
    await ep.block_until(lambda: False)
    await ep.poll()  # it may send as well


def test_a_task_of_one_rank_alone_may_be_what_the_others_wait_for():
    """Rank 0's other task may send what rank 1 waits for: the two are in no cycle that is sure."""

    async def main(ep):
        await ep.attach()
        async with trio.open_nursery() as nursery:
            if ep.rank == 0:
                nursery.start_soon(a_word_later, ep)
            await ep.block_until(lambda: False, what="a word", ranks=[1 - ep.rank])

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    (cause,) = caught.value.report.causes
    assert (cause.ranks, cause.cycle) == ((0,), ())


def test_where_one_of_several_is_enough_a_task_of_one_of_them_may_be_it():
    """Rank 1 waits for a word of 0 or of 2, which both wait for it; only rank 0 has a task that may send one."""

    async def main(ep):
        await ep.attach()
        async with trio.open_nursery() as nursery:
            if ep.rank == 0:
                nursery.start_soon(a_word_later, ep)
            await ep.block_until(lambda: False, what="a word", ranks=[0, 2] if ep.rank == 1 else [1])

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=3, conduit="loggp")
    assert caught.value.report.causes[0].ranks == (0,)


@pytest.mark.parametrize("both", [False, True], ids=["beside main", "two children"])
@pytest.mark.parametrize("in_function", [False, True])
def test_a_task_that_does_nothing_after_its_wait_keeps_no_cycle_from_being_sure(both, in_function):
    """Rank 3's other task can neither send what rank 4 waits for nor come to its barrier."""

    async def main(ep):
        x = await Extended.attach(ep)

        async def spare():
            await ep.block_until(lambda: False)

        async def work():
            if ep.rank == 3:
                await ep.block_until(lambda: False, what="a word", ranks=[4])
            await x.barrier()

        async with trio.open_nursery() as nursery:
            if ep.rank == 3:
                nursery.start_soon(*([spare] if in_function else [ep.block_until, lambda: False]))
            if both:
                nursery.start_soon(work)
            else:
                await work()

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=5, conduit="loggp")
    assert [cause.cycle for cause in caught.value.report.causes] == [(3, 4, 3)]


@pytest.mark.parametrize("more", ["another wait", "a sibling"])
def test_a_task_that_does_more_or_lets_main_do_so_may_be_what_the_others_wait_for(more):
    async def main(ep):
        x = await Extended.attach(ep)

        async def spare():
            await ep.block_until(lambda: False)
            if more == "another wait":
                await x.barrier()

        async def work():
            await ep.block_until(lambda: False, what="a word", ranks=[0])

        async with trio.open_nursery() as outer:
            if ep.rank == 1:
                outer.start_soon(work)
                async with trio.open_nursery() as inner:
                    inner.start_soon(spare)
            await x.barrier()

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    assert [(cause.ranks, cause.cycle) for cause in caught.value.report.causes] == [((1,), ())]
