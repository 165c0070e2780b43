"""Locks: exclusion, the queue, tasks, cancellation, what is refused, and what a job says that gets stuck on one."""

import random
import re
from functools import partial
from typing import Any

import pytest
import trio

import conduit
from conduit import Endpoint
from conduit.conformance.cases import Case
from conduit.conformance.programs import linger, names, refusal
from conduit.words import is_a
from extended.conformance.programs import attached, right

APART = 1e-3
"""Seconds between what is to come one after the other, whatever the network."""
RESENT = 50e-3
"""Seconds in which every network has brought a message to its receiver, however often it was lost."""


async def _serve(ep: Endpoint, seconds: float) -> None:
    """Do nothing for a time but poll, as the home of a lock has to for others."""
    with trio.move_on_after(seconds):
        await ep.block_until(lambda: False)


async def _known(x: Any, name: str) -> Any:
    """Give a lock that this rank has had once: some networks connect two ranks at their first message."""
    lock = x.lock(name)
    async with lock:
        return lock


async def _refused(call: Any) -> str:
    """Give the message with which an awaited call is refused."""
    with pytest.raises(conduit.BadRequest) as caught:
        await call()
    return str(caught.value)


async def _add_plainly(ep: Endpoint, x: Any, offset: int) -> None:
    """Add 1 to a number of rank 0 in a way that loses counts wherever two do it at once."""
    old = await x.get_value(0, offset)
    if ep.random.random() < 0.3:
        await ep.compute(ep.random.random() * 1e-5)
    await x.put_value(0, offset, old + 1)


@pytest.mark.rule("X102", "X114")
@pytest.mark.crowds
def test_one_at_a_time(case: Case) -> None:
    """A number that every rank reads, and writes back one larger, counts all of them."""
    turns = 5

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("count")
        for _ in range(turns):
            async with lock:
                await _add_plainly(ep, x, 0)
        await x.barrier()
        assert await x.get_value(0, 0) == turns * ep.size

    case.run(main)


@pytest.mark.rule("X102", "X104")
@pytest.mark.crowds
def test_one_at_a_time_however_they_come(case: Case) -> None:
    """At random times, waiting, trying, giving up: never two inside."""

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        lock, entries = x.lock(7), 0
        for _ in range(6):
            await ep.compute(ep.random.random() * 2e-5)
            way = ep.random.choice(("wait", "wait", "try", "give up"))
            inside = False
            if way == "wait":
                await lock.acquire()
                inside = True
            elif way == "try":
                inside = await lock.try_acquire()
            else:
                with trio.move_on_after(ep.random.random() * 3e-5):
                    await lock.acquire()
                    inside = True
            if inside:
                assert await x.get_value(0, 8) == 0
                await x.put_value(0, 8, ep.rank + 1)
                await _add_plainly(ep, x, 0)
                assert await x.get_value(0, 8) == ep.rank + 1
                await x.put_value(0, 8, 0)
                await lock.release()
                entries += 1
        await x.barrier()
        assert await x.get_value(0, 8) == 0
        async with lock:
            return entries - int(await x.get_value(0, 0)) if ep.rank == 0 else entries

    assert sum(case.run(main).values) == 0


@pytest.mark.rule("X101")
@pytest.mark.crowds
def test_a_lock_is_known_by_its_name(case: Case) -> None:
    """The same name is the same lock on every rank; 1, "1" and others are different ones."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        every = (1, "1", 0, -1, 1 << 100, "", "a", "ä", "\ud800", "lock of a long name " * 10)
        if ep.rank == 0:
            for name in every:
                await x.lock(name).acquire()
        await x.barrier()
        if ep.rank == ep.size - 1 and ep.size > 1:
            for name in every:
                assert not await x.lock(name).try_acquire()
            assert not await x.lock(True).try_acquire()  # which is 1
        await x.barrier()
        if ep.rank == 0:
            for name in every:
                await x.lock(name).release()
        await x.barrier()
        if ep.rank == ep.size - 1:
            for name in every:
                await x.lock(name).acquire()  # the release may still be on its way
                await x.lock(name).release()

    case.run(main)


@pytest.mark.rule("X101")
def test_holding_one_lock_holds_no_other(case: Case) -> None:
    """Every rank holds one of its own while all go through another."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        async with x.lock(f"of rank {ep.rank}"):
            await x.barrier()
            async with x.lock("of all"):
                await _add_plainly(ep, x, 0)
            await x.barrier()
        assert await x.get_value(0, 0) == ep.size

    case.run(main)


