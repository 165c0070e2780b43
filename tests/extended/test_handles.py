"""Handles of operations: any iterable of them can be waited for, and nothing else."""

import re

import numpy as np
import pytest

import conduit
from extended import Extended

ITERABLES = {
    "list": list,
    "tuple": tuple,
    "iterator": iter,
    "generator": lambda handles: (handle for handle in handles),
    "values of a dictionary": lambda handles: dict(enumerate(handles)).values(),
    "keys of a dictionary": dict.fromkeys,
    "map": lambda handles: map(lambda handle: handle, handles),
}


@pytest.mark.parametrize("kind", ITERABLES)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_any_iterable_of_handles_is_waited_for_in_its_order(kind, count):
    async def main(ep):
        x = await Extended.attach(ep)
        ep.segment[:40] = np.repeat(np.arange(5, dtype="u1"), 8)
        await x.barrier()
        there = (ep.rank + 1) % ep.size
        handles = [await x.get_nb(there, 8 * which, 8) for which in reversed(range(count))]
        whole = await x.wait_all(ITERABLES[kind](handles))
        done, pending = await x.wait_some(ITERABLES[kind](handles))
        assert all(handle.done for handle in handles)
        return [found.tolist() for found in whole], done == handles, pending

    expected = [[which] * 8 for which in reversed(range(count))]
    assert conduit.run(main, ranks=2).values == [(expected, True, [])] * 2


NO_HANDLES = {
    "a single handle": (
        lambda x, handle: handle,
        "handles is a single handle; give a list, [handle], or `await` it",
    ),
    "a number": (lambda x, handle: 3, "handles is an int; give a list of handles"),
    "a list with a number": (
        lambda x, handle: [handle, 3],
        "handles[1] is an int, no handle; handles come from the _nb calls and from access regions",
    ),
    "a call that was not awaited": (
        lambda x, handle: [x.put_nb(0, 0, b"a")],
        "handles[0] is a coroutine, a call that was not awaited (write `h = await ...`); "
        "handles come from the _nb calls and from access regions",
    ),
}


@pytest.mark.parametrize("call", ["wait_all", "wait_some"])
@pytest.mark.parametrize("what", NO_HANDLES)
def test_anything_else_is_refused(call, what):
    make, said = NO_HANDLES[what]

    async def main(ep):
        x = await Extended.attach(ep)
        handle = await x.put_nb(0, 0, b"a")
        await handle
        handles = make(x, handle)
        with pytest.raises(conduit.BadRequest, match=rf"\A{call}: {re.escape(said)}\Z"):
            getattr(x, call)(handles)
        if what == "a call that was not awaited":
            await (await handles[0])  # else this would be told as well

    conduit.run(main, ranks=1)
