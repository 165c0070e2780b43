"""Whom the report of a deadlock names: the ranks that are missing by then, and none that has done its part."""

import contextlib
import functools
import pickle

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from conduit.launch.reports import brief
from extended import Extended, shmem, upc
from extended.collectives.algorithms import TABLE, check_algorithm
from extended.topology import topology
from extended.windows import Win

LARGE = 9000  # 8-byte elements: asked for, and passed on in pieces


def _report(main, *args, ranks, **settings):
    with pytest.raises(conduit.Deadlock, match=r"\Adeadlock at ") as caught:
        conduit.run(main, *args, ranks=ranks, conduit="loggp", segment=4096, **settings)
    return caught.value.report


def _waits(report):
    """Return which ranks each rank waits for, as its waits say; of ranks whose main has returned nothing."""
    return {
        rank.rank: {peer for task in rank.tasks if task.wait for peer in task.wait.ranks}
        for rank in report.ranks
        if not rank.serving
    }


def _no_cycle(report):
    return not any(cause.cycle for cause in report.causes)


def _without(*missing):
    """Make a program of a call: these ranks return at once, the others make it."""

    def decorate(call):
        async def main(ep):
            x = await Extended.attach(ep)
            if ep.rank not in missing:
                await call(x)

        return main

    return decorate


def test_a_gather_names_the_rank_that_has_sent_nothing():
    @_without(2)
    async def main(x):
        await x.gather(x.rank)  # rank 1 sends its part and goes on
        await x.barrier()

    report = _report(main, ranks=3)
    assert _waits(report) == {0: {2}, 1: {0}}
    assert _no_cycle(report)


def test_an_allocation_names_the_rank_that_has_not_come():
    @_without(2)
    async def main(x):
        await x.all_alloc(8)

    report = _report(main, ranks=3)
    assert _waits(report) == {0: {2}, 1: {0}}
    assert _no_cycle(report)


def test_an_allocation_names_whoever_waits_below():
    """Of ranks 0 to 5, rank 4 is below rank 1 or 2, whichever the tree says, and that below rank 0."""

    @_without(4)
    async def main(x):
        await x.all_alloc(8)

    waits = _waits(_report(main, ranks=6))
    assert [rank for rank, named in waits.items() if 4 in named] != []
    assert all(len(named) == 1 for named in waits.values())


def test_a_barrier_does_not_name_a_rank_that_has_notified():
    @_without(2)
    async def main(x):
        if x.rank == 1:
            await x.barrier_notify()
        else:
            await x.barrier()

    assert _waits(_report(main, ranks=3)) == {0: {2}}


@pytest.mark.parametrize("per_host", [1, 4, 8])
@pytest.mark.parametrize("missing", [(5,), (3, 7), (0,), (6, 7)])
def test_a_barrier_shows_no_cycle_that_is_none(missing, per_host):
    """Ranks 0 and 4 of 8 need a signal of each other, and neither can send it before another rank has come."""

    @_without(*missing)
    async def main(x):
        await x.barrier()

    report = _report(main, ranks=8, ranks_per_host=per_host)
    assert _no_cycle(report)
    named = set().union(*_waits(report).values())
    assert named & set(missing)


def test_of_two_handles_the_one_that_is_not_done_is_named():
    """Rank 2 sits in a wait of Trio's own, and does not poll."""

    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 2:
            await trio.Event().wait()
        if ep.rank == 0:
            await x.wait_all([await x.get_nb(1, 0, 8), await x.get_nb(2, 0, 8)])

    assert _waits(_report(main, ranks=3))[0] == {2}


@pytest.mark.parametrize("kind", ["put_nbi", "get_nbi"])
def test_a_sync_names_the_rank_that_has_not_answered(kind):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 2:
            await trio.Event().wait()
        if ep.rank == 0:
            for dest in (1, 2):
                await (x.put_nbi(dest, 0, b"1234") if kind == "put_nbi" else x.get_nbi(dest, 0, out=bytearray(4)))
            await x.sync()

    assert _waits(_report(main, ranks=3))[0] == {2}


def test_a_pipelined_broadcast_names_the_rank_that_is_to_pass_it_on():
    @_without(1)
    async def main(x):
        await x.broadcast(np.zeros(1000), algorithm="pipelined")

    assert _waits(_report(main, ranks=4)) == {0: {1}, 2: {1}, 3: {2}}


def test_whoever_has_to_pass_a_broadcast_on_waits_for_the_next_rank_and_not_for_the_root():
    @_without(2)
    async def main(x):
        await x.broadcast(np.zeros(100_000))

    assert _waits(_report(main, ranks=3)) == {1: {2}}


