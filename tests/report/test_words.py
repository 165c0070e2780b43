"""Advice is in the words of the layer that the program's line calls, as that layer gives them."""

import numpy as np
import pytest

import conduit
from conduit.launch.tracing import reporting
from extended import Extended, shmem, upc
from extended.windows import Win

MANY, LARGE = 64, 80_000


async def upc_reads(t):
    a = await t.all_alloc(2 * MANY, dtype="i8")
    await t.barrier()
    if t.MYTHREAD == 0:
        for index in range(MANY):
            await a.read(MANY + index)
    await t.barrier()


async def upc_in_turn(t):
    a = await t.all_alloc(t.THREADS, dtype="i8", block=1)
    for _ in range(MANY):
        await t.barrier()
        if t.MYTHREAD == 0:
            for there in range(1, t.THREADS):
                await t.memget((a, there), 8)
    await t.barrier()


async def upc_counts(t):
    a = await t.all_alloc(1, dtype="i8")
    await t.barrier()
    if t.MYTHREAD:
        for _ in range(MANY):
            await a.fetch_add(0, 1)
    await t.barrier()


async def upc_late(t):
    a = await t.all_alloc(1, dtype="i8")
    for _ in range(4):
        if t.MYTHREAD:
            await a.read(0)
        await t.ep.compute(1e-3)
    await t.barrier()


async def upc_one(t):
    a = await t.all_alloc(LARGE * t.THREADS, dtype="u1")
    await t.barrier()
    for _ in range(10):
        if t.MYTHREAD == 0:
            for there in range(1, t.THREADS):
                await t.memput((a, LARGE * there), bytes(LARGE))
        await t.barrier()


async def shmem_gets(pe):
    a, here = await pe.zeros(MANY, "i8"), np.zeros(1, "i8")
    await pe.barrier_all()
    if pe.my_pe() == 0:
        for index in range(MANY):
            await pe.get(here, a[index : index + 1], 1)
    await pe.barrier_all()


async def shmem_counts(pe):
    a = await pe.zeros(1, "i8")
    await pe.barrier_all()
    if pe.my_pe():
        for _ in range(MANY):
            await pe.atomic_fetch_add(a, 1, 0)
    await pe.barrier_all()


async def shmem_one(pe):
    a, here = await pe.zeros(LARGE, "u1"), np.zeros(LARGE, "u1")
    await pe.barrier_all()
    for _ in range(10):
        if pe.my_pe() == 0:
            for there in range(1, pe.n_pes()):
                await pe.get(here, a, there)
        await pe.barrier_all()


async def windows_gets(ep):
    x = await Extended.attach(ep)
    win, here = await Win.Allocate(8 * MANY, 8, comm=x, checks=False), np.zeros(1, "i8")
    await win.Lock_all()
    if ep.rank == 0:
        for index in range(MANY):
            await win.Get(here, 1, index)
            await win.Flush(1)
    await win.Unlock_all()
    await x.barrier()
    await win.Free()


async def windows_counts(ep):
    x = await Extended.attach(ep)
    win, one, before = await Win.Allocate(8, 8, comm=x), np.ones(1, "i8"), np.zeros(1, "i8")
    await win.Lock_all()
    if ep.rank:
        for _ in range(MANY):
            await win.Fetch_and_op(one, before, 0)
            await win.Flush(0)
    await win.Unlock_all()
    await x.barrier()
    await win.Free()


async def extended_in_upc(t):
    """The lines of a program of shared arrays that call the extended layer itself are told in its words."""
    await t.barrier()
    if t.MYTHREAD == 0:
        for index in range(MANY):
            await t.extended.get(1, 8 * index, 8)
    await t.barrier()


def upc_runs(main, ranks, network):
    upc.run(main, threads=ranks, conduit=network)


def shmem_runs(main, ranks, network):
    shmem.run(main, pes=ranks, conduit=network)


def windows_run(main, ranks, network):
    conduit.run(main, ranks=ranks, conduit=network)


UPC_TOGETHER = "ccess all of them together: read by `await a[indices]`, write by `a[indices] = values` and one fence."
FEWER = "Make fewer of them: add up in a variable and add that once, draw several numbers at once "
ADVISED = {
    upc_reads: (
        upc_runs, 2, "loggp",
        "Move a whole block at once (a slice `a[i:j]`, `t.memget` or `t.memput`), or a" + UPC_TOGETHER,
    ),
    upc_in_turn: (upc_runs, 6, "loggp", "A" + UPC_TOGETHER),
    upc_counts: (
        upc_runs, 2, "loggp",
        FEWER + "(`a.fetch_add` of how many), give all indices and numbers to one `a.add_at`, or let a tree combine "
        "what is one sum (t.all_reduce).",
    ),
    upc_late: (
        upc_runs, 4, "loggp",
        "Call `await t.ep.poll()` in long computations, or cut them into shorter ones: only a poll runs handlers.",
    ),
    upc_one: (
        upc_runs, 16, "loggp",
        "If all of them get the same, `await t.all_broadcast(...)` lets threads pass it on; the parts of one array go "
        "by `t.all_scatter`, and what comes from all by `t.all_gather` or `t.all_reduce`.",
    ),
    shmem_gets: (
        shmem_runs, 2, "loggp",
        "Move a whole block at once (one `pe.get` or `pe.put` of the range), or begin all of them (`pe.get_nbi`, "
        "`pe.put_nbi`) and wait once (`pe.quiet`).",
    ),
    shmem_counts: (
        shmem_runs, 2, "t3e",
        FEWER + "(`pe.atomic_fetch_add` of how many), or let a tree combine what is one sum (pe.sum_reduce).",
    ),
    shmem_one: (
        shmem_runs, 16, "loggp",
        "If all of them get the same, `await pe.broadcast(...)` lets PEs pass it on; what comes from all goes by "
        "`pe.fcollect` or `pe.sum_reduce`.",
    ),
    windows_gets: (
        windows_run, 2, "t3e",
        "Move a whole block at once (one `win.Get`, `win.Put` or `win.Accumulate` of the range), or begin all of them "
        "in one epoch, which waits for them once, at its end.",
    ),
    windows_counts: (
        windows_run, 4, "t3e",
        FEWER + "(`win.Fetch_and_op` of how many), give numbers of one rank to one `win.Accumulate`, or let a tree "
        "combine what is one sum (all_reduce).",
    ),
    extended_in_upc: (
        upc_runs, 2, "loggp",
        "Move a whole block at once (one get or put of the range), or begin all of them (get_nb, put_nb) and wait "
        "once.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("main", ADVISED, ids=lambda main: main.__name__)
def test_advice_is_in_the_words_of_the_layer_that_the_line_calls(main):
    run, ranks, network, remedy = ADVISED[main]
    with reporting() as reports:
        run(main, ranks, network)
    assert remedy in [each.remedy for each in reports[0].advice]
