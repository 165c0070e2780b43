"""Random programs of puts, gets, atomics, fences and waits against a model of all memories, on each network."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extended import shmem

NETWORKS = ["loggp:order=weak", "sci", "startx", "sunfire", "udp", "origin:order=weak", "t3e:order=weak"]
ROOM = 8
OPS = ["add", "xor", "or", "and", "inc", "set"]
APPLY = {
    "add": np.add,
    "xor": np.bitwise_xor,
    "or": np.bitwise_or,
    "and": np.bitwise_and,
    "inc": lambda old, _: old + old.dtype.type(1),
    "set": lambda _, value: value,
}


@st.composite
def programs(draw):
    pes = draw(st.integers(1, 4))
    place = st.integers(0, ROOM - 1)
    step = st.tuples(
        st.sampled_from(["put", "put_nbi", "iput", "get", "get_nbi", "iget", "signal", "amo"]),
        st.integers(0, pes - 1),  # who receives
        place,
        st.integers(1, ROOM),
        st.integers(1, 3),
        st.integers(1, 3),
        st.sampled_from(OPS),
        st.integers(0, 1000),
    )
    return pes, draw(st.sampled_from(["i4", "u8", "i8"])), draw(st.lists(step, max_size=12))


def model(pes, dtype, steps):
    """Give what the programs see: one PE after the other does all steps on its own row of everybody's memory."""
    memory = np.zeros((pes, pes, ROOM), dtype)  # owner, writer, place
    signals = np.zeros((pes, pes), "u8")
    seen = []
    for me in range(pes):
        found = []
        for kind, pe, start, count, tst, sst, op, value in steps:
            row, data = memory[pe, me], np.arange(value, value + ROOM).astype(dtype) + dtype_of(dtype)(me)
            count = min(count, ROOM - start)
            if kind in ("put", "put_nbi", "signal"):
                row[start : start + count] = data[:count]
                signals[pe, me] += kind == "signal"
            elif kind == "iput":
                many = min(len(row[start::tst]), len(data[::sst]))
                row[start::tst][:many] = data[::sst][:many]
            elif kind in ("get", "get_nbi"):
                found.append(row[start : start + count].tolist())
            elif kind == "iget":
                out = np.full(ROOM, -1).astype(dtype)
                many = min(len(out[::tst]), len(row[start::sst]))
                out[::tst][:many] = row[start::sst][:many]
                found.append(out.tolist())
            else:
                found.append(int(row[start]))
                row[start] = APPLY[op](row[start], dtype_of(dtype)(value))
        seen.append(found)
    return seen, memory, signals


def dtype_of(name):
    return np.dtype(name).type


async def program(pe, dtype, steps):
    me, pes = pe.my_pe(), pe.n_pes()
    memory = await pe.zeros((pes, ROOM), dtype)  # a row for each writer
    signals = await pe.zeros(pes, "u8")
    found = []
    for kind, dest, start, count, tst, sst, op, value in steps:
        row, data = memory[me], np.arange(value, value + ROOM).astype(dtype) + dtype_of(dtype)(me)
        if kind in ("put", "put_nbi"):
            await getattr(pe, kind)(row[start:], data, dest, min(count, ROOM - start))
            if kind == "put":
                data[:] = 77  # which may be changed
        elif kind == "signal":
            await pe.fence()
            await pe.put_signal(
                row[start:], data, dest, signals[me : me + 1], 1, pe.SIGNAL_ADD, min(count, ROOM - start)
            )
        elif kind == "iput":
            await pe.fence()
            await pe.iput(row[start:], data, dest, tst, sst)
        elif kind == "amo":
            await pe.quiet()
            found.append(await pe.atomic_fetch_op(row[start : start + 1], value, op, dest))
        else:
            await pe.quiet()
            out = np.full(ROOM, -1).astype(dtype)
            if kind == "iget":
                await pe.iget(out, row[start:], dest, tst, sst)
            else:
                out = out[: min(count, ROOM - start)]
                await getattr(pe, kind)(out, row[start:], dest)
            await pe.quiet()
            found.append(out.tolist())
        await pe.fence()
    await pe.barrier_all()
    return found, memory.copy(), signals.copy()


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
@settings(max_examples=12)
@given(programs())
def test_memory_is_what_the_model_says(network, case):
    pes, dtype, steps = case
    seen, memory, signals = model(*case)
    for me, (found, mine, told) in enumerate(shmem.run(program, dtype, steps, pes=pes, conduit=network).values):
        assert found == seen[me]
        np.testing.assert_array_equal(mine, memory[me])
        np.testing.assert_array_equal(told, signals[me])