@pytest.mark.rule("X103")
@pytest.mark.simulated
@pytest.mark.crowds
def test_first_come_first_served(case: Case) -> None:
    """Ranks that ask one after the other, in an order of chance, get it in that order.

    Their requests come to the lock's home in the order of asking: between two of them there is time for a network to
    send one again that it has lost, and more than once.
    """
    chance = random.Random(case.seed)
    orders = [chance.sample(range(case.size), case.size) for _ in range(2)]

    async def main(ep: Endpoint) -> list[float]:
        x = await attached(ep)
        times = []
        lock = await _known(x, "queue")
        for order in orders:
            await x.barrier()
            await _serve(ep, RESENT * (1 + order.index(ep.rank)))
            async with lock:
                times.append(ep.now)
                await _serve(ep, RESENT * (ep.size + 1))  # until all have asked
            await x.barrier()
        return times

    values = case.run(main).values
    for turn, order in enumerate(orders):
        assert sorted(range(case.size), key=lambda rank: values[rank][turn]) == order


@pytest.mark.rule("X103")
@pytest.mark.simulated
@pytest.mark.crowds
def test_nobody_is_overtaken_twice_under_contention(case: Case) -> None:
    """All ranks want it again and again: between two turns of a rank every other has had one."""
    turns = 4

    async def main(ep: Endpoint) -> list[float]:
        x = await attached(ep)
        times = []
        lock = await _known(x, "hot")
        await x.barrier()
        if ep.rank == 0:
            await lock.acquire()
        await x.barrier()
        if ep.rank == 0:
            await _serve(ep, 5 * APART)  # until all others are in the queue
            await lock.release()
        for _ in range(turns):
            async with lock:
                times.append(ep.now)
                await ep.compute(APART)
        return times

    result = case.run(main)
    order = [rank for _, rank in sorted((time, rank) for rank, times in enumerate(result.values) for time in times)]
    for turn in range(turns):
        assert sorted(order[turn * case.size : (turn + 1) * case.size]) == list(range(case.size))


@pytest.mark.rule("X104")
@pytest.mark.simulated
def test_try_acquire_does_not_wait(case: Case) -> None:
    """It says no at once where the lock is held, leaves no trace, and takes it where it is free."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("tried")
        if ep.rank == 0:
            assert await lock.try_acquire() is True
        await x.barrier()
        if ep.rank:
            for _ in range(3):
                assert await lock.try_acquire() is False
        await x.barrier()  # a try that waited for the release would wait for ever
        if ep.rank == 0:
            await lock.release()
        await x.barrier()
        if ep.rank == ep.size - 1:
            while not await lock.try_acquire():  # the release may still be on its way, behind the barrier's messages
                await ep.compute(1e-6)
            await lock.release()

    case.run(main)


@pytest.mark.rule("X105")
def test_a_task_that_holds_it_is_refused(case: Case) -> None:
    """By acquire, try_acquire and async with; the message has the line that took it, and the lock stays held."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock(f"mine {ep.rank}")
        async with lock:
            again = x.lock(f"mine {ep.rank}")
            for call in (lock.acquire, again.acquire):
                names(await _refused(call), "lock.acquire", repr(lock.name), "test_locks.py")
            names(await _refused(again.try_acquire), "lock.try_acquire", repr(lock.name), "already")
            with pytest.raises(conduit.BadRequest, match="holds"):
                async with again:
                    raise AssertionError("it was taken twice")
        async with again:
            pass

    case.run(main)


@pytest.mark.rule("X105", "X102")
@pytest.mark.crowds
def test_other_tasks_of_the_rank_wait(case: Case) -> None:
    """Tasks of one rank exclude each other as those of different ranks do."""
    tasks, turns = 3, 2

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        inside: list[int] = []

        async def work(task: int) -> None:
            for _ in range(turns):
                async with x.lock("tasks"):
                    inside.append(task)
                    await _add_plainly(ep, x, 0)
                    assert inside == [task]
                    inside.pop()

        async with trio.open_nursery() as nursery:
            for task in range(tasks):
                nursery.start_soon(work, task)
        await x.barrier()
        assert await x.get_value(0, 0) == tasks * turns * ep.size

    case.run(main)