def test_where_only_the_root_knows_the_algorithm_all_that_may_send_are_named():
    """Rank 2 does not know whether it is a tree, where rank 0 sends, or a chain, where rank 1 does."""

    @_without(1)
    async def main(x):
        await x.broadcast(np.zeros(100_000))

    assert _waits(_report(main, ranks=4)) == {0: {1}, 2: {0, 1}, 3: {2}}


def test_a_call_that_waits_for_a_fence_names_whom_the_fence_waits_for():
    """Rank 0, the root of small broadcasts, may be two epochs ahead of rank 1."""

    @_without(1)
    async def main(x):
        for _ in range(100):
            await x.broadcast(1)

    assert _waits(_report(main, ranks=2)) == {0: {1}}


def test_a_destroy_names_the_rank_that_keeps_a_call_of_the_team_open():
    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(0)
        if ep.rank < 2:
            handle = await team.gather_nb(ep.rank)
            await team.destroy()
            await handle

    waits = _waits(_report(main, ranks=3))
    assert waits[0] == {2}


def _arguments(kind, size, count):
    rows = kind in ("scatter", "all_to_all")
    return np.ones((size, count) if rows else count)


@st.composite
def _calls(draw):
    size = draw(st.integers(2, 9))
    per_host = draw(st.integers(1, size))
    kind = draw(st.sampled_from(sorted(set(TABLE) - {"fence", "destroy", "split"})))
    count = draw(st.sampled_from((1, 700, LARGE)))
    algorithm = draw(st.sampled_from(sorted(TABLE[kind])))
    missing = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size - 1))
    return size, per_host, kind, count, algorithm, missing


