"""Windows of teams, several at once, cancelled calls, and the memory that they give back."""

import numpy as np
import pytest
import trio

import conduit
from extended import Extended, windows
from extended.windows import LOCK_SHARED, Win

from .conftest import NETWORKS


def _moments(network, end, step):
    """Give moments of a call to cancel it in, in tenths of a microsecond: of networks by turns each second one."""
    return range(step * (NETWORKS.index(network) % 2), end, 2 * step)


async def _give_up_a_fence(win, seconds):
    with trio.move_on_after(seconds) as scope:
        await win.Fence()
    assert scope.cancelled_caught


def test_windows_of_teams_and_of_all_beside_each_other(network):
    """Ranks are those of the team, whose own barriers and end do not matter to its windows."""

    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(ep.rank % 2, -ep.rank)
        own = await Win.Allocate(16, 8, comm=team)
        whole = await Win.Create(np.zeros(2, "i8"), 8, comm=x)
        await team.barrier_notify()
        await own.Fence()
        await whole.Fence()
        await own.Put(np.full(1, ep.rank), (team.rank + 1) % team.size)
        await whole.Put(np.full(1, ep.rank), (ep.rank + 1) % ep.size, 1)
        await own.Fence()
        await whole.Fence()
        await team.barrier_wait()
        found = [int(np.frombuffer(win.tomemory(), "i8")[at]) for at, win in ((0, own), (1, whole))]
        left = team.job_rank((team.rank - 1) % team.size)
        await team.destroy()
        await own.Fence()
        await own.Free()
        await whole.Free()
        return found, left

    for rank, ((mine, all_of_them), left) in enumerate(conduit.run(main, ranks=5, conduit=network).values):
        assert mine == left
        assert all_of_them == (rank - 1) % 5


def test_ranks_without_a_window_attach_by_themselves():
    async def main(ep, attach):
        x = await Extended.attach(ep)
        team = await x.split(0 if ep.rank else None)
        if team is not None:
            await (await Win.Allocate(8, comm=team)).Free()
        elif attach:
            await windows.attach(x)

    conduit.run(main, True, ranks=3, conduit="loggp")
    with pytest.raises(conduit.Deadlock, match=r"first window of the job, for which all ranks attach"):
        conduit.run(main, False, ranks=3, conduit="loggp")


@pytest.mark.parametrize("part", [False, True])
def test_memory_is_given_back(part):
    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(ep.rank // 2) if part else x
        for _ in range(20):
            win = await Win.Allocate(x.ep.segment.nbytes // 3, comm=team)
            await win.Fence()
            await win.Free()
        await x.barrier()
        await x.all_alloc(x.ep.segment.nbytes)

    conduit.run(main, ranks=4, conduit="loggp", segment=4096)


def test_no_room_is_told_to_every_rank_of_a_team():
    async def main(ep):
        x = await Extended.attach(ep)
        team = await x.split(ep.rank % 2)
        with pytest.raises(conduit.BadRequest, match=r"Win\.Allocate: no room for 5000 bytes on each rank"):
            await Win.Allocate(5000, comm=team)
        await (await Win.Allocate(50, comm=team)).Free()

    conduit.run(main, ranks=4, conduit="loggp", segment=4096)


def test_a_fence_that_was_cancelled_is_ended_by_the_next():
    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x)
        await win.Fence()
        await win.Put(np.full(1, ep.rank), 1 - ep.rank)
        if ep.rank == 0:
            await _give_up_a_fence(win, 1e-4)
        else:
            await ep.compute(1e-3)
        await win.Fence()
        found = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return found

    assert list(conduit.run(main, conduit="loggp").values) == [1, 0]


def test_what_follows_a_fence_that_was_cancelled_is_complete_when_that_is_ended():
    """Then its buffer is free (W4), though the others have gone on."""

    async def main(ep, late):
        win = await Win.Allocate(8 * 20_000, 8, comm=await Extended.attach(ep))
        source = np.full(20_000, 7)
        await win.Fence()
        if ep.rank == 0:
            with trio.move_on_after(1e-4) as scope:
                await win.Fence()
            assert scope.cancelled_caught
            await win.Put(source, 1)
            await win.Fence()
            source[:] = 9
        else:
            await ep.compute(late)
            await win.Fence()
        await win.Fence()
        found = set(np.frombuffer(win.tomemory(), "i8").tolist())
        await win.Free()
        return found

    for late in (3e-4, 7e-4, 1.1e-3):
        assert conduit.run(main, late, conduit="udp").values[1] == {7}


def test_reports_say_that_a_fence_has_ended_one_that_was_cancelled():
    async def main(ep):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        if ep.rank == 1:
            await _give_up_a_fence(win, 1e-6)
        else:
            await win.Fence()
        await win.Fence()

    line = main.__code__.co_firstlineno + 6
    with pytest.raises(conduit.Deadlock, match=r"waits for win\.Fence, to which rank 1 has not come") as found:
        conduit.run(main, conduit="loggp")
    (note,) = (each for rank in found.value.report.ranks for each in rank.notes if "cancelled" in each)
    first = _give_up_a_fence.__code__.co_firstlineno + 2
    assert note == (
        f"win.Fence at {__file__}:{first} was cancelled, and win.Fence at {__file__}:{line} ends it: the two are one "
        "call for the others"
    )


def test_a_start_and_a_wait_that_were_cancelled_can_be_called_again(network):
    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x)
        if ep.rank == 0:
            with trio.move_on_after(1e-6):
                await win.Start([1])
            await win.Start([1])
            await win.Put(np.full(1, 5), 1)
            await ep.compute(2e-3)
            await win.Complete()
        else:
            await ep.compute(1e-3)
            await win.Post([0])
            with trio.move_on_after(1e-4) as scope:
                await win.Wait()
            assert scope.cancelled_caught
            assert not await win.Test()
            await win.Wait()
        found = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return found

    assert conduit.run(main, conduit=network).values[1] == 5


