"""Which accesses within one epoch conflict, of one rank and of several, and what keeps them apart."""

import re
from itertools import product

import numpy as np
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

import conduit
from extended import Extended
from extended.windows import LOCK_SHARED, MAX, NO_OP, SUM, Win, WindowError
from extended.windows.calls import Call
from extended.windows.operators import MAX as MAX_OP
from extended.windows.records import GET, PUT, Accesses, AccessRecord, packed, unpacked

AT = rf"at {re.escape(__file__)}:\d+"
ACCESSES = ["put", "get", "sum", "max", "get_sum", "get_no_op", "fetch_sum", "fetch_no_op", "swap"]
OPERATION = {
    "sum": "SUM", "max": "MAX", "get_sum": "SUM", "get_no_op": "NO_OP", "fetch_sum": "SUM", "fetch_no_op": "NO_OP",
    "swap": "swap",
}  # fmt: skip


def forbidden(first, second):
    """MPI's rule: a put beside anything, an accumulate beside what is none of the same operation or NO_OP."""
    if "put" in (first, second):
        return True
    ops = {OPERATION.get(first), OPERATION.get(second)}
    if None in ops:
        return len(ops) == 2  # a get beside an accumulate; two gets are none
    return len(ops) == 2 and "NO_OP" not in ops


async def access(win, name, rank, disp=0):
    one, other, out = np.ones(1, "i8"), np.ones(1, "i8"), np.zeros(1, "i8")
    calls = {
        "put": lambda: win.Put(one, rank, disp),
        "get": lambda: win.Get(out, rank, disp),
        "sum": lambda: win.Accumulate(one, rank, disp),
        "max": lambda: win.Accumulate(one, rank, disp, MAX),
        "get_sum": lambda: win.Get_accumulate(one, out, rank, disp, SUM),
        "get_no_op": lambda: win.Get_accumulate(None, out, rank, disp, NO_OP),
        "fetch_sum": lambda: win.Fetch_and_op(one, out, rank, disp, SUM),
        "fetch_no_op": lambda: win.Fetch_and_op(None, out, rank, disp, NO_OP),
        "swap": lambda: win.Compare_and_swap(one, other, out, rank, disp),
    }
    await calls[name]()


async def made(ep, **options):
    return await Win.Allocate(64, 8, comm=await Extended.attach(ep), **options)


@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_those_of_one_rank(network):
    async def main(ep):
        win = await made(ep)
        for first, second in product(ACCESSES, repeat=2):
            await win.Fence()
            await access(win, first, 0)
            if forbidden(first, second):
                with pytest.raises(WindowError, match=rf" {AT}.* of rank 0, bytes 0 to 7 conflicts with win\.\w+ {AT}"):
                    await access(win, second, 0)
            else:
                await access(win, second, 0)
            await access(win, second, 0, 1)  # beside it
            await win.Fence()
        await win.Free()

    conduit.run(main, ranks=1, conduit=network)


async def fences(win, ep, name):
    await win.Fence()
    if name:
        await access(win, name, 0)
    await win.Fence()


async def starts(win, ep, name):
    if ep.rank == 0:
        await win.Post([1, 2])
        await win.Wait()
    else:
        await win.Start([0])
        await access(win, name, 0)
        await win.Complete()


async def locks(win, ep, name):
    if ep.rank:
        await win.Lock(0, LOCK_SHARED)
        await access(win, name, 0)
        await ep.compute(1e-3)
        await win.Unlock(0)


async def all_locks(win, ep, name):
    if ep.rank:
        await win.Lock_all()
        await access(win, name, 0)
        await ep.compute(1e-3)
        await win.Unlock_all()


SYNCS = [fences, starts, locks, all_locks]


async def together(ep, sync, pairs):
    """Rank 1 makes the first access of each pair, rank 2 the second."""
    x = await Extended.attach(ep)
    win = await Win.Allocate(64, 8, comm=x)
    for pair in pairs:
        await sync(win, ep, ("", *pair)[ep.rank])
        await x.barrier()
    await win.Free()


PAIRS = [(first, second) for number, first in enumerate(ACCESSES) for second in ACCESSES[number:]]


@pytest.mark.parametrize("sync", SYNCS)
def test_those_of_two_ranks_end_the_job(sync):
    for pair in PAIRS:
        if forbidden(*pair):
            one = rf"win\.\w+ {AT}.* of rank [12], bytes 0 to 7"
            both = rf"^{one} conflicts with {one}: both are to the window of rank 0"
            with pytest.raises(WindowError, match=both) as caught:
                conduit.run(together, sync, [pair], ranks=3, conduit="loggp")
            assert any("rank 0" in note for note in caught.value.__notes__)  # who sees it