@pytest.mark.filterwarnings("ignore:.*must make the same collective calls")
@given(_calls())
@settings(max_examples=150)
def test_whoever_is_named_is_missing_or_waits_too_and_the_missing_are_found(drawn):
    """Along what the ranks wait for one always comes to a rank that is missing: there is no cycle, and nobody is named
    who has done its part and gone on."""
    size, per_host, kind, count, algorithm, missing = drawn
    team = topology(tuple(rank // per_host for rank in range(size)))
    try:
        check_algorithm(kind, algorithm, team, 8 * count, None, 4096)
    except conduit.BadRequest:
        return

    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank not in missing:
            await getattr(x, kind)(_arguments(kind, size, count), algorithm=algorithm)

    try:
        result = conduit.run(main, ranks=size, ranks_per_host=per_host, conduit="loggp")
    except conduit.Deadlock as error:
        report = error.report
    else:  # nobody needs anything from those who are missing, and they are told of the call
        assert {rank for rank, told in enumerate(result.warnings) if told} <= missing
        assert any(result.warnings)
        return
    waits = _waits(report)
    assert waits
    assert _no_cycle(report)
    for rank, named in waits.items():
        assert named, f"rank {rank} waits for nobody\n{report}"
        assert named <= missing | waits.keys(), report


@pytest.mark.parametrize("how", ["sync", "sync_gets", "region"])
def test_a_wait_for_implicit_operations_names_those_that_have_not_answered(how):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank in (1, 2):
            await trio.sleep_forever()
        if ep.rank == 0:
            async with x.access_region() if how == "region" else contextlib.nullcontext() as region:
                await x.put_nbi(1, 0, b"put")
                await x.get_nbi(2, 0, out=bytearray(3))
                await x.put_nbi(3, 0, b"put")
            await (region.handle if how == "region" else getattr(x, how)())

    expected = {2} if how == "sync_gets" else {1, 2}
    assert _waits(_report(main, ranks=4))[0] == expected


def test_a_teams_barrier_names_the_team_and_the_jobs_does_not():
    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(ep.rank % 2)
        await (team.barrier() if ep.rank in (1, 3) else x.barrier())
        await x.barrier()

    text = brief(_report(main, ranks=6))
    assert "ranks 1, 3, each: " in text
    assert "waits for a barrier of the team of ranks 1, 3, 5, to which rank 5 has not come," in text
    assert "waits for a barrier, to which ranks 1, 3 have not come, since" in text


def test_a_lock_names_its_holder_the_line_that_took_it_and_its_queue():
    async def main(ep):
        x = await Extended.attach(ep)
        lock = x.lock("a")
        if ep.rank == 1:
            await lock.acquire()
            await x.barrier()
            await trio.sleep_forever()
        await x.barrier()
        await lock.acquire()

    line = main.__code__.co_firstlineno + 4
    report = _report(main, ranks=4)
    notes = [note for rank in report.ranks for note in rank.notes]
    assert f"holds lock 'a', taken at {__file__}:{line}" in notes
    (queue,) = (note for note in notes if "queue" in note)
    assert queue.startswith("keeps the queue of lock 'a', held by rank 1: 3 ranks, in this order ")


def test_a_lock_whose_task_has_ended_is_said_to_be_released_by_nobody():
    async def main(ep):
        lock = (await Extended.attach(ep)).lock("only")

        async def take():
            await lock.acquire()

        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(take)
            await lock.acquire()

    text = brief(_report(main, ranks=2))
    place = f"test_deadlock_reports.py:{main.__code__.co_firstlineno + 4}"
    assert f"holds lock 'only', taken at {place}, by a task that has ended" in text
    assert text.endswith(
        f"\nthe task that took lock 'only' at {place} has ended, and only the task that takes a lock can release it: "
        "let it do so before it ends"
    )


def test_tasks_of_one_rank_that_take_one_lock_are_counted_as_tasks():
    async def main(ep):
        x = await Extended.attach(ep)

        async def worker():
            async with x.lock("q"):
                await ep.block_until(lambda: False, what="a job", ranks=[0])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(worker)
            nursery.start_soon(worker)

    text = brief(_report(main, ranks=2))
    assert "the same order" not in text
    assert "keeps the queue of lock 'q', held by rank 0: 3 tasks, of ranks 0, 1, 1 in this order" in text


def test_who_is_ahead_in_the_queue_of_a_lock_and_has_it_by_now_is_said_to_hold_it():
    async def main(ep):
        lock = (await Extended.attach(ep)).lock("a")
        if ep.rank == 0:
            await lock.acquire()
            await ep.compute(1e-3)
            await lock.release()
        else:
            await ep.compute(1e-4 * ep.rank)
            await lock.acquire()
            await ep.block_until(lambda: False)

    text = brief(_report(main, ranks=3))
    assert "waits for lock 'a', held by rank 1, which rank 1 must bring about, since" in text
    assert "or has it" not in text


def test_a_part_of_a_call_is_named_with_the_call_that_the_program_has_made():
    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x)
        if ep.rank:
            await trio.sleep_forever()
        await win.Lock(1)

    assert "waits for atomic.swap in win.Lock, which rank 1 must bring about, since" in brief(_report(main, ranks=2))


def test_an_element_that_is_awaited_is_named_with_what_is_sent_for_it():
    async def main(t):
        a = await t.all_alloc(4, dtype="i8")
        if t.MYTHREAD:
            await trio.sleep_forever()
        await a[3]

    with pytest.raises(conduit.Deadlock, match=r"waits for get in a\[3\], which rank 1 must bring about, since"):
        upc.run(main, threads=2, conduit="loggp")


def test_a_call_of_a_front_end_that_has_the_name_of_what_it_stands_on_is_named():
    async def gets(pe):
        a = await pe.zeros(4, "i8")
        await pe.barrier_all()
        if pe.my_pe():
            await trio.sleep_forever()
        await pe.get(np.zeros(4, "i8"), a, 1)

    async def adds(t):
        a = await t.all_alloc(4, "i8")
        await t.barrier()
        if t.MYTHREAD:
            await trio.sleep_forever()
        await a.fetch_add(3, 1)

    with pytest.raises(conduit.Deadlock, match=r"waits for get in pe\.get, which rank 1 must bring about, since"):
        shmem.run(gets, pes=2, conduit="loggp")
    with pytest.raises(conduit.Deadlock, match=r"waits for atomic\.fetch_add in a\.fetch_add, which rank 1 must bring"):
        upc.run(adds, threads=2, conduit="loggp")


@pytest.mark.parametrize("call", ["quiet", "barrier_all"])
def test_a_call_that_says_its_own_name_is_named_once(call):
    async def main(pe):
        a = await pe.zeros(4, "i8")
        await pe.barrier_all()
        if pe.my_pe():
            await trio.sleep_forever()
        await pe.put(a, np.ones(4, "i8"), 1)
        if call == "quiet":
            await pe.quiet()
        else:
            await pe.barrier_all()

    with pytest.raises(conduit.Deadlock, match=rf"waits for pe\.{call}, which rank 1 must bring about, since"):
        shmem.run(main, pes=2, conduit="loggp")


@pytest.mark.parametrize("call", ["put_strided", "get", "memset", "fetch_add"])
def test_a_call_of_the_layer_itself_is_named_once(call):
    async def main(ep):
        x = await Extended.attach(ep)
        domain = x.atomic("i8")
        if ep.rank:
            await trio.sleep_forever()
        if call == "put_strided":
            await x.put_strided(1, 0, (16, 1), np.zeros((4, 8), np.uint8))
        elif call == "get":
            await x.get(1, 0, 8)
        elif call == "memset":
            await x.memset(1, 0, 0, 8)
        else:
            await domain.fetch_add(1, 0, 1)

    waits = f"atomic.{call}" if call == "fetch_add" else call
    assert f"waits for {waits}, which rank 1 must bring about, since" in brief(_report(main, ranks=2))


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        ("wait_all", "wait_all of all_reduce_nb and 2 broadcast_nb (1 other is done)"),
        ("wait_some", "wait_some of all_reduce_nb and 2 broadcast_nb"),
    ],
)
def test_a_wait_for_several_handles_names_what_is_pending(call, waits):
    async def main(ep):
        x = await Extended.attach(ep)
        handles = [await x.put_nb(0, 0, b"12345678")] if call == "wait_all" else []
        if ep.rank:
            handles += [await x.all_reduce_nb(1.0), await x.broadcast_nb(None), await x.broadcast_nb(None)]
            await getattr(x, call)(handles)
        else:
            await ep.block_until(lambda: False, what="nothing")

    assert f"waits for {waits}, which rank 0 must bring about, since" in brief(_report(main, ranks=2))


