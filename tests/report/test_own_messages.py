"""What a layer does by itself is not told as the program's: its messages, its library's time, what is done already."""

import re

import numpy as np
import pytest

import conduit
from conduit.launch.tracing import reporting
from extended import Extended, shmem, upc
from extended.windows import LOCK_SHARED, Win

MANY = 100


async def windows(ep, what, checks):
    """Rank 0 accesses a window of rank 1 element by element, all of it in one epoch."""
    x = await Extended.attach(ep)
    win = await Win.Allocate(8 * MANY, 8, comm=x, checks=checks)
    numbers = np.zeros(MANY)
    await x.barrier()
    if ep.rank == 0:
        await win.Lock(1, LOCK_SHARED)
        for index in range(MANY):
            await getattr(win, what)(numbers[index : index + 1], 1, index)
        await win.Unlock(1)
    await x.barrier()


async def begins(pe, what):
    """PE 0 accesses an array of PE 1 element by element."""
    there, here = await pe.zeros(MANY, "f8"), np.zeros(MANY)
    await pe.barrier_all()
    if pe.my_pe() == 0:
        for index in range(MANY):
            await getattr(pe, what)(*_order(what, there[index : index + 1], here[index : index + 1]), 1)
        await pe.quiet()
    await pe.barrier_all()


def _order(what, there, here):
    return (there, here) if what.startswith("put") else (here, there)


async def adds(t, together):
    """Thread 0 adds to elements of thread 1."""
    a = await t.all_alloc(2 * MANY, dtype="i8", block=MANY)
    await t.barrier()
    if t.MYTHREAD == 0:
        if together:
            await a.add_at(np.arange(MANY, 2 * MANY), 1)
        else:
            for index in range(MANY, 2 * MANY):
                await a.add_at(index, 1)
    await t.barrier()


def reported(run, main, *args, **settings):
    with reporting() as reports:
        result = run(main, *args, **settings)
    return reports[0], result


@pytest.mark.parametrize("checks", [True, False])
@pytest.mark.parametrize("what", ["Put", "Get"])
@pytest.mark.parametrize("network", ["t3e", "origin"])
def test_messages_that_check_accesses_are_none_and_one_epoch_is_not_advised_where_there_is_one(network, what, checks):
    found, _ = reported(conduit.run, windows, what, checks, ranks=2, conduit=network)
    (told,) = found.advice
    line = windows.__code__.co_firstlineno + 9
    assert re.fullmatch(
        rf"Rank 0 accesses rank 1 element by element at \S*test_own_messages\.py:{line} in windows: 100 times 8 "
        r"bytes\. Calls and waits there take \d\d % of its time after the start\.",
        told.what,
    )
    assert told.remedy == "Move a whole block at once (one `win.Get`, `win.Put` or `win.Accumulate` of the range)."


@pytest.mark.parametrize("checks", [True, False])
def test_waits_for_slots_are_no_waits_for_each_access(checks):
    found, _ = reported(conduit.run, windows, "Put", checks, ranks=2, conduit="sci")
    assert [each.what for each in found.advice if "element by element" in each.what] == []
    assert found.advice[0].what.startswith("Queues are full: ")


@pytest.mark.parametrize(("network", "what"), [("t3e", "Put"), ("t3e", "Get"), ("origin", "Put")])
def test_what_a_vendors_library_adds_is_no_work_of_the_programs(network, what):
    found, _ = reported(conduit.run, windows, what, False, ranks=2, conduit=network)
    assert [each.what for each in found.advice if " computes " in each.what] == []
    spent = sum(span.end - span.begin for span in found.recording.cpu[0] if span.why == "library")
    seconds = conduit.run(costs, f"mpi_{what.lower()}", ranks=1, conduit=network).values[0]
    assert spent == MANY * round(seconds * 1e12) > 0
    assert found.profile.accounts[0].compute == 0
    assert found.profile.accounts[0].overhead >= spent


async def costs(ep, name):
    return ep.library_cost(name)


@pytest.mark.parametrize("what", ["put_nbi", "get_nbi", "put"])
def test_to_begin_all_is_not_advised_where_all_are_begun(what):
    found, _ = reported(shmem.run, begins, what, pes=9, conduit="t3e")
    (told,) = found.advice
    assert re.fullmatch(
        r"Rank 0 accesses rank 1 element by element at \S*test_own_messages\.py:\d+ in begins: 100 times 8 bytes\. "
        r"Calls and waits there take \d\d % of its time after the start\.",
        told.what,
    )
    assert told.remedy == "Move a whole block at once (one `pe.get` or `pe.put` of the range)."


def test_to_begin_all_is_advised_where_each_is_waited_for():
    found, _ = reported(shmem.run, begins, "get", pes=9, conduit="t3e")
    (told,) = found.advice
    assert told.remedy == (
        "Move a whole block at once (one `pe.get` or `pe.put` of the range), or begin all of them (`pe.get_nbi`, "
        "`pe.put_nbi`) and wait once (`pe.quiet`)."
    )


@pytest.mark.parametrize("network", ["t3e", "origin", "sci"])
def test_additions_one_by_one_are_advised_to_be_one_call(network):
    found, before = reported(upc.run, adds, False, threads=2, conduit=network)
    (told,) = found.advice
    line = adds.__code__.co_firstlineno + 9
    assert re.fullmatch(
        rf"Rank 0 makes 100 atomic operations on rank 1 at \S*test_own_messages\.py:{line} in adds, one by one\. They "
        r"take \d\d % of its time after the start\.",
        told.what,
    )
    assert told.remedy == (
        "Make fewer of them: give all indices and numbers to one call, `await a.add_at(indices, values)`."
    )
    _, after = reported(upc.run, adds, True, threads=2, conduit=network)
    assert after.seconds < before.seconds


def test_accumulates_of_one_number_are_advised_to_be_one_of_several():
    async def main(ep):
        x = await Extended.attach(ep)
        await x.barrier()
        if ep.rank == 0:
            for index in range(MANY):
                await x.atomic("i8").accumulate(1, [8 * index], 1)
        await x.barrier()

    found, _ = reported(conduit.run, main, ranks=2, conduit="sci")
    (told,) = found.advice
    assert " makes 100 atomic operations on rank 1 at " in told.what
    assert told.remedy == (
        "Make fewer of them: give all offsets and numbers of one rank to one call, `await d.accumulate(dest, offsets, "
        "values)`."
    )
