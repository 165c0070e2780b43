"""Handles of operations: any iterable of them can be waited for, and nothing else."""

import re
import warnings

import numpy as np
import pytest
import trio

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


@pytest.mark.parametrize("spec", ["sci", "origin"])
def test_what_was_cancelled_before_it_began_is_not_warned_of_nor_counted(spec):
    async def main(ep):
        x = await Extended.attach(ep)
        there = 1 - ep.rank
        for begin in (lambda: x.put_nbi(there, 0, b"a" * 20), lambda: x.get_nbi(there, 0, out=bytearray(20))):
            with trio.CancelScope() as scope:
                scope.cancel()
                await begin()
            assert scope.cancelled_caught
        async with x.access_region() as region:
            with trio.CancelScope() as scope:
                scope.cancel()
                await x.put_nbi(there, 0, b"a" * 20)
        await region.handle
        return region.handle.messages

    result = conduit.run(main, ranks=2, conduit=spec)
    assert (result.values, result.warnings) == ([0, 0], [[], []])


@pytest.mark.parametrize("before", [False, True])
def test_what_began_beside_a_cancelled_operation_is_warned_of(before):
    async def main(ep):
        x = await Extended.attach(ep)
        if before:
            await x.put_nbi(1 - ep.rank, 0, b"a")
        with trio.CancelScope() as scope:
            scope.cancel()
            await x.put_nbi(1 - ep.rank, 0, b"b")
        if not before:
            await x.put_nbi(1 - ep.rank, 0, b"a")
        await x.barrier()

    first = main.__code__.co_firstlineno + (3 if before else 8)
    said = rf"implicit puts, the first by put_nbi at {__file__}:{first}, never waited for"
    with pytest.warns(conduit.ConduitWarning, match=said):
        conduit.run(main, ranks=2)


async def region_of_a_put(x):
    async with x.access_region() as region:
        await x.put_nbi(1 - x.rank, 0, bytes(700))
    return region.handle


BEGIN = {"put_nb": lambda x: x.put_nb(1 - x.rank, 0, bytes(700)), "access_region": region_of_a_put}
CUT = {
    "await": lambda x, handle: handle,
    "wait_all": lambda x, handle: x.wait_all([handle]),
    "wait_some": lambda x, handle: x.wait_some([handle]),
}


@pytest.mark.parametrize("begin", BEGIN)
@pytest.mark.parametrize("wait", CUT)
@pytest.mark.parametrize("synced", [True, False])
def test_a_wait_that_was_cancelled_is_ended_by_a_sync(begin, wait, synced):
    async def main(ep):
        x = await Extended.attach(ep)
        handle = await BEGIN[begin](x)
        with trio.CancelScope() as scope:
            scope.cancel()
            await CUT[wait](x, handle)
        assert scope.cancelled_caught
        if synced:
            await x.sync()
        await x.barrier()

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        conduit.run(main, ranks=2)
    assert ["never waited for" in str(each.message) for each in told] == ([] if synced else [True])


@pytest.mark.parametrize("call", ["wait_all", "wait_some"])
def test_an_array_of_no_dimensions_is_no_list_of_handles(call):
    async def main(ep):
        x = await Extended.attach(ep)
        await getattr(x, call)(np.array(3))

    said = f"{call}: handles is a ndarray; give a list of handles"
    with pytest.raises(conduit.BadRequest, match=rf"^{re.escape(said)}\n"):
        conduit.run(main, ranks=1, conduit="loggp")
