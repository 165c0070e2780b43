"""A call of all threads in which one of them is cancelled: all are told, and nobody waits for ever."""

import re

import numpy as np
import pytest
import trio

import conduit
from extended import upc

CALLS = {
    "t.all_broadcast": lambda t, a, b: t.all_broadcast(b, (a, 0), 8),
    "t.all_scatter": lambda t, a, b: t.all_scatter(b, (a, 0), 8),
    "t.all_gather": lambda t, a, b: t.all_gather((b, 0), a, 8),
    "t.all_gather_all": lambda t, a, b: t.all_gather_all(b, a, 8),
    "t.all_exchange": lambda t, a, b: t.all_exchange(b, a, 8),
    "t.all_permute": lambda t, a, b: t.all_permute(b, a, [1, 2, 0], 8),
    "t.all_reduce": lambda t, a, b: t.all_reduce((b, 0), a),
    "t.all_prefix_reduce": lambda t, a, b: t.all_prefix_reduce(b, a),
    "t.all_sort": lambda t, a, b: t.all_sort(a),
    "a.gather_to": lambda t, a, b: a.gather_to(0),
}


async def arrays(t):
    a, b = await t.all_alloc(12, dtype="i8", block=4), await t.all_alloc(12, dtype="i8", block=4)
    a.local[:] = np.arange(4) * 7 % 5 + t.MYTHREAD
    return a, b


@pytest.mark.parametrize("then", ["t.barrier", "t.notify", "again"])
@pytest.mark.parametrize("call", CALLS)
def test_what_comes_next_says_what_was_cancelled(call, then):
    """Cancelled in its first barrier: `t.wait`, which would end that, would lead to a place where nobody is."""

    async def main(t):
        a, b = await arrays(t)
        if t.MYTHREAD == 0:
            with trio.move_on_after(2e-4) as scope:
                await CALLS[call](t, a, b)
            assert scope.cancelled_caught
            await {"t.barrier": t.barrier, "t.notify": t.notify, "again": lambda: CALLS[call](t, a, b)}[then]()
        await t.ep.compute(1e-3)
        await CALLS[call](t, a, b)

    name = call if then == "again" else then
    said = f"{name}: this team is broken: {call} was cancelled on thread 0 of the job at {re.escape(__file__)}:"
    advice = "and the threads no longer agree on what comes next; do not cancel calls that all threads make together"
    with pytest.raises(conduit.BadRequest, match=f"(?m)^{said}[0-9]+, {advice}$"):
        upc.run(main, threads=3, conduit="loggp")


def test_other_threads_are_told_the_line_that_was_cancelled():
    async def main(t):
        a = await t.all_alloc(4, dtype="i8", block=1)
        if t.MYTHREAD == 1:
            with trio.move_on_after(1e-7):
                await t.all_sort(a)
            await t.ep.compute(1e-2)
        await t.all_sort(a)

    line = f"{re.escape(__file__)}:{main.__code__.co_firstlineno + 4}"
    with pytest.raises(conduit.ConduitError, match=f"t.all_sort was cancelled on thread 1 of the job at {line}, and"):
        upc.run(main, threads=3, conduit="loggp")


@pytest.mark.parametrize("network", ["loggp", "t3e:rma=am,slots=2"])
@pytest.mark.parametrize("call", CALLS)
def test_nobody_waits_for_a_thread_that_was_cancelled(call, network):
    """It makes the call again: either it had not begun, or all threads are told, in that call or in the next."""

    async def main(t, after):
        a, b = await arrays(t)
        if t.MYTHREAD == 1:
            with trio.move_on_after(after) as scope:
                await CALLS[call](t, a, b)
            if not scope.cancelled_caught:
                await t.barrier()
                return "done"
        try:
            await CALLS[call](t, a, b)
            await t.barrier()
        except conduit.ConduitError as error:
            return f"{type(error).__name__}: {error}"
        return ""

    seen = set()
    for after in range(0, 300, 3):
        values = upc.run(main, after * 1e-6, threads=3, conduit=network).values
        seen.add(values[1] if len(values[1]) < 5 else "told")
        if len(values[1]) > 4:
            assert re.match(
                f"BadRequest: {call}: this team is broken: .*was cancelled on thread 1 of the job", values[1]
            )
            for told in values[::2]:  # of whichever call the news has come to
                words = rf"ConduitError: ({re.escape(call)}(\(.*\))?|t\.barrier): this team is broken: "
                assert re.match(words, told)
                assert "was cancelled on thread 1 of the job" in told
        elif values[1] == "done":
            break
        else:
            assert values[0] == values[2] == ""
    assert seen == {"", "told", "done"}


async def entered(lock, work):
    async with lock:
        await work()


async def called(lock, work):
    await lock.acquire()
    try:
        await work()
    finally:
        await lock.release()


@pytest.mark.parametrize("how", [entered, called])
def test_U17_a_lock_is_released_by_a_thread_that_is_cancelled_too(how):
    """After its writes are complete: the next to have the lock sees them."""
    taken = trio.Event()

    async def main(t):
        lock, a = t.lock("name"), await t.all_alloc(8000, dtype="i8", block=4000)
        if t.MYTHREAD == 0:
            with trio.CancelScope() as scope:

                async def work():
                    taken.set()
                    a[4000:] = 7
                    scope.cancel()
                    await trio.lowlevel.checkpoint()

                await how(lock, work)
            assert scope.cancelled_caught
            await t.barrier()
            return None
        await taken.wait()
        seen = []

        async def look():
            seen.append(set(a.local.tolist()))

        await how(lock, look)
        await t.barrier()
        return seen

    assert upc.run(main, threads=2, conduit="loggp").values == [None, [{7}]]
