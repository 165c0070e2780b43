"""Offsets that take more than 31 bits, or more than 32: they travel in one word or two, or in as many bytes as needed.

Memory of a segment exists from its first write on, so that a large one costs nothing.
"""

import numpy as np
import pytest

import conduit
from extended import Extended, shmem, upc, windows

SEGMENT = 7 << 30
FAR = [(1 << 31) - 8, 1 << 31, (1 << 32) - 8, 1 << 32, (1 << 32) + (1 << 31)]
"""On both sides of what an argument of a message holds, signed and not."""
NETWORKS = ["loggp:max_medium=512,max_long=1000", "t3e", "udp"]

networks = pytest.mark.parametrize("network", NETWORKS)
offsets = pytest.mark.parametrize("offset", FAR)


def _pattern(nbytes):
    return (np.arange(nbytes) * 7 % 251 + 1).astype(np.uint8)


def _run(main, *args, network):
    """Let rank 0 do something to the segment of rank 1; its own bytes at the low words of all offsets are zeros."""

    async def program(ep, *given):
        x = await Extended.attach(ep)
        await x.barrier()
        if ep.rank == 0:
            await main(x, *given)
        await x.barrier()
        assert not ep.segment[:4096].any()

    conduit.run(program, *args, ranks=2, conduit=network, segment=SEGMENT)


@networks
@offsets
@pytest.mark.parametrize("nbytes", [5, 600, 2500])
def test_bytes(network, offset, nbytes):
    async def main(x):
        data = _pattern(nbytes)
        await x.put(1, offset, data)
        assert (await x.get(1, offset, nbytes) == data).all()
        here = x.ep.segment[SEGMENT - 4096 :][:nbytes]
        assert (await x.get(1, offset, out=here) == data).all()
        await x.memset(1, offset + 1, 9, nbytes - 2)
        data[1:-1] = 9
        assert (await x.get(1, offset, nbytes) == data).all()

    _run(main, network=network)


@networks
@offsets
@pytest.mark.parametrize("dtype", ["i4", "u8"])
def test_numbers(network, offset, dtype):
    async def main(x):
        d = x.atomic(dtype)
        assert (await d.fetch_add(1, offset, 7), await d.compare_swap(1, offset, 7, 9)) == (0, 7)
        await d.accumulate(1, [8192, offset, 8192, offset], [5, 1, -5, 1])
        assert await d.get(1, offset) == 11
        await x.put_value(1, offset, 300, 2)
        assert await x.get_value(1, offset, 2) == 300

    _run(main, network=network)


@networks
@offsets
def test_places(network, offset):
    """Lists of places whose first is near and whose last is far, and the other way round; regular distances."""

    async def main(x):
        data = _pattern(1200)
        for places in ([4096, offset + 8192], [offset + 8192, 4096]):
            await x.put_indexed(1, places, 600, data)
            assert (await x.get_indexed(1, places, 600, np.empty(1200, np.uint8)) == data).all()
            assert (await x.get(1, places[0], 600) == data[:600]).all()
        pieces = [(offset, 600), (5000, 1), (offset + 700, 599)]
        await x.put_vector(1, pieces, data)
        out = bytearray(1200)
        await x.get_vector(1, pieces, out)
        assert bytes(out) == data.tobytes()
        assert (await x.get(1, offset + 700, 599) == data[601:]).all()
        table = data.reshape(30, 40)
        for strides in ((64, 1), (-64, 1), (1, 32)):
            await x.put_strided(1, offset + 4096, strides, table)
            assert (await x.get_strided(1, offset + 4096, strides, np.empty_like(table)) == table).all()
            assert await x.get_value(1, offset + 4096 + strides[0] + strides[1], 1) == table[1, 1]

    _run(main, network=network)


# What follows lies at the top of the segment, where the heap begins.


@networks
def test_results_of_collectives(network):
    """Large ones land in their place, without a copy."""

    async def main(ep):
        x = await Extended.attach(ep)
        offset = await x.all_alloc(40000)
        assert offset > FAR[-1]
        data, there = _pattern(20000), ep.segment[offset : offset + 40000].reshape(2, 20000)
        await x.all_gather(data + ep.rank, out=there)
        assert (there == [data, data + 1]).all()
        await x.free(offset)

    conduit.run(main, ranks=2, conduit=network, segment=SEGMENT)


@networks
def test_windows(network):
    async def main(ep):
        x = await Extended.attach(ep)
        win = await windows.Win.Allocate(8000, 8, comm=x)
        await win.Fence()
        await win.Put(np.arange(900) + ep.rank, 1 - ep.rank, 10)
        await win.Fence()
        mine = np.frombuffer(win.tomemory(), "i8")
        assert (mine[10:910] == np.arange(900) + 1 - ep.rank).all()
        await win.Accumulate(np.ones(3, "i4"), 1, (0, 3, "i4"))
        await win.Fence()
        got = np.empty(3, "i4")
        await win.Get(got, 1)
        await win.Fence()
        assert got.tolist() == [2, 2, 2]
        await win.Lock(1)
        await win.Put(np.array([ep.rank]), 1, 950 + ep.rank)
        await win.Unlock(1)
        await x.barrier()
        assert ep.rank == 0 or mine[950:952].tolist() == [0, 1]
        await win.Free()

    conduit.run(main, ranks=2, conduit=network, segment=SEGMENT)


@networks
def test_arrays_of_threads(network):
    async def main(t):
        a = await t.all_alloc(100, "i8", block=3)
        a[t.MYTHREAD :: 2] = np.arange(100)[t.MYTHREAD :: 2]
        await t.barrier()
        assert (await a[::-1] == np.arange(100)[::-1]).all()
        await t.barrier()
        await a.add_at([0, 99], 1)
        await t.barrier()
        assert (await a[0], await a[99]) == (2, 101)

    upc.run(main, threads=2, conduit=network, segment=SEGMENT)


@networks
def test_arrays_of_processing_elements(network):
    async def main(pe):
        a, signal = await pe.zeros(1000, "i4"), await pe.new_signal()
        other = 1 - pe.my_pe()
        await pe.iput(a, np.arange(10, dtype="i4"), other, tst=3)
        await pe.put_signal(a[500:], np.full(500, 7, "i4"), other, signal, 5, pe.SIGNAL_ADD)
        await pe.signal_wait_until(signal, ">=", 5)
        await pe.barrier_all()
        assert a[:30:3].tolist() == list(range(10))
        assert (a[500:] == 7).all()

    shmem.run(main, pes=2, conduit=network, segment=SEGMENT)
