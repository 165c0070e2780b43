"""Calls that the program gives to `nursery.start_soon` are placed at the line that does so, none in Trio's own code."""

import functools

import numpy as np
import pytest
import trio

import conduit
from conduit.launch.reports import brief
from extended import CollectiveMismatch, Extended
from extended.shmem import attach as attach_pe
from extended.windows import Win


def _run(main, error=conduit.Deadlock, ranks=3):
    with pytest.raises(error) as found:
        conduit.run(main, ranks=ranks, conduit="loggp", segment=1 << 16)
    return found.value


def _line(main, offset):
    return f"{__file__}:{main.__code__.co_firstlineno + offset}"


def _no_lines_of_trio(text):
    assert "_run.py" not in text


@pytest.mark.parametrize("wrap", [lambda call: call, functools.partial], ids=["bare", "partial"])
def test_in_a_collective_mismatch(wrap):
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wrap(x.all_reduce), 1)
        else:
            await x.all_gather(1)

    text = str(_run(main, CollectiveMismatch))
    assert f"rank 0 called all_reduce(op=sum, (), int64) at {_line(main, 4)}, but rank 1" in text


def test_in_a_mismatch_of_pes():
    async def main(ep):
        pe = await attach_pe(ep)
        one, many = await pe.zeros(1, "i8"), await pe.zeros(3, "i8")
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(pe.sum_reduce, one, one)
        else:
            await pe.fcollect(many, one)

    assert f"PE 0 called pe.sum_reduce(op=sum, (1,), int64) at {_line(main, 5)}, but" in str(
        _run(main, CollectiveMismatch)
    )


def test_of_a_cancelled_collective():
    async def main(ep):
        x = await Extended.attach(ep)
        if ep.rank == 0:
            with trio.move_on_after(1e-6):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(x.all_reduce, 1)
            await x.barrier()
        else:
            await trio.sleep(1e-3)
            await x.all_reduce(1)

    text = str(_run(main, conduit.BadRequest))
    assert f"was cancelled on rank 0 of the job at {_line(main, 5)}, and the ranks" in text


def test_of_a_lock_whose_task_has_ended_and_that_others_need():
    async def main(ep):
        x = await Extended.attach(ep)
        lock = x.lock("m")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lock.acquire)
        await x.barrier()

    text = brief(_run(main).report)
    _no_lines_of_trio(text)
    taken, barrier = _line(main, 4), _line(main, 5)
    name = "test_lines_of_started_calls.py"
    short = [f"{name}:{line.rpartition(':')[2]}" for line in (taken, barrier)]
    assert "holds lock 'm', taken at " in text
    assert f"rank 0 holds lock 'm' since {short[0]} and waits in a barrier at {short[1]} for ranks 1-2, which need" in (
        text.replace(__file__, name)
    )


def test_of_a_lock_that_is_held_to_the_end():
    async def main(ep):
        lock = (await Extended.attach(ep)).lock("k")
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(lock.acquire)

    with pytest.warns(conduit.ConduitWarning, match=f"lock 'k', taken at {_line(main, 4)}, is still held although"):
        conduit.run(main, conduit="loggp")


def test_of_a_lock_of_a_window_that_others_need():
    async def main(ep):
        x = await Extended.attach(ep)
        win = await Win.Allocate(64, 8, comm=x)
        if ep.rank == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(win.Lock, 1)
            await x.barrier()
        else:
            await trio.sleep(1e-3)
            await win.Lock(1)
            await win.Put(np.ones(1), 1, 0)
            await win.Unlock(1)
            await x.barrier()

    text = brief(_run(main).report)
    _no_lines_of_trio(text)
    assert "and waits in a barrier at" in text
    assert "release it before that call" in text