@pytest.mark.rule("X105")
def test_another_task_waits_until_the_holder_releases(case: Case) -> None:
    """It asks while a task of its own rank holds the lock, and gets it after that."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock(f"of {ep.rank}")
        steps = []

        async def other() -> None:
            assert not await lock.try_acquire()
            steps.append("asks")
            async with lock:
                steps.append("has it")

        async with trio.open_nursery() as nursery, lock:
            nursery.start_soon(other)
            await ep.block_until(lambda: steps)
            await _serve(ep, APART)
            steps.append("is released")
        assert steps == ["asks", "is released", "has it"]
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X106")
def test_who_does_not_hold_it_cannot_release_it(case: Case) -> None:
    """Nobody, another rank, another task, and the holder a second time."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("held")
        names(await _refused(lock.release), "lock.release", "'held'", "no task of this rank holds it")
        await x.barrier()
        if ep.rank == 0:
            await lock.acquire()

            async def other() -> None:
                names(
                    await _refused(lock.release), "lock.release", "'held'", "test_locks.py", "in the task that took it"
                )

            async with trio.open_nursery() as nursery:
                nursery.start_soon(other)
        await x.barrier()
        if ep.rank:
            names(await _refused(lock.release), "lock.release", "no task of this rank holds it")
        await x.barrier()
        if ep.rank == 0:
            await lock.release()
            names(await _refused(lock.release), "lock.release", "once")

    case.run(main)