@pytest.mark.parametrize("sync", SYNCS)
def test_what_does_not_conflict_goes_on(network, sync):
    conduit.run(together, sync, [pair for pair in PAIRS if not forbidden(*pair)], ranks=3, conduit=network)


@pytest.mark.parametrize("sync", SYNCS)
def test_two_puts_conflict_on_each_network(network, sync):
    with pytest.raises(WindowError, match=r"conflicts with win\.Put .* to the window of rank 0 in .*; let a sync"):
        conduit.run(together, sync, [("put", "put")], ranks=3, conduit=network)


def test_the_text_names_both_lines_and_operations():
    async def main(ep):
        win = await made(ep)
        await win.Fence()
        await win.Accumulate(np.ones(2, "i8"), 0, 0, MAX)
        await win.Accumulate(np.ones(2, "i8"), 0, 1, SUM)

    with pytest.raises(WindowError) as caught:
        conduit.run(main, ranks=1, conduit="loggp")
    line = main.__code__.co_firstlineno
    assert str(caught.value).splitlines()[0] == (
        f"win.Accumulate at {__file__}:{line + 4} (op=SUM) of rank 0, bytes 8 to 23 conflicts with win.Accumulate at "
        f"{__file__}:{line + 3} (op=MAX) of rank 0, bytes 0 to 15: both are to the window of rank 0 in one epoch "
        "between two fences; let a synchronisation come between them, or use accumulates of one operation"
    )


def test_accumulates_of_two_types_conflict():
    """Of one rank and of two, whatever they do; reads by NO_OP alone do not."""

    async def main(ep, same):
        win = await made(ep)
        await win.Fence()
        if ep.rank == 1 or same:
            await win.Accumulate(np.ones(1, "i8"), 0)
        if ep.rank == 0:
            await win.Accumulate(np.ones(1, "f8"), 0)
        await win.Fence()

    line = main.__code__.co_firstlineno
    for same, first, other in ((True, ("float64", 0, 6), ("int64", 0, 4)), (False, ("int64", 1, 4), ("float64", 0, 6))):
        with pytest.raises(WindowError) as caught:
            conduit.run(main, same, ranks=1 if same else 2, conduit="loggp")
        texts = [
            f"win.Accumulate at {__file__}:{line + at} (op=SUM, dtype {dtype}) of rank {rank}, bytes 0 to 7"
            for dtype, rank, at in (first, other)
        ]
        told = [
            f"{one} conflicts with {two}: both are to the window of rank 0 in one epoch between two fences; let a "
            "synchronisation come between them, or use accumulates of one dtype"
            for one, two in (texts, texts[::-1])
        ]
        assert str(caught.value).splitlines()[0] in told


def test_reads_of_two_types_do_not_conflict_but_beside_an_accumulate():
    async def main(ep):
        win = await made(ep)
        await win.Fence()
        await win.Get_accumulate(None, np.zeros(1, "i8"), 0, op=NO_OP)
        await win.Get_accumulate(None, np.zeros(1, "f8"), 0, op=NO_OP)
        with pytest.raises(WindowError, match=r"\(op=SUM, dtype int32\) .* \(op=NO_OP, dtype int64\) of rank 0"):
            await win.Accumulate(np.ones(1, "i4"), 0)
        with pytest.raises(WindowError, match=r"Compare_and_swap at .*:\d+ \(dtype int32\) of rank 0"):
            await win.Compare_and_swap(*np.zeros((3, 1), "i4"), 0)
        await win.Fence()
        await win.Free()

    conduit.run(main, ranks=1, conduit="loggp")


def test_a_flush_keeps_accesses_apart(network):
    """Of one rank, and of two that hold the lock together, where a message tells that the flush is over."""
    heard = {}

    def go(token):
        heard[token.ep.rank] = True

    async def main(ep):
        await ep.attach(go)
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x)
        await win.Lock(0, LOCK_SHARED)
        if ep.rank == 1:
            await access(win, "put", 0)
            await win.Flush(0)
            await access(win, "put", 0)
            await win.Flush_all()
            await ep.request_short(2, go)
            await ep.block_until(lambda: 1 in heard)
        if ep.rank == 2:
            await ep.block_until(lambda: 2 in heard)
            await access(win, "get", 0)
            await access(win, "get", 0)
            await win.Flush(0)
            await ep.request_short(1, go)
        await win.Unlock(0)
        await win.Free()

    conduit.run(main, ranks=3, conduit=network)


@pytest.mark.parametrize("call", ["Flush_local(0)", "Flush_local_all()", "Sync()"])
def test_a_local_flush_does_not(call):
    async def main(ep):
        win = await made(ep)
        await win.Lock(0)
        await access(win, "put", 0)
        await eval(f"win.{call}")
        await access(win, "put", 0)

    with pytest.raises(WindowError, match=r"conflicts with .* in one epoch of a lock"):
        conduit.run(main, ranks=1, conduit="loggp")