def test_a_call_that_is_what_it_waits_for_is_named_once():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank:
            await trio.sleep_forever()
        await x.put(1, 0, b"12345678")

    assert "waits for put, which rank 1 must bring about, since" in brief(_report(main, ranks=2))


def test_a_call_handed_to_a_nursery_is_shown_at_the_line_that_did_it():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(x.barrier)
                nursery.start_soon(ep.block_until, lambda: False)

    start = main.__code__.co_firstlineno
    report = _report(main, ranks=2)
    assert {(task.place.line - start, task.started) for task in report.ranks[0].tasks} == {(4, True), (5, True)}
    assert "(started there): waits for a barrier, to which rank 1 has not come," in brief(report)


def test_a_task_in_the_body_of_a_nursery_is_shown_beside_those_that_it_runs():
    async def main(ep):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ep.block_until, lambda: False)
            await trio.Event().wait()

    start = main.__code__.co_firstlineno
    report = _report(main, ranks=1)
    assert sorted((task.place.line - start, task.call) for task in report.ranks[0].tasks) == [
        (2, ""),
        (3, "a wait of Trio's own"),
    ]


def test_what_a_layer_tells_is_in_the_report_and_what_fails_in_it():
    async def main(ep):
        def tell(told):
            told.note(f"a note of rank {ep.rank}")
            told.part("turns", range(ep.size), ep.rank, {"the turn": 0} if ep.rank else {}, everybody=True)
            raise LookupError("after that")

        ep.on_report(tell)
        with pytest.raises(conduit.BadRequest, match=r"ep\.on_report: function=3 cannot be called; pass a plain"):
            ep.on_report(3)
        await ep.block_until(lambda: False, what="the turn")

    report = _report(main, ranks=3)
    failed = "tell, given to ep.on_report, raised LookupError: after that"
    assert [rank.notes for rank in report.ranks] == [(f"a note of rank {rank}", failed) for rank in range(3)]
    assert report.causes[0].ranks == (0,)
    assert report.causes[0].direct == (1, 2)


async def _later(told):
    pass


def _stepwise(told):
    yield


async def _later_stepwise(told):
    yield


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (_later, "an async function"),
        (functools.partial(_later), "an async function"),
        (_stepwise, "a generator function"),
        (_later_stepwise, "a generator function"),
    ],
)
def test_who_tells_a_report_is_no_function_that_runs_later(wrong, kind):
    async def main(ep):
        with pytest.raises(conduit.BadRequest) as refused:
            ep.on_report(wrong)
        return str(refused.value)

    (text,) = conduit.run(main, ranks=1, conduit="loggp").values
    assert text.startswith("ep.on_report: function=")
    assert f" is {kind}, which would not run where a report is made; pass a plain function of one argument" in text
    name = getattr(wrong, "__name__", "")
    assert text.endswith(f": write `def {name}(told)`" if name else "of one argument")


def test_what_tells_a_report_and_turns_out_to_run_later_is_named_there():
    async def main(ep):
        ep.on_report(lambda told: _later(told))
        await ep.block_until(lambda: False, what="the turn")

    assert _report(main, ranks=1).ranks[0].notes == (
        "<lambda>, given to ep.on_report, returned a coroutine, which nothing runs where a report is made; pass a "
        "plain function of one argument",
    )


def test_an_error_with_its_report_can_be_pickled():
    async def main(ep):
        await ep.block_until(lambda: False)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, conduit="loggp")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.report) == (str(caught.value), caught.value.report)


def test_who_calls_on_another_ranks_endpoint_is_told():
    shared = []

    async def main(ep):
        shared.append(await Extended.attach(ep))
        x = shared[-1]
        await x.barrier()
        x = shared[-1]
        await x.all_reduce(x.rank)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=3)
    assert str(caught.value).splitlines()[-1] == (
        "others wait in calls of rank 2's endpoint: a global variable is one for all ranks; keep the endpoint, and "
        "what is attached to it, in variables of main"
    )