@pytest.mark.rule("X107")
def test_async_with_releases_however_its_body_ends(case: Case) -> None:
    """By an exception, by cancellation, at once; the release is sent in a cancelled scope too."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("left")
        for turn in range(3):
            with trio.CancelScope() as scope:
                try:
                    async with lock as same:
                        assert same is lock
                        if turn == 0:
                            raise KeyError("out")
                        if turn == 1:
                            scope.cancel()
                            await ep.poll()
                except KeyError:
                    assert turn == 0
            assert scope.cancelled_caught == (turn == 1)
            assert "no task of this rank" in await _refused(lock.release)
            async with lock:
                pass

    case.run(main)


@pytest.mark.rule("X107")
def test_a_release_is_not_cancelled(case: Case) -> None:
    """Called in a cancelled scope it releases all the same."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("freed")
        for _ in range(2):
            await lock.acquire()
            with trio.CancelScope() as scope:
                scope.cancel()
                await lock.release()
            assert not scope.cancelled_caught
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X108")
@pytest.mark.simulated
@pytest.mark.crowds
def test_who_is_cancelled_leaves_the_queue(case: Case) -> None:
    """Every other rank in it gives up; those behind move up and keep their order."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> float | None:
        x = await attached(ep)
        lock = await _known(x, "patience")
        await x.barrier()
        if ep.rank == 0:
            await lock.acquire()
        await x.barrier()
        got = None
        if ep.rank == 0:
            await _serve(ep, 3 * ep.size * APART)
            await lock.release()
        else:
            await _serve(ep, APART * ep.rank)
            with trio.move_on_after(APART * ep.size if ep.rank % 2 else float("inf")) as scope:
                async with lock:
                    got = ep.now
                    await _serve(ep, APART)
            assert scope.cancelled_caught == bool(ep.rank % 2)
        await x.barrier()
        async with lock:  # still whole
            return got

    result = case.run(main)
    times = [got for got in result.values if got is not None]
    assert len(times) == (case.size - 1) // 2
    assert times == sorted(times)


@pytest.mark.rule("X108", "X105")
@pytest.mark.simulated
def test_a_task_that_gives_up_leaves_the_lock_to_another_of_its_rank(case: Case) -> None:
    """Who waits next gets it when it is released, and not when a task of the holder's rank leaves the queue."""
    case = case.at_least(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = await _known(x, "shared")
        await x.barrier()
        if ep.rank == 0:

            async def hurried() -> None:
                await _serve(ep, 2 * ep.size * APART)  # by then others wait
                with trio.move_on_after(APART) as scope:
                    await lock.acquire()
                assert scope.cancelled_caught

            async with trio.open_nursery() as nursery, lock:
                await x.put_value(0, 0, 1)
                nursery.start_soon(hurried)
                await _serve(ep, 4 * ep.size * APART)
                await x.put_value(0, 0, 0)
        else:
            await _serve(ep, APART * (ep.rank + 1))
            async with lock:
                assert await x.get_value(0, 0) == 0
        await x.barrier()

    case.run(main)


@pytest.mark.rule("X108", "X109")
@pytest.mark.simulated
@pytest.mark.crowds
def test_giving_up_at_any_instant_loses_no_lock(case: Case) -> None:
    """Before the answer, in the queue, while the grant is on its way, just when it comes."""

    async def main(ep: Endpoint) -> int:
        x = await attached(ep)
        lock, taken = x.lock("hasty"), 0
        await x.barrier()
        begun = ep.now
        async with lock:
            pass
        whole = ep.now - begun
        for turn in range(12):
            with trio.move_on_after(whole * 2 * turn / 12 * ep.random.random()):
                async with lock:
                    await _add_plainly(ep, x, 0)
                    taken += 1
        await x.barrier()
        async with lock:
            pass
        return taken

    case.run(main)


@pytest.mark.rule("X108", "X2")
@pytest.mark.simulated
def test_a_cancelled_rank_that_computes_is_not_waited_for(case: Case) -> None:
    """It leaves the queue when the cancellation reaches it, not when it comes to the lock again."""
    case = case.with_ranks(3)

    async def main(ep: Endpoint) -> float:
        x = await attached(ep)
        lock = next(lock for lock in map(x.lock, range(100)) if lock.home == 0)  # rank 1 computes
        await x.barrier()
        if ep.rank == 0:
            async with lock:
                await _serve(ep, 10 * APART)
        elif ep.rank == 1:
            await _serve(ep, 2 * APART)
            with trio.move_on_after(2 * APART) as scope:
                await lock.acquire()
            assert scope.cancelled_caught
            await linger(ep, APART)
            await ep.compute(100 * APART)
        else:
            await _serve(ep, 3 * APART)
            async with lock:
                return ep.now
        return 0.0

    assert case.run(main).values[2] < 50 * APART


@pytest.mark.rule("X110")
@pytest.mark.simulated
def test_two_ranks_that_want_each_others_lock_are_reported(case: Case) -> None:
    """With the lock, who holds it, the line where each waits, and the cycle."""
    case = case.with_ranks(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        mine, other = (x.lock(name) for name in (("a", "b") if ep.rank == 0 else ("b", "a")))
        async with mine:
            await x.barrier()
            async with other:
                pass

    with pytest.raises(conduit.Deadlock) as caught:
        case.run(main)
    report = str(caught.value)
    assert "rank 0: " in report
    names(report, "lock 'b', held by rank 1", "lock 'a', held by rank 0")
    assert "test_locks.py" in report
    assert "cycle: rank 0 waits for rank 1 waits for rank 0" in report


@pytest.mark.rule("X110")
@pytest.mark.simulated
def test_everybody_in_the_queue_says_who_is_ahead(case: Case) -> None:
    """The first names the holder; each other the one before it, also after some have given up."""
    case = case.with_ranks(5)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("stuck")
        if ep.rank == 0:
            await lock.acquire()
            await x.barrier()
            await ep.block_until(lambda: False, what="Godot")
        await x.barrier()
        await _serve(ep, APART * ep.rank)
        with trio.move_on_after(APART * 10 if ep.rank in (1, 3) else float("inf")):
            await lock.acquire()
        await ep.block_until(lambda: False, what="nothing")

    with pytest.raises(conduit.Deadlock) as caught:
        case.run(main)
    report = str(caught.value)
    names(report, "rank 2", "lock 'stuck', held by rank 0", "lock 'stuck' behind rank 2", "Godot")
    assert "behind rank 1" not in report
    assert "behind rank 3" not in report


@pytest.mark.rule("X110", "X111")
@pytest.mark.simulated
def test_a_holder_that_has_ended_is_named(case: Case) -> None:
    """Nobody else can release its lock: the report says so."""
    case = case.with_ranks(2)

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        if ep.rank == 0:
            await x.lock("lost").acquire()
            await x.barrier()
        else:
            await x.barrier()
            await x.lock("lost").acquire()

    with pytest.raises(conduit.Deadlock, match=r"(?s)lock 'lost', held by rank 0") as caught:
        case.run(main)
    # The rank that took it has returned, so its own line is not in the report.
    notes = "\n".join(caught.value.__notes__)
    assert re.search(r"(?m)^warning of rank 0: lock 'lost', taken at .*test_locks\.py:\d+,", notes)


@pytest.mark.rule("X111")
@pytest.mark.crowds
def test_a_lock_held_at_the_end_is_warned_of(case: Case) -> None:
    """With its name and the line that took it, on the rank that held it; one that was released is not."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        async with x.lock("released"):
            pass
        await x.lock(ep.rank).acquire()

    with case.warns("lock 0"):
        result = case.run(main)
    for rank, warnings in enumerate(result.warnings):
        assert len(warnings) == 1
        names(warnings[0], f"lock {rank}", "still held")
        assert "test_locks.py:" in warnings[0]


@pytest.mark.rule("X111")
@pytest.mark.ends
def test_a_holder_that_fails_ends_the_job(case: Case) -> None:
    """With its own error, whoever waits for the lock."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        lock = x.lock("fatal")
        if ep.rank == 0:
            await lock.acquire()
            await x.barrier()
            raise ZeroDivisionError("the holder's")
        await x.barrier()
        await lock.acquire()

    with pytest.raises(ZeroDivisionError, match="the holder's"):
        case.run(main)


@pytest.mark.rule("X112")
@pytest.mark.crowds
def test_messages_of_a_lock_that_nobody_else_wants(case: Case) -> None:
    """One request with the name, answered at once, and one that releases."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        for turn in range(3):
            async with x.lock(f"{ep.rank} {turn}"):
                pass
        assert await x.lock(ep.rank).try_acquire()
        await x.lock(ep.rank).release()

    result = case.run(main)
    assert [counts["requests_sent"] for counts in result.statistics] == [8] * result.ranks
    assert sum(counts["replies_sent"] for counts in result.statistics) == 4 * result.ranks


@pytest.mark.rule("X112")
@pytest.mark.simulated
def test_messages_of_a_lock_that_all_want(case: Case) -> None:
    """A third one, the grant, for each that had to wait."""

    async def main(ep: Endpoint) -> bool:
        x = await attached(ep)
        lock = x.lock("wanted")
        begun = ep.now
        await ep.compute(APART)
        async with lock:
            waited = ep.now - begun > 2 * APART
            await ep.compute(4 * APART)
        return waited

    result = case.run(main)
    requests = sum(counts["requests_sent"] for counts in result.statistics)
    assert requests == 2 * case.size + (case.size - 1)
    assert sum(counts["replies_sent"] for counts in result.statistics) == case.size


@pytest.mark.rule("X113")
@pytest.mark.once
def test_names_that_are_none_are_refused(case: Case) -> None:
    """Floats, bytes, None, tuples, and what no message holds."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        wrong: Any
        for wrong in (1.0, b"a", None, ("a", 1), ["a"]):
            names(refusal(partial(x.lock, wrong)), "lock", "name", repr(wrong), is_a(wrong))
        longest = ep.limits.max_medium - 1
        assert x.lock("x" * longest).name == "x" * longest
        names(refusal(partial(x.lock, "x" * (longest + 1))), "lock", "name", longest, longest + 1)
        refusal(partial(x.lock, 1 << (4 * longest)))

    case.run(main)


@pytest.mark.rule("X113", "X29", "X30")
@pytest.mark.once
@pytest.mark.ends
def test_forgotten_calls_are_named(case: Case) -> None:
    """As all calls of the layer are."""

    async def forgets(ep: Endpoint) -> None:
        x = await attached(ep)
        x.lock("a").acquire()
        await x.barrier()

    with pytest.raises(
        conduit.BadRequest, match=r"x\.lock\(\"a\"\)\.acquire\(\) at .*test_locks\.py:\d+ was called but never"
    ):
        case.run(forgets)


@pytest.mark.rule("X113", "X29", "X30")
@pytest.mark.once
@pytest.mark.ends
def test_calls_in_handlers_are_refused_by_name(case: Case) -> None:
    """As all calls of the layer are."""

    async def handles(ep: Endpoint) -> None:
        x = await attached(ep)

        def handler(token: Any) -> None:
            x.lock("a").try_acquire()

        await ep.attach(handler)
        await ep.request_short(right(ep), handler)
        await x.barrier()

    with pytest.raises(conduit.HandlerError, match=r"(?s)\A.*lock\.try_acquire"):
        case.run(handles)


@pytest.mark.rule("X114")
@pytest.mark.crowds
def test_the_next_holder_sees_what_was_put_before_the_release(case: Case) -> None:
    """Any bytes, on a rank that is neither of the two."""

    async def main(ep: Endpoint) -> None:
        x = await attached(ep)
        await x.barrier()
        for turn in range(3):
            async with x.lock("page"):
                page = await x.get(turn % ep.size, 64, 300)
                assert len(set(page.tolist())) == 1
                assert page[0] <= turn * ep.size + ep.size
                await x.put(turn % ep.size, 64, bytes([page[0] + 1]) * 300)
            await x.barrier()

    case.run(main)
