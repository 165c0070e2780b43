"""Transfers in pieces: what a cancellation in their midst leaves, and how much can be outstanding."""

import numpy as np
import pytest
import trio

import conduit
from extended import Extended

# One slot, so that every piece but the first waits for a reply; little, so that there are many pieces.
NARROW = "loggp:max_medium=512,max_long=1000,slots=1"
SIZE = 5300
LATE = 1e-2


def _pattern(size=SIZE, key=0):
    return ((np.arange(size) * 7 + (np.arange(size) >> 8) + key) % 251 + 1).astype(np.uint8)


async def _put(x, data, out):
    await x.put(1, 0, data)


async def _put_copied(x, data, out):
    await x.put_nb(1, 0, data, bulk=False)


async def _put_nb(x, data, out):
    await x.put_nb(1, 0, data)


async def _put_nbi(x, data, out):
    await x.put_nbi(1, 0, data)


async def _get(x, data, out):
    await x.get(1, SIZE, out=out)


async def _get_nb(x, data, out):
    await x.get_nb(1, SIZE, out=out)


async def _get_nbi(x, data, out):
    await x.get_nbi(1, SIZE, out=out)


async def _in_region(x, data, out):
    async with x.access_region():
        await x.put_nbi(1, 0, data)


PUTS = (_put, _put_copied, _put_nb, _put_nbi, _in_region)
GETS = (_get, _get_nb, _get_nbi)


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("operation", PUTS + GETS)
def test_what_is_cancelled_between_pieces_goes_on_and_sync_waits_for_it(operation, inside):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 1:
            ep.segment[SIZE : 2 * SIZE] = _pattern(key=9)
            await x.barrier()
            await ep.compute(LATE)
            await x.barrier()
            return ep.segment[:SIZE].copy()
        await x.barrier()
        await ep.compute(LATE / 10)
        data = _pattern()
        out = ep.segment[2 * SIZE : 3 * SIZE] if inside else np.zeros(SIZE, np.uint8)
        with trio.move_on_after(LATE / 10) as scope:
            await operation(x, data, out)
        assert scope.cancelled_caught
        assert ep.now < LATE / 2
        await x.sync()
        assert ep.now >= LATE
        data[:] = 0  # no longer lent
        await x.barrier()
        return out.copy()

    result = conduit.run(main, ranks=2, conduit=NARROW, segment=3 * SIZE)
    if operation in PUTS:
        np.testing.assert_array_equal(result.values[1], _pattern())
    else:
        np.testing.assert_array_equal(result.values[0], _pattern(key=9))
    assert not any(result.warnings)  # nobody got a handle, so there is none to forget


def test_a_program_that_ends_after_a_cancelled_put_still_sends_the_rest():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        if ep.rank == 1:
            await ep.compute(LATE)
            await ep.block_until(lambda: ep.segment[SIZE - 1] != 0)
            return ep.segment[:SIZE].copy()
        await ep.compute(LATE / 10)
        with trio.move_on_after(LATE / 10):
            await x.put(1, 0, _pattern())
        return None

    result = conduit.run(main, ranks=2, conduit=NARROW, segment=SIZE)
    np.testing.assert_array_equal(result.values[1], _pattern())


def test_pieces_that_are_left_do_not_hold_up_a_barrier():
    """The barrier's signals go out while the rest of a cancelled put waits for slots."""

    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        await ep.compute(LATE / 10)
        with trio.move_on_after(LATE / 10):
            await x.put((ep.rank + 1) % ep.size, 0, _pattern())
        for turn in range(10):
            await x.barrier(turn)
        await x.sync()
        await x.barrier()
        return ep.segment[:SIZE].copy()

    for values in conduit.run(main, ranks=3, conduit=NARROW, segment=SIZE).values:
        np.testing.assert_array_equal(values, _pattern())


@pytest.mark.slow
def test_65535_operations_outstanding_at_once():
    count = 65_535

    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        if ep.rank == 1:
            await ep.compute(10.0)
        else:
            handles = [await x.put_value_nb(1, 4 * n, n, 4) for n in range(count)]
            assert not any(handle.done for handle in handles)
            await x.wait_all(handles)
        await x.barrier()
        return ep.segment[: 4 * count].view("<u4").copy()

    result = conduit.run(main, ranks=2, conduit=f"loggp:slots={count}", segment=4 * count)
    np.testing.assert_array_equal(result.values[1], np.arange(count))


def test_a_barrier_of_1024_ranks_takes_ten_rounds():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()

    result = conduit.run(main, ranks=1024, conduit="loggp", segment=0)
    assert {counts["requests_sent"] for counts in result.statistics} == {10}
