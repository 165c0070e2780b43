"""Puts, gets and fences, on memory of every kind."""

import numpy as np
import pytest

import conduit
from extended import Extended
from extended.windows import Win


async def ring(ep, kind, checks):
    """Put to the right and get it back from there."""
    x = await Extended.attach(ep)
    if kind == "allocate":
        win = await Win.Allocate(80, 8, comm=x, checks=checks)
    else:
        memory = ep.segment[800:880].view("f8") if kind == "segment" else np.zeros(10)
        win = await Win.Create(memory, 8, comm=x, checks=checks)
    mine, right = np.frombuffer(win.tomemory(), "f8"), (ep.rank + 1) % ep.size
    await win.Fence()
    await win.Put(np.full(5, ep.rank + 1.0), right, 2)
    await win.Fence()
    out = np.zeros(5)
    await win.Get(out, right, 2)
    await win.Fence()
    found = mine.tolist(), out.tolist()
    await win.Free()
    return found


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("kind", ["allocate", "segment", "elsewhere"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_a_put_lands_and_a_get_brings_it_back(network, kind, checks, ranks):
    values = conduit.run(ring, kind, checks, ranks=ranks, conduit=network).values
    for rank, (mine, out) in enumerate(values):
        assert mine == [0, 0, *[(rank - 1) % ranks + 1] * 5, 0, 0, 0]
        assert out == [rank + 1] * 5


# sh.*.mpi2.get_fence16, microseconds
@pytest.mark.parametrize(("machine", "anchor"), [("origin", 45.1), ("t3e", 35.3)])
def test_a_get_and_its_fence_take_what_their_anchor_says(machine, anchor):
    async def main(ep):
        win = await Win.Allocate(80, 8, comm=await Extended.attach(ep), checks=False)
        for _ in range(3):
            await win.Fence()
        begin = ep.now
        await win.Get(np.zeros(1), (ep.rank - 1) % ep.size)
        await win.Fence()
        return (ep.now - begin) * 1e6

    found = conduit.run(main, ranks=16, conduit=machine).values
    assert sum(found) / len(found) == pytest.approx(anchor, rel=0.01)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_is_as_any_array():
    """All views of it have two dimensions."""

    async def main(ep):
        x = await Extended.attach(ep)
        memory, out = np.matrix(np.zeros((2, 4))), np.matrix(np.zeros((1, 3)))
        win = await Win.Create(memory, 8, comm=x)
        await win.Fence()
        await win.Put([np.matrix([[1.0, 2.0, 3.0, 4.0]]), 2], 1 - ep.rank, 3)
        await win.Fence()
        await win.Get(out, 1 - ep.rank, 2)
        await win.Fence()
        await win.Free()
        return memory.tolist(), out.tolist()

    assert conduit.run(main, conduit="loggp").values[0] == ([[0, 0, 0, 1], [2, 0, 0, 0]], [[0, 1, 2]])


@pytest.mark.parametrize("machine", ["origin", "t3e"])
def test_mpi_adds_as_much_to_an_accumulate_as_to_a_get(machine):
    """They are calls of one library, and by themselves one operation of the machine each."""

    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(80, 8, comm=x, checks=False)
        word, one, there = np.zeros(1, "i8"), np.ones(1, "i8"), win.Get_group().size - 1
        if ep.rank:
            return await win.Free()
        await win.Lock(there)

        async def taken(call):
            begun = ep.now
            await call
            return ep.now - begun

        atomic = x.atomic("i8")
        added = [
            await taken(win.Get(word, there)) - await taken(x.get(there, 0, out=word)),
            await taken(win.Fetch_and_op(one, word, there)) - await taken(atomic.fetch_add(there, 72, 1)),
            await taken(win.Get_accumulate(one, word, there)) - await taken(atomic.fetch_add(there, 72, 1)),
            await taken(win.Accumulate(one, there)) - await taken(atomic.add(there, 72, 1)),
            await taken(win.Compare_and_swap(one, one, word, there))
            - await taken(atomic.compare_swap(there, 72, 1, 1)),
        ]
        await win.Unlock(there)
        await win.Free()
        return added

    added = conduit.run(main, conduit=machine).values[0]
    assert added[0] > 1.8e-6
    assert added == pytest.approx([added[0]] * len(added), abs=0.05e-6)
