"""Random programs under all kinds of synchronisation against a model of all memories, on each network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from extended import Extended, windows
from extended.windows import Win

ROOM = 6
SHARED = {"SUM": np.add, "BXOR": np.bitwise_xor, "MAX": np.maximum, "BOR": np.bitwise_or}
OWN = {**SHARED, "PROD": np.multiply, "MIN": np.minimum, "REPLACE": lambda old, new: new, "NO_OP": lambda old, new: old}
KINDS = ["Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap", "shared"]


@st.composite
def programs(draw):
    ranks = draw(st.sampled_from([1, 2, 3, 4, 8]))
    step = st.tuples(
        st.sampled_from(KINDS),
        st.integers(0, ranks - 1),
        st.integers(0, ROOM - 1),
        st.integers(1, ROOM),
        st.sampled_from(sorted(OWN)),
        st.integers(0, 100),
    )
    phase = st.tuples(
        st.sampled_from(["fence", "start", "shared", "exclusive", "all"]),
        st.sampled_from(sorted(SHARED)),
        st.sets(st.integers(0, ranks - 1)),
        st.lists(step, max_size=6),
    )
    dtype = draw(st.sampled_from(["i8", "u8", "i4"]))
    return ranks, dtype, draw(st.sampled_from(["allocate", "elsewhere"])), draw(st.lists(phase, max_size=4))


def plan(phases):
    """Say of every step whether it is left out, or comes after a flush, because it conflicts with one before."""
    planned = []
    for sync, shared, targets, steps in phases:
        touched, chosen = {}, []
        for kind, target, start, count, op, value in steps:
            if sync == "start" and target not in targets:
                continue
            stop = start + 1 if kind in ("Fetch_and_op", "Compare_and_swap") else min(start + count, ROOM)
            before = touched.setdefault(target, set())
            flush = kind != "shared" and bool(before & set(range(start, stop)))
            if flush and sync in ("fence", "start"):
                continue
            if flush:
                before.clear()
            if kind != "shared":
                before.update(range(start, stop))
            chosen.append((kind, target, start, stop, shared if kind == "shared" else op, value, flush))
        planned.append((sync, sorted(targets), chosen))
    return planned


def model(ranks, dtype, planned):
    """Give what the programs see: each writer has a row of its own, all add to the last one."""
    memory = np.zeros((ranks, ranks + 1, ROOM), dtype)
    seen = [[] for _ in range(ranks)]
    for _, _, steps in planned:
        for me in range(ranks):
            for kind, target, start, stop, op, value, _ in steps:
                row = memory[target, ranks if kind == "shared" else me]
                data = operands(dtype, me, value, stop - start)
                if kind not in ("Put", "Accumulate", "shared"):
                    seen[me].append(row[start:stop].tolist())
                if kind == "Put":
                    row[start:stop] = data
                elif kind == "Compare_and_swap":
                    row[start] = data[0] if row[start] == value % 3 else row[start]
                elif kind != "Get":
                    row[start:stop] = OWN[op](row[start:stop], data)
    return seen, memory


def operands(dtype, me, value, count):
    return np.arange(value + me, value + me + count).astype(dtype)


async def program(ep, dtype, kind, planned, ranks):
    x = await Extended.attach(ep)
    itemsize = np.dtype(dtype).itemsize
    nbytes = (ranks + 1) * ROOM * itemsize
    if kind == "allocate":
        win = await Win.Allocate(nbytes, itemsize, comm=x)
    else:
        win = await Win.Create(np.zeros(nbytes, "u1"), itemsize, comm=x)
    seen = []
    for sync, targets, steps in planned:
        if sync == "fence":
            await win.Fence()
            await act(win, dtype, ep.rank, steps, seen)
            await win.Fence(windows.MODE_NOSUCCEED)
        elif sync == "start":
            if ep.rank in targets:
                await win.Post(range(ranks))
            await win.Start(targets)
            await act(win, dtype, ep.rank, steps, seen)
            await win.Complete()
            if ep.rank in targets:
                await win.Wait()
        elif sync == "all":
            await win.Lock_all()
            await act(win, dtype, ep.rank, steps, seen)
            await win.Unlock_all()
        else:
            # Locks of different ranks are held together when they are shared: exclusive ones could wait in a circle.
            kinds = {"shared": windows.LOCK_SHARED, "exclusive": windows.LOCK_EXCLUSIVE}
            for target in sorted({target for _, target, *_ in steps}):
                await win.Lock(target, kinds[sync])
                await act(win, dtype, ep.rank, [step for step in steps if step[1] == target], seen)
                await win.Unlock(target)
        await x.barrier()
    memory = np.frombuffer(win.tomemory(), dtype).reshape(ranks + 1, ROOM).copy()
    await win.Free()
    return [found.tolist() for found in seen], memory


async def act(win, dtype, me, steps, seen):
    ranks = win.Get_group().size
    for kind, target, start, stop, op, value, flush in steps:
        if flush:
            await win.Flush(target)
        disp = (ranks if kind == "shared" else me) * ROOM + start
        data, out = operands(dtype, me, value, stop - start), np.zeros(stop - start, dtype)
        if kind in ("Put", "Get"):
            await getattr(win, kind)(data if kind == "Put" else out, target, disp)
        elif kind in ("Accumulate", "shared"):
            await win.Accumulate(data, target, [disp, stop - start], getattr(windows, op))
        elif kind == "Compare_and_swap":
            await win.Compare_and_swap(data, np.array([value % 3], dtype), out, target, disp)
        else:
            await getattr(win, kind)(data, out, target, disp, getattr(windows, op))
        if kind not in ("Put", "Accumulate", "shared"):
            seen.append(out)


@pytest.mark.slow
@settings(max_examples=25)
@given(programs())
def test_memory_is_what_the_model_says(network, case):
    ranks, dtype, kind, phases = case
    planned = plan(phases)
    order = [sorted_by_target(one) for one in planned]
    seen, memory = model(ranks, dtype, order)
    for me, (found, mine) in enumerate(
        conduit.run(program, dtype, kind, order, ranks, ranks=ranks, conduit=network).values
    ):
        assert found == seen[me]
        np.testing.assert_array_equal(mine, memory[me])


def sorted_by_target(phase):
    sync, targets, steps = phase
    return phase if sync in ("fence", "start", "all") else (sync, targets, sorted(steps, key=lambda step: step[1]))