async def _after_cancelled(ep, calls, *meanwhile):
    """Put to rank 1 in the epoch of a Fence in which rank 0 was cancelled in calls; return what refuses it."""
    x = await Extended.attach(ep)
    win = await Win.Allocate(8, 8, comm=x)
    await win.Fence()
    if ep.rank == 2:
        await win.Lock(0)
        await win.Lock(2)
    await x.barrier()
    refused = ""
    if ep.rank == 0:
        async with trio.open_nursery() as nursery:
            for call, *arguments in calls:
                nursery.start_soon(getattr(win, call), *arguments)
            await trio.sleep(1e-4)
            for call in meanwhile:
                await getattr(win, call)(1)
            nursery.cancel_scope.cancel()
        try:
            await win.Put(np.full(1, 7), 1)
        except windows.WindowError as error:
            refused = str(error)
    await x.barrier()
    if ep.rank == 2:
        await win.Unlock(0)
        await win.Unlock(2)
    await win.Fence()
    return refused, int(np.frombuffer(win.tomemory(), "i8")[0])


@pytest.mark.parametrize(
    "calls", [[("Lock", 2)], [("Lock", 2, LOCK_SHARED)], [("Start", [2])], [("Lock", 2), ("Lock", 0)]], ids=str
)
def test_a_lock_or_start_that_was_cancelled_leaves_the_epoch_of_the_fence_before_it_open(calls, network):
    async def main(ep):
        return await _after_cancelled(ep, calls)

    assert conduit.run(main, ranks=3, conduit=network).values == [("", 0), ("", 7), ("", 0)]


def test_a_lock_that_was_cancelled_leaves_the_epoch_closed_that_another_task_has_closed():
    async def main(ep):
        return await _after_cancelled(ep, [("Lock", 2)], "Lock", "Unlock")

    (refused, _), second, third = conduit.run(main, ranks=3, conduit="loggp").values
    assert "no epoch is open to rank 1: the last one was closed by win.Unlock" in refused
    assert [second, third] == [("", 0), ("", 0)]


def test_an_access_that_was_cancelled_goes_on_or_has_not_begun():
    """Of many pieces, to memory that is not in the segment."""

    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Create(np.zeros(5000, "u1"), comm=x)
        await win.Fence()
        if ep.rank == 0:
            with trio.move_on_after(2e-5):
                await win.Put(np.ones(5000, "u1"), 1)
        await win.Fence()
        found = set(win.tomemory().tolist())
        await win.Free()
        return found

    assert conduit.run(main, conduit="loggp:max_medium=512,max_long=1000").values[1] in ({0}, {1})


def test_a_job_with_windows_is_the_same_each_time(both_ways):
    async def main(ep):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        await win.Lock_all()
        await win.Accumulate(np.ones(2), 0)
        await win.Unlock_all()
        await win.Free()

    both_ways.run(main, ranks=4)


def test_a_fence_follows_an_access_that_was_cancelled_before_it_began(network):
    """There is nothing to tell the target of."""

    async def main(ep):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        await win.Fence()
        with trio.CancelScope() as scope:
            scope.cancel()
            await win.Put(np.full(1, 5), 1 - ep.rank)
        assert scope.cancelled_caught
        await win.Fence()
        await win.Post([1 - ep.rank])
        await win.Start([1 - ep.rank])
        with trio.CancelScope() as scope:
            scope.cancel()
            await win.Put(np.full(1, 5), 1 - ep.rank)
        assert scope.cancelled_caught
        await win.Complete()
        await win.Wait()
        found = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return found

    assert conduit.run(main, conduit=network).values == [0, 0]


def test_an_access_in_a_lock_can_be_cancelled_at_any_time_and_made_again(network):
    """Nowhere does the second one conflict with the first."""

    async def main(ep, after):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        if ep.rank == 0:
            await win.Lock(1, LOCK_SHARED)
            with trio.move_on_after(after) as scope:
                await win.Put(np.full(1, 4), 1)
            if scope.cancelled_caught:
                await win.Put(np.full(1, 4), 1)
            await win.Unlock(1)
        await win.Fence()
        found = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return found

    for tenths in _moments(network, 100, 3):
        assert conduit.run(main, tenths * 1e-7, conduit=network).values[1] == 4


