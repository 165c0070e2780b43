"""Reports name what a program has written where a thread waits for elements of others."""

import pytest
import trio

import conduit
from extended import upc

CALLS = {
    "a[i]": lambda t, a: a[2:5],
    "a.read": lambda t, a: a.read([4, 5]),
    "a.to_numpy": lambda t, a: a.to_numpy(),
    "a.add_at": lambda t, a: a.add_at([4, 5], 1),
    "t.global_alloc": lambda t, a: t.global_alloc(8),
}


def told(main, *args):
    with pytest.raises(conduit.TimeLimit) as caught:
        upc.run(main, *args, threads=2, conduit="loggp", time_limit=2e-3)
    return str(caught.value)


@pytest.mark.parametrize("name", CALLS)
def test_reports_name_the_call_that_waits_for_elements(name):
    async def main(t):
        a = await t.all_alloc(12, dtype="i8", block=3)
        await t.barrier()
        if t.MYTHREAD == 0:
            await CALLS[name](t, a)
        await trio.sleep(1)  # in which it answers nobody

    assert f" in main: waits for {name}, which rank " in told(main)


@pytest.mark.parametrize("fence", ["barrier", "fence", "notify"])
def test_reports_name_the_writes_that_a_fence_completes(fence):
    async def main(t):
        a = await t.all_alloc(12, dtype="i8", block=3)
        await t.barrier()
        if t.MYTHREAD == 0:
            a[3:6] = 7
            await getattr(t, fence)()
        await trio.sleep(1)  # as above

    assert " in main: waits for a[i] = v, which rank 1 must bring about, since " in told(main)
