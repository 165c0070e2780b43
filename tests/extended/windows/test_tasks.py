"""Two tasks of a rank on one window: what one begins while the other synchronises is neither lost nor refused."""

import contextlib
import re

import numpy as np
import pytest
import trio

import conduit
from extended import Extended, windows
from extended.windows import Win

SLOW = "loggp:slots=1,max_medium=512,max_long=512"


async def _both(*calls):
    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(call)


def test_accesses_of_another_task_while_a_fence_tells_are_told_by_the_next():
    """Rank 0 puts to rank 1, fences, and meanwhile puts to rank 2, where rank 1 puts after the same Fence."""

    async def main(ep, after):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        await win.Fence()
        if ep.rank == 0:

            async def later():
                await ep.compute(after)
                await win.Put(np.full(1, 7), 2)

            await win.Put(np.full(1, 5), 1)
            await _both(win.Fence, later)
        else:
            await win.Fence()
            if ep.rank == 1:
                await win.Put(np.full(1, 8), 2)
        await win.Fence()
        return int(np.frombuffer(win.tomemory(), "i8")[0])

    for tenths in range(5, 200, 7):
        told = rf"win\.Put at {__file__}:\d+ of rank [01], bytes 0 to 7 conflicts with"
        with pytest.raises(windows.WindowError, match=told):
            conduit.run(main, tenths * 1e-7, ranks=3, conduit="loggp")


@pytest.mark.parametrize("network", [SLOW, "loggp:order=weak", "t3e"])
def test_what_another_task_puts_while_a_fence_waits_is_complete_at_the_next(network):
    async def main(ep, after):
        win = await Win.Allocate(8192, 8, comm=await Extended.attach(ep))
        await win.Fence()

        async def later():
            await ep.compute(after)
            await win.Put(np.full(500, ep.rank + 1), 1 - ep.rank, target=500)

        await win.Put(np.full(200, 9), 1 - ep.rank)
        await _both(win.Fence, later)
        await win.Fence()
        found = np.frombuffer(win.tomemory(), "i8").copy()
        await win.Free()
        return set(found[:200]), set(found[500:1000])

    for tenths in range(0, 1500, 67):
        assert conduit.run(main, tenths * 1e-7, ranks=2, conduit=network).values == [({9}, {2}), ({9}, {1})]


def test_what_another_task_puts_while_a_flush_waits_is_left_to_the_next():
    """Its target forgets it at the next flush, so that another rank's Put of the same bytes is no conflict."""

    async def main(ep, after):
        x = await Extended.attach(ep)
        win = await Win.Allocate(8192, 8, comm=x)
        await win.Lock_all()
        if ep.rank == 0:

            async def later():
                await ep.compute(after)
                await win.Put(np.full(100, 1), 2, target=500)

            async def flush():
                await win.Flush(2)

            await win.Put(np.full(200, 9), 2)
            await _both(flush, later)
            await win.Flush(2)
        await x.barrier()
        if ep.rank == 1:
            await win.Put(np.full(100, 2), 2, target=500)
        await win.Unlock_all()
        await x.barrier()
        found = np.frombuffer(win.tomemory(), "i8")
        result = set(found[:200]), set(found[500:600])
        await win.Free()
        return result

    for tenths in range(0, 1500, 67):
        assert conduit.run(main, tenths * 1e-7, ranks=3, conduit=SLOW).values[2] == ({9}, {2})


def test_accesses_of_another_task_while_a_complete_tells():
    async def main(ep, after):
        win = await Win.Allocate(64, 8, comm=await Extended.attach(ep))
        if ep.rank:
            await win.Post([0])
            await win.Wait()
        else:
            await win.Start([1, 2])

            async def later():
                await ep.compute(after)
                with contextlib.suppress(windows.WindowError):  # it may be too late
                    await win.Put(np.full(1, 7), 2)

            await win.Put(np.full(1, 5), 1)
            await _both(win.Complete, later)
        found = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return found

    for tenths in range(0, 200, 7):
        assert conduit.run(main, tenths * 1e-7, ranks=3, conduit="loggp").values[1] == 5


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            "win.Fence()",
            r"\Awin\.Fence: this rank is in a barrier of the team of ranks 0-1 already, in another task, at ",
        ),
        (
            "Win.Allocate(64, comm=x)",
            r"\AWin\.Allocate: another task of this rank is in such a call; let one task do it\Z",
        ),
    ],
)
def test_a_call_of_all_that_two_tasks_make_at_once_is_refused_by_its_name(call, words):
    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, comm=x)
        assert win
        refused = []

        async def make():
            try:
                await eval(call, {"win": win, "Win": Win, "x": x})
            except conduit.BadRequest as error:
                refused.append(str(error))

        await _both(make, make)
        return refused[0]

    for said in conduit.run(main, conduit="loggp").values:
        assert re.search(words, said)