def test_exclusive_locks_keep_ranks_apart(network):
    async def main(ep):
        win = await made(ep)
        await win.Lock(0)
        await access(win, "put", 0)
        await win.Unlock(0)
        await win.Free()

    conduit.run(main, ranks=4, conduit=network)


def test_many_accesses_by_one_line_are_told_apart():
    async def main(ep):
        win = await Win.Allocate(8000, 8, comm=await Extended.attach(ep))
        await win.Fence()
        for disp in range(1000):
            await access(win, "put", 0, disp)
        for disp in (0, 499, 999):
            with pytest.raises(WindowError, match="conflicts"):
                await access(win, "get", 0, disp)
        await win.Fence()
        await win.Free()

    conduit.run(main, ranks=1, conduit="loggp")


def test_an_access_of_the_same_line_stays_known_where_the_one_before_it_is_cancelled():
    """Rank 0's second put is joined to its first one, which has not begun; rank 2 puts to the same place."""

    async def main(ep):
        win = await Win.Create(np.zeros(8), 8, comm=await Extended.attach(ep))
        scopes = [trio.CancelScope(), trio.CancelScope()]

        async def put(place):
            with scopes[place]:
                await win.Put(np.ones(1), 1, place)

        await win.Fence()
        if ep.rank == 0:
            await win.Put(np.ones(1), 1, 6)  # takes the only slot
            async with trio.open_nursery() as nursery:
                nursery.start_soon(put, 0)
                await ep.poll()
                nursery.start_soon(put, 1)
                await ep.poll()
                scopes[0].cancel()
            assert scopes[0].cancelled_caught
        elif ep.rank == 2:
            await win.Put(np.ones(1), 1, 1)
        await win.Fence()

    with pytest.raises(WindowError, match=r"bytes 8 to 15 conflicts with .* bytes 8 to 15: both are to the window"):
        conduit.run(main, ranks=3, conduit="loggp:slots=1")


def test_an_access_that_was_cancelled_before_it_began_is_none():
    async def main(ep):
        win = await made(ep)
        await win.Fence()
        with trio.CancelScope() as scope:
            scope.cancel()
            await access(win, "put", 0)
        assert scope.cancelled_caught
        await access(win, "put", 0)
        await win.Fence()
        await win.Free()

    conduit.run(main, ranks=1, conduit="loggp")


# ------------------------------------------------------------------------------------------------- what is remembered

RECORDS = st.lists(
    st.tuples(
        st.sampled_from([PUT, GET, SUM.code, MAX_OP.code, NO_OP.code]), st.integers(0, 30), st.integers(0, 12),
        st.integers(0, 2), st.integers(0, 1), st.booleans(),
    ),
    max_size=30,
)  # fmt: skip


@given(RECORDS)
def test_accesses_are_found_as_if_all_were_looked_at(steps):
    accesses, all_of_them = Accesses(), []
    for what, start, count, line, rank, undone in steps:
        new = AccessRecord(Call("win.Put", "f.py", line), rank, what, start, start + count)
        found = accesses.conflict(new)
        others = [
            one for one in all_of_them if one.start < new.stop and new.start < one.stop and one.conflicts(new) and count
        ]
        assert (found is not None) == bool(others)
        if found is None and count:
            undo = accesses.add(AccessRecord(new.call, rank, what, new.start, new.stop))
            if undone:
                undo()
            else:
                all_of_them.append(new)
    before = len(all_of_them)
    accesses.forget(1)
    kept = [one for one in all_of_them if one.rank != 1]
    assert sum(one.stop - one.start for one in accesses) == sum(one.stop - one.start for one in kept) or before == 0


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1 << 40), st.text(max_size=300), st.integers(0, 9999))))
def test_accesses_travel_whole(steps):
    names = ["win.Put", "win.Get", "win.Accumulate", "win.Get_accumulate", "win.Fetch_and_op", "win.Compare_and_swap"]
    records = [
        AccessRecord(
            Call(names[n], file, line), 3, (PUT, GET, 0, 1, NO_OP.code, 12)[n], start, start + 1, line % 16 * (n > 1)
        )
        for n, start, file, line in steps
    ]
    messages = list(packed(records, 300))
    assert all(len(message) <= 300 for message in messages)
    found = [record for message in messages for record in unpacked(memoryview(message), 3)]
    assert [(r.call.name, r.call.line, r.what, r.kind, r.start, r.stop, r.rank) for r in found] == [
        (r.call.name, r.call.line, r.what, r.kind, r.start, r.stop, 3) for r in records
    ]
    assert all(r.call.file.endswith(f.call.file) for r, f in zip(records, found, strict=True))
