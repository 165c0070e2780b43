"""Synchronisation, and what is refused around it."""

import numpy as np
import pytest

from conduit import Endpoint
from conduit.conformance.cases import Case
from extended import Extended
from extended.windows import LOCK_EXCLUSIVE, LOCK_SHARED, MODE_NOSUCCEED, Win, WindowError
from extended.windows.conformance.test_accesses import memory, window


@pytest.mark.rule("W6")
@pytest.mark.crowds
def test_fences_complete_what_came_before(case: Case) -> None:
    """Of all ranks, turn after turn; an idle one forbids nothing."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep)
        right = (ep.rank + 1) % ep.size
        for turn in range(3):
            await win.Fence()
            await win.Put(np.full(1, turn * ep.size + ep.rank), right)
            await win.Fence(MODE_NOSUCCEED)
            assert memory(win)[0] == turn * ep.size + (ep.rank - 1) % ep.size
        with pytest.raises(WindowError, match=r"win\.Put at .*: no epoch is open .* closed by win\.Fence at"):
            await win.Put(np.zeros(1, "i8"), right)
        await win.Fence()
        await win.Lock(right, LOCK_SHARED)
        await win.Unlock(right)
        await win.Free()

    case.run(main)


@pytest.mark.rule("W7")
@pytest.mark.crowds
def test_start_and_complete_reach_who_has_posted(case: Case) -> None:
    """The targets are the even ranks; all others and they themselves put to them."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep, 8 * 64)
        targets = win.Get_group().Incl(range(0, ep.size, 2))
        for turn in range(2):
            if ep.rank in targets:
                await win.Post(win.Get_group())
            await win.Start(targets)
            for target in targets:
                await win.Put(np.full(1, turn + 10 * ep.rank), target, ep.rank)
            await win.Complete()
            if ep.rank in targets:
                if turn:
                    while not await win.Test():
                        pass
                else:
                    await win.Wait()
                assert memory(win)[: ep.size].tolist() == [turn + 10 * rank for rank in range(ep.size)]
        await win.Free()

    case.run(main)


@pytest.mark.rule("W8")
@pytest.mark.crowds
@pytest.mark.parametrize("create", [False, True])
def test_who_has_a_lock_alone_has_it_alone(case: Case, create: bool) -> None:
    """A get and a put of the holder make a count that loses nothing, also where ranks share the lock between."""

    async def main(ep: Endpoint) -> int:
        x = await Extended.attach(ep)
        win = await (Win.Create(np.zeros(2, "i8"), 8, comm=x) if create else Win.Allocate(16, 8, comm=x))
        for turn in range(3):
            seen = np.zeros(1, "i8")
            await win.Lock(0, LOCK_EXCLUSIVE if turn < 2 else LOCK_SHARED)
            await win.Get(seen, 0)
            await win.Flush(0)
            if turn < 2:
                await win.Put(seen + 1, 0)
            await win.Unlock(0)
        await x.barrier()
        found = int(memory(win)[0])
        await win.Free()
        return found

    values = case.run(main).values
    assert values[0] == 2 * len(values)


@pytest.mark.rule("W9")
def test_calls_outside_their_epochs_are_refused(case: Case) -> None:
    """Each at its line; the window is as it was, and is freed in the end, once."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep)
        one = np.ones(1, "i8")
        for call in (lambda: win.Put(one, 0), win.Complete, win.Wait, lambda: win.Unlock(0), win.Flush_all, win.Sync):
            with pytest.raises(WindowError, match=rf"win\.\w+ at {__file__}:\d+: "):
                await call()
        await win.Lock(ep.rank)
        for call in (win.Fence, win.Free, win.Lock_all, lambda: win.Lock(ep.rank), lambda: win.Start([0])):
            with pytest.raises(WindowError, match=rf"win\.Lock at {__file__}:\d+"):
                await call()
        await win.Unlock(ep.rank)
        await win.Free()
        for call in (win.Free, win.Fence, lambda: win.Put(one, 0)):
            with pytest.raises(WindowError, match=rf"was freed by win\.Free at {__file__}:\d+"):
                await call()

    case.run(main)


@pytest.mark.rule("W10", "W11")
def test_a_rank_hears_of_its_own_conflicts(case: Case) -> None:
    """At the second call; what overlaps by a byte conflicts, and what touches does not."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep, 64, 1)
        await win.Fence()
        if ep.rank == 0:
            await win.Put(np.zeros(9, "u1"), ep.size - 1)
            await win.Get(np.zeros(1, "i8"), ep.size - 1, 9)
            with pytest.raises(WindowError, match=r"bytes 8 to 15 conflicts with win\.Put .*, bytes 0 to 8"):
                await win.Get(np.zeros(1, "i8"), ep.size - 1, 8)
        await win.Fence()
        await win.Free()

    case.run(main)


@pytest.mark.rule("W10", "W11")
@pytest.mark.ends
@pytest.mark.parametrize("sync", ["fence", "lock"])
def test_the_target_sees_conflicts_of_two_ranks(case: Case, sync: str) -> None:
    """And ends the job."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep)
        await (win.Fence() if sync == "fence" else win.Lock(0, LOCK_SHARED))
        await win.Put(np.zeros(1), 0)
        await ep.compute(1e-3)
        await win.Fence() if sync == "fence" else None
        await (await Extended.attach(ep)).barrier()

    if case.size == 1:
        case = case.with_ranks(2)
    with pytest.raises(WindowError, match=r"win\.Put .* conflicts with win\.Put .* to the window of rank 0"):
        case.run(main)


@pytest.mark.rule("W12")
def test_without_checks_all_goes(case: Case) -> None:
    """As a program that polls its own part for what others put there."""

    async def main(ep: Endpoint) -> None:
        win = await window(ep, checks=False)
        await win.Fence()
        if ep.rank == 0:
            for rank in range(1, ep.size):
                await win.Put(np.ones(1, "i8"), rank)
        else:
            seen = np.zeros(1, "i8")
            while not seen[0]:
                await win.Get(seen, ep.rank)
        await win.Fence()
        await win.Put(np.ones(1, "i8"), ep.rank, 1)
        await win.Put(np.ones(1, "i8"), ep.rank, 1)
        await win.Free()

    case.run(main)
