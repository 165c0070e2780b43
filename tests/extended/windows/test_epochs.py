"""What may be called in which epoch: each rule with a program that breaks it, and what idle epochs do not forbid."""

import inspect
import re

import numpy as np
import pytest

import conduit
from extended import Extended
from extended.windows import (
    LOCK_SHARED,
    MODE_NOCHECK,
    MODE_NOPRECEDE,
    MODE_NOPUT,
    MODE_NOSTORE,
    MODE_NOSUCCEED,
    SUM,
    Win,
    WindowError,
)

A, B, C = np.ones(1, "i8"), np.ones(1, "i8"), np.ones(1, "i8")
AT = rf"at {re.escape(__file__)}:\d+"


async def made(ep, **options):
    return await Win.Allocate(64, 8, comm=await Extended.attach(ep), **options)


async def put(win):
    await win.Put(A, 1)


async def get(win):
    await win.Get(B, 1)


async def accumulate(win):
    await win.Accumulate(A, 1)


async def get_accumulate(win):
    await win.Get_accumulate(A, B, 1)


async def fetch_and_op(win):
    await win.Fetch_and_op(A, B, 1, 0, SUM)


async def compare_and_swap(win):
    await win.Compare_and_swap(A, C, B, 1)


ACCESSES = [put, get, accumulate, get_accumulate, fetch_and_op, compare_and_swap]


def refused(broken, match, ranks=2, network="loggp"):
    """Run a program on rank 0 of a window that the others wait with; it must be refused there."""

    async def main(ep):
        win = await made(ep)
        if ep.rank == 0:
            await broken(win)
        else:
            await ep.block_until(lambda: False)

    with pytest.raises(WindowError, match=match) as caught:
        conduit.run(main, ranks=ranks, conduit=network)
    assert any("rank 0" in note for note in caught.value.__notes__)
    return str(caught.value)


@pytest.mark.parametrize("access", ACCESSES)
def test_an_access_needs_an_epoch(access):
    name = access.__name__.capitalize()
    refused(
        access,
        rf"^win\.{name} {AT}: no epoch is open to rank 1: no epoch has been opened since Win\.Allocate {AT}; "
        r"call Fence, Start or Lock before it",
    )


def test_both_lines_are_those_of_the_calls():
    async def broken(win):
        await win.Fence(MODE_NOSUCCEED)
        await win.Put(A, 0)

    async def main(ep):
        await broken(await made(ep))

    first = inspect.getsourcelines(broken)[1] + 1
    with pytest.raises(WindowError) as caught:
        conduit.run(main, conduit="loggp", ranks=1)
    assert re.findall(rf"{re.escape(__file__)}:(\d+)", str(caught.value)) == [str(first + 1), str(first)]


async def outside_the_group(win):
    await win.Post([0])
    await win.Start([0])
    await win.Put(A, 1)


async def beside_the_lock(win):
    await win.Lock(0)
    await win.Put(A, 1)


async def after_unlock(win):
    await win.Lock(1, LOCK_SHARED)
    await win.Unlock(1)
    await win.Put(A, 1)


async def after_complete(win):
    await win.Post([0])
    await win.Start([0])
    await win.Complete()
    await win.Put(A, 0)


async def after_unlock_all(win):
    await win.Lock_all()
    await win.Unlock_all()
    await win.Put(A, 1)


@pytest.mark.parametrize(
    ("broken", "match"),
    [
        (outside_the_group, rf"win\.Put {AT}: rank 1 is not in the group of win\.Start {AT}, which has rank 0"),
        (beside_the_lock, rf"win\.Put {AT}: no epoch is open to rank 1: win\.Lock {AT} is of rank 0; call"),
        (after_unlock, rf"win\.Put {AT}: no epoch .* to rank 1: the last one was closed by win\.Unlock {AT};"),
        (after_complete, rf"win\.Put {AT}: no epoch .* to rank 0: the last one was closed by win\.Complete {AT}"),
        (after_unlock_all, rf"win\.Put {AT}: no epoch .*: the last one was closed by win\.Unlock_all {AT}"),
    ],
)  # fmt: skip
def test_an_access_needs_an_epoch_of_its_target(broken, match):
    refused(broken, match)


# Openers of epochs, and what must not be called before they are closed.


async def start(win):
    await win.Post([0])
    await win.Start([0])
    await win.Test()


async def start_alone(win):
    await win.Start([])


async def post(win):
    await win.Post([0])


async def lock(win):
    await win.Lock(1)


async def lock_self(win):
    await win.Lock(0)


async def lock_all(win):
    await win.Lock_all()


