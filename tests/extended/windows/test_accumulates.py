"""Accumulates of every operation and dtype against numpy, their order, and that they are atomic."""

import numpy as np
import pytest

import conduit
from extended import Extended, windows
from extended.windows import NO_OP, REPLACE, SUM, Win
from extended.windows.operators import DTYPES, OPS

NUMPY = {
    "SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum, "LAND": np.logical_and,
    "LOR": np.logical_or, "LXOR": np.logical_xor, "BAND": np.bitwise_and, "BOR": np.bitwise_or,
    "BXOR": np.bitwise_xor, "REPLACE": lambda old, new: new, "NO_OP": lambda old, new: old,
}  # fmt: skip


@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_every_operation_on_every_dtype(network):
    async def main(ep):
        x = await Extended.attach(ep)
        # So many elements that they take several messages.
        win = await Win.Allocate(32 * 100, 1, comm=x)
        right = (ep.rank + 1) % ep.size
        for dtype in DTYPES:
            given = (np.arange(100) % 5).astype(dtype)
            before = (np.arange(100)[::-1] % 3).astype(dtype)
            for op in OPS:
                if dtype.kind not in op.kinds:
                    with pytest.raises(conduit.BadRequest, match=f"op={op.name} is not for dtype {dtype}; it is for"):
                        await win.Accumulate(given, right, 0, op)
                    continue
                mine = np.frombuffer(win.tomemory(), dtype)[:100]
                expected = NUMPY[op.name](before, given).astype(dtype)
                for call in ("Accumulate", "Get_accumulate"):
                    mine[:] = before
                    out = np.zeros(100, dtype)
                    await win.Fence()
                    if call == "Accumulate":
                        await win.Accumulate(given, right, 0, op)
                    else:
                        await win.Get_accumulate(given, out, right, 0, op)
                    await win.Fence()
                    np.testing.assert_array_equal(mine, expected)
                    if call == "Get_accumulate":
                        np.testing.assert_array_equal(out, before)
        await win.Free()

    conduit.run(main, conduit=network)


@pytest.mark.parametrize("create", [False, True])
def test_those_of_one_rank_are_done_in_order(network, create):
    """MPI orders the accumulates of one rank to one place, and networks in weak order do not."""

    async def main(ep):
        x = await Extended.attach(ep)
        win = await (Win.Create(np.zeros(8, "i4"), 4, comm=x) if create else Win.Allocate(32, 4, comm=x))
        await win.Fence()
        if ep.rank == 0:
            for value in range(20):
                await win.Accumulate(np.full(2, value, "i4"), 1, value % 3, REPLACE)
        await win.Fence()
        found = np.frombuffer(win.tomemory(), "i4")[:4].tolist()
        await win.Free()
        return found

    for seed in range(3):
        assert conduit.run(main, conduit=network, seed=seed).values[1] == [18, 19, 19, 17]


def test_what_one_rank_fetches_is_between_what_it_has_added_before_and_after(network):
    """Additions may change places with one another, and not with one that gives the elements before it."""

    async def main(ep):
        win = await Win.Allocate(32, 4, comm=await Extended.attach(ep))
        found = np.zeros((10, 3), "i4")
        await win.Fence()
        if ep.rank == 0:
            for out in found:
                await win.Accumulate(np.ones(3, "i4"), 1, 1)
                await win.Get_accumulate(np.full(3, 10, "i4"), out, 1, 0)
                await win.Accumulate(np.ones(3, "i4"), 1, 0)
        await win.Fence()
        await win.Free()
        return found.tolist()

    for seed in range(3):
        wanted = [[11 * turn, 12 * turn + 1, 12 * turn + 1] for turn in range(10)]
        assert conduit.run(main, conduit=network, seed=seed).values[0] == wanted


@pytest.mark.parametrize("dtype", ["i8", "f8", "i4", "D"])
def test_all_ranks_add_at_once(network, dtype):
    async def main(ep):
        win = await Win.Allocate(160, 16, comm=await Extended.attach(ep))
        await win.Lock_all()
        for _ in range(3):
            await win.Accumulate(np.full(5, ep.rank + 1, dtype), 0)
        await win.Unlock_all()
        await win.Fence()
        found = np.frombuffer(win.tomemory(), dtype)[:6].tolist()
        await win.Free()
        return found

    assert conduit.run(main, ranks=4, conduit=network).values[0] == [30, 30, 30, 30, 30, 0]


def test_a_swap_is_won_by_one(network):
    async def main(ep):
        win = await Win.Allocate(8, 8, comm=await Extended.attach(ep))
        found = np.full(1, -1, "i8")
        await win.Lock_all()
        await win.Compare_and_swap(np.full(1, ep.rank + 1, "i8"), np.zeros(1, "i8"), found, 0)
        await win.Flush(0)
        await win.Unlock_all()
        await win.Fence()
        last = int(np.frombuffer(win.tomemory(), "i8")[0])
        await win.Free()
        return int(found[0]), last

    values = conduit.run(main, ranks=4, conduit=network).values
    winner = [rank for rank, (found, _) in enumerate(values) if found == 0]
    assert len(winner) == 1
    assert values[0][1] == winner[0] + 1
    assert {found for found, _ in values} == {0, winner[0] + 1}


def test_no_op_needs_no_origin():
    async def main(ep):
        win = await Win.Allocate(16, 8, comm=await Extended.attach(ep))
        np.frombuffer(win.tomemory(), "f8")[:] = 1.5, 2.5
        out, one = np.zeros(2), np.zeros(1)
        await win.Fence()
        await win.Get_accumulate(None, out, 1 - ep.rank, op=NO_OP)
        await win.Fetch_and_op(None, one, 1 - ep.rank, 1, NO_OP)
        await win.Fence()
        await win.Free()
        return out.tolist(), one.tolist()

    assert list(conduit.run(main, conduit="loggp").values) == [([1.5, 2.5], [2.5])] * 2


def test_operations_show_their_names():
    assert repr(SUM) == "SUM"
    assert [repr(getattr(windows, op.name)) for op in OPS] == [op.name for op in OPS]