def test_unlocking_has_no_cancellation_point_once_the_epoch_is_closed(network):
    async def main(ep, after):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        await win.Lock_all()
        while True:
            with trio.move_on_after(after) as scope:
                await win.Unlock_all()
            if not scope.cancelled_caught:
                break
            after += 1e-6
        await win.Free()

    for tenths in range(0, 30, 3):
        conduit.run(main, tenths * 1e-7, conduit=network)


def test_a_put_that_was_cancelled_after_its_first_piece_is_complete_after_a_flush():
    """It goes on without a handle; a later put is not overtaken by its pieces."""

    async def main(ep, after):
        win = await Win.Allocate(5000, comm=await Extended.attach(ep))
        await win.Lock_all()
        if ep.rank == 0:
            with trio.move_on_after(after):
                await win.Put(np.ones(5000, "u1"), 1)
            await win.Flush(1)
            await win.Put(np.full(5000, 2, "u1"), 1)
        elif after:
            await ep.compute(1e-3)  # so that the pieces wait for slots
        await win.Unlock_all()
        await win.Fence()
        found = set(win.tomemory().tolist())
        await win.Free()
        return found

    network = "loggp:order=weak,max_medium=512,max_long=512,slots=1"
    for after in (0, 1e-6, 1e-5, 1e-4, 5e-4):
        assert conduit.run(main, after, conduit=network).values[1] == {2}


def test_a_fence_that_was_cancelled_while_it_told_of_accesses_can_be_called_again(network):
    """They are told of once, and conflict with nothing."""

    async def main(ep, after):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        await win.Fence()
        await win.Put(np.full(1, ep.rank), 1 - ep.rank)
        while True:
            with trio.move_on_after(after) as scope:
                await win.Fence()
            if not scope.cancelled_caught:
                break
            after += 3e-6
        found = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return found

    for tenths in _moments(network, 300, 7):
        assert conduit.run(main, tenths * 1e-7, ranks=2, conduit=network).values == [1, 0]


def test_a_free_that_was_cancelled_has_freed_wholly_or_can_be_called_again(network):
    """The memory is given back in any case: no second window would fit."""

    async def main(ep, after, whole):
        x = await Extended.attach(ep)
        team = x if whole else await x.split(min(ep.rank, 1))
        await windows.attach(x)
        if team.size == 1:
            return None
        size = ep.segment.nbytes * 5 // 8
        win = await Win.Allocate(size, comm=team)
        await win.Fence()
        if ep.rank == 1:
            while True:
                with trio.move_on_after(after) as scope:
                    await win.Free()
                if not scope.cancelled_caught:
                    break
                after += 1e-6
        else:
            await win.Free()
        again = await Win.Allocate(size, comm=team)
        await again.Free()
        return repr(win)

    for tenths in range(0, 300, 23):
        values = conduit.run(main, tenths * 1e-7, tenths % 2 == 0, ranks=3, conduit=network, segment=65536).values
        assert all(value is None or value.endswith("freed>") for value in values)


def test_a_free_follows_a_fence_that_was_given_up(network):
    async def main(ep):
        win = await Win.Allocate(64, comm=await Extended.attach(ep))
        await win.Fence()
        if ep.rank == 0:
            await _give_up_a_fence(win, 5e-4)
        else:
            await ep.compute(1e-3)
            await win.Fence()
        await win.Free()

    conduit.run(main, conduit=network)


def test_accesses_that_a_cancelled_fence_has_not_told_of_are_told_by_the_next(network):
    """Rank 0 tells rank 1, then is cancelled as it tells rank 2 of a Put that conflicts with one of rank 1."""

    async def main(ep, after):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        await win.Fence()
        if ep.rank < 2:
            for target in (1, 2)[ep.rank :]:
                await win.Put(np.full(1, ep.rank), target)
        await ep.compute(1e-4)
        with trio.move_on_after(after if ep.rank == 0 else np.inf) as scope:
            await win.Fence()
        if scope.cancelled_caught:
            await win.Fence()
        await win.Free()

    for tenths in _moments(network, 300, 7):
        with pytest.raises(windows.WindowError, match=r"(?m)win\.Put at .* of rank [01], bytes 0 to 7 conflicts with"):
            conduit.run(main, tenths * 1e-7, ranks=3, conduit=network)


def test_who_only_serves_windows_is_not_told_to_do_so():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank:
            await windows.attach(x)
        team = await x.split(ep.rank)
        await Win.Allocate(8, comm=team)

    with pytest.raises(conduit.Deadlock) as caught:
        conduit.run(main, ranks=2, conduit="loggp")
    told = str(caught.value)
    assert "it is in windows.attach, which all ranks must come to, or make their first window in its place" in told
    assert "it makes the first window" not in told