async def touch(win):
    """An epoch of fences with an access in it, on a window of one rank."""
    await win.Fence()
    await win.Put(A, 0)


OPENERS = {
    "win.Start": (start_alone, "call Complete before it"),
    "win.Post": (post, "call Wait before it"),
    "win.Lock": (lock, r"call Unlock\(1\) before it"),
    "win.Lock_all": (lock_all, "call Unlock_all before it"),
}
# What must not be called in each of them.
WITHIN = {
    "win.Start": ["Fence()", "Start([])", "Lock(1)", "Lock_all()", "Free()"],
    "win.Post": ["Fence()", "Post([])", "Lock_all()", "Free()"],
    "win.Lock": ["Fence()", "Start([])", "Lock_all()", "Free()"],
    "win.Lock_all": ["Fence()", "Start([])", "Lock(1)", "Lock_all()", "Free()"],
}


@pytest.mark.parametrize(("opener", "called"), [(name, call) for name, calls in WITHIN.items() for call in calls])
def test_one_epoch_is_closed_before_another_opens(opener, called):
    opens, closing = OPENERS[opener]

    async def broken(win):
        await opens(win)
        await eval(f"win.{called}")

    name = re.escape(f"win.{called.partition('(')[0]}")
    refused(broken, rf"^{name} at .*: the epoch that {re.escape(opener)} {AT} opened is not closed; {closing}")


async def twice(win):
    await win.Lock(1)
    await win.Lock(1, LOCK_SHARED)


async def lock_exposed(win):
    await win.Post([1])
    await win.Lock(0)


async def post_locked(win):
    await win.Lock(0)
    await win.Post([1])


async def post_all_locked(win):
    await win.Lock_all()
    await win.Post([1])


async def complete(win):
    await win.Complete()


async def wait(win):
    await win.Wait()


async def test(win):
    await win.Test()


async def unlock(win):
    await win.Unlock(1)


async def unlock_another(win):
    await win.Lock(0)
    await win.Unlock(1)


async def unlock_all(win):
    await win.Lock(1)
    await win.Unlock_all()


async def flush(win):
    await win.Lock(0)
    await win.Flush(1)


async def flush_local(win):
    await win.Flush_local(1)


async def flush_all(win):
    await win.Flush_all()


async def flush_local_all(win):
    await win.Flush_local_all()


async def sync(win):
    await win.Sync()


test.__test__ = False


@pytest.mark.parametrize(
    ("broken", "match"),
    [
        (twice, rf"win\.Lock {AT}: this rank has locked rank 1 by win\.Lock {AT} already; call Unlock\(1\)"),
        (lock_exposed, rf"win\.Lock {AT}: this rank is exposed by win\.Post {AT}, and cannot be locked then"),
        (post_locked, rf"win\.Post {AT}: this rank is locked by win\.Lock {AT}, and cannot be posted then"),
        (post_all_locked, rf"win\.Post {AT}: this rank is locked by win\.Lock_all {AT}, and cannot be posted"),
        (complete, rf"win\.Complete {AT}: there is no Start for it to close: no epoch has been opened since Win"),
        (wait, rf"win\.Wait {AT}: there is no Post for it to close; call Post before it"),
        (test, rf"win\.Test {AT}: there is no Post for it to close; call Post before it"),
        (unlock, rf"win\.Unlock {AT}: rank 1 is not locked by this rank: no epoch has been opened since Win\."),
        (unlock_another, rf"win\.Unlock {AT}: rank 1 is not locked .*: win\.Lock {AT} is of rank 0; call Lock"),
        (unlock_all, rf"win\.Unlock_all {AT}: there is no Lock_all for it to close: win\.Lock {AT} is of rank"),
        (flush, rf"win\.Flush {AT}: rank 1 is not locked by this rank: win\.Lock {AT} is of rank 0; it belongs"),
        (flush_local, rf"win\.Flush_local {AT}: rank 1 is not locked by this rank: no epoch has been opened since Win"),
        (flush_all, rf"win\.Flush_all {AT}: no rank is locked by this rank: .*; it belongs between Lock and Unlock"),
        (flush_local_all, rf"win\.Flush_local_all {AT}: no rank is locked by this rank"),
        (sync, rf"win\.Sync {AT}: no rank is locked by this rank"),
    ],
)  # fmt: skip
def test_what_closes_or_uses_an_epoch_needs_it(broken, match):
    refused(broken, match)


@pytest.mark.parametrize("called", ["Lock(0)", "Lock_all()", "Start([])", "Post([])", "Free()"])
def test_an_epoch_of_fences_with_accesses_is_closed_before_another_opens(called):
    async def main(ep):
        win = await made(ep)
        await touch(win)
        await eval(f"win.{called}")

    match = rf"win\.\w+ at .*: win\.Put {AT} belongs to the epoch that win\.Fence {AT} opened, .*; call Fence"
    with pytest.raises(WindowError, match=match):
        conduit.run(main, conduit="loggp", ranks=1)


def test_no_precede_is_refused_behind_an_access():
    async def main(ep):
        win = await made(ep)
        await touch(win)
        await win.Fence(MODE_NOPRECEDE)

    match = rf"win\.Fence {AT}: MODE_NOPRECEDE says that nothing was called before it, but win\.Put {AT} was"
    with pytest.raises(WindowError, match=match):
        conduit.run(main, conduit="loggp", ranks=1)


def test_an_idle_fence_forbids_nothing(network):
    async def main(ep):
        win = await made(ep)
        await win.Fence(MODE_NOPRECEDE | MODE_NOSTORE | MODE_NOPUT)
        await win.Lock(0, LOCK_SHARED)
        await win.Unlock(0)
        await win.Fence()
        await win.Post(win.Get_group())
        await win.Start(win.Get_group())
        await win.Complete()
        await win.Wait()
        await win.Fence()
        await win.Lock_all()
        await win.Unlock_all()
        await win.Fence()
        await win.Free()
        return True

    assert all(conduit.run(main, ranks=3, conduit=network).values)


@pytest.mark.parametrize("called", ["Put(A, 0)", "Fence()", "Lock(0)", "Free()", "tomemory()", "Post([])", "Sync()"])
@pytest.mark.parametrize("checks", [True, False])
def test_a_window_is_not_used_when_it_is_freed(called, checks):
    async def main(ep):
        win = await made(ep, checks=checks)
        await win.Free()
        found = eval(f"win.{called}")
        if inspect.isawaitable(found):
            await found

    match = rf"win\.\w+( at .*)?: this window was freed by win\.Free {AT}; free it after its last use, or make one"
    with pytest.raises(WindowError, match=match):
        conduit.run(main, conduit="loggp", ranks=1)


def test_a_lock_of_a_rank_that_has_posted_is_seen_there():
    async def main(ep):
        win = await made(ep)
        if ep.rank == 0:
            await win.Post([1])
            await ep.request_short(1, told)
            await win.Wait()
        else:
            await ep.block_until(lambda: seen)
            await win.Lock(0, LOCK_SHARED)
            await win.Put(A, 0)
            await win.Unlock(0)

    seen = []

    def told(token):
        seen.append(True)

    async def program(ep):
        await ep.attach(told)
        await main(ep)

    match = rf"win\.Put {AT} of rank 1, bytes 0 to 7: the target, rank 0, is exposed by win\.Post {AT} of its"
    with pytest.raises(WindowError, match=match):
        conduit.run(program, conduit="loggp")


def test_without_checks_nothing_of_this_is_refused(network):
    """A get of the own rank polls memory within an epoch, as the tree of the paper on SHMEM does."""

    async def main(ep):
        win = await made(ep, checks=False)
        memory = np.frombuffer(win.tomemory(), "i8")
        await win.Fence()
        if ep.rank == 0:
            for rank in range(1, ep.size):
                await win.Put(A, rank, 7)
        else:
            seen = np.zeros(1, "i8")
            while not seen[0]:
                await win.Get(seen, ep.rank, 7)
        await win.Fence()
        await win.Flush(0)
        await win.Unlock(0)
        await win.Complete()
        await win.Put(A, 0, 6)
        await win.Put(A, 0, 6)
        await win.Lock(0, LOCK_SHARED, MODE_NOCHECK)
        await win.Unlock(0)
        await win.Fence()
        found = memory.tolist()
        await win.Free()
        return found

    values = conduit.run(main, ranks=3, conduit=network).values
    assert [(found[6], found[7]) for found in values] == [(1, 0), (0, 1), (0, 1)]


def test_a_post_for_other_ranks_is_in_the_report_of_who_waits_for_one():
    async def main(ep):
        win = await made(ep)
        right = (ep.rank + 1) % ep.size
        await win.Post([right])  # the left one starts
        await win.Start([right])

    with pytest.raises(conduit.Deadlock) as found:
        conduit.run(main, ranks=3, conduit="loggp")
    line = main.__code__.co_firstlineno + 3
    for rank in range(3):
        assert f"rank {rank}: win.Post at test_epochs.py:{line} is for rank {(rank + 1) % 3} alone" in str(found.value)
