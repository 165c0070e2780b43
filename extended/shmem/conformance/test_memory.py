"""The symmetric heap."""

from functools import partial
from typing import Any

import numpy as np
import pytest

import conduit
from conduit.conformance.cases import Case
from extended.shmem.conformance.programs import play, refused


@pytest.mark.rule("S1")
def test_arrays_and_contiguous_views_are_symmetric(case: Case) -> None:
    """Each reaches the same elements of the neighbour, a scalar and an empty one too."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        right, left = (me + 1) % n, (me - 1) % n
        table = await pe.full((3, 4), -1, "i4")
        number = await pe.full((), 7)
        await pe.put(number, np.array(me), right)
        await pe.put(table[1], np.full(4, me, "i4"), right)
        await pe.put(table[2, 1:3], np.full(2, me + 1, "i4"), right)
        await pe.put(table[:0], table[:0], right)
        await pe.barrier_all()
        assert table.tolist() == [[-1] * 4, [left] * 4, [-1, left + 1, left + 1, -1]]
        assert int(number) == left
        assert pe.addr_accessible(table[1:], right)
        assert not pe.addr_accessible(table.copy(), right)
        refused(lambda: pe.put(table[:, 1], table[0, :3], right), r"pe\.put: target is a view that is not contiguous")
        refused(lambda: pe.put(table.copy(), table, right), r"pe\.put: target is not symmetric")
        refused(lambda: pe.get(table.copy(), np.zeros(12, "i4"), right), r"pe\.get: source is not symmetric")

    play(case, main)


@pytest.mark.rule("S2")
def test_a_freed_array_is_refused_also_where_its_memory_is_used_again(case: Case) -> None:
    """And the new array there begins as it was asked for."""

    async def main(pe: Any) -> None:
        old = await pe.ones(50)
        part = old[3:]
        await pe.free(old)
        new = await pe.zeros(50)
        assert not new.any()
        for gone in (old, part):
            refused(partial(pe.put, gone, np.zeros(2), 0), r"pe\.put: target was freed")
            refused(partial(pe.get, np.zeros(2), gone, 0), r"pe\.get: source was freed")
        refused(lambda: pe.free(old), r"pe\.free: mem was freed")
        refused(lambda: pe.free(new[1:]), r"pe\.free: mem is a part of an array")
        await pe.free(new)

    play(case, main)


@pytest.mark.rule("S3")
@pytest.mark.crowds
def test_a_heap_that_is_used_up_goes_on(case: Case) -> None:
    """Every PE hears of it; what is asked for next has room."""

    async def main(pe: Any) -> None:
        with pytest.raises(conduit.BadRequest, match="8000000"):
            await pe.zeros(10**6)
        kept = await pe.full(100, pe.my_pe())
        await pe.free(await pe.zeros(1000))
        assert kept.tolist() == [pe.my_pe()] * 100

    play(case, main)


@pytest.mark.rule("S3")
def test_allocations_that_differ_are_refused(case: Case) -> None:
    """On every PE."""

    async def main(pe: Any) -> None:
        with pytest.raises(conduit.BadRequest, match=r"pe\.zeros: PE 0 called .*, but PE 1 called"):
            await pe.zeros(pe.my_pe() + 1)
        words = (
            r"PE 0 called pe\.zeros\(shape=\(4,\), dtype=int64\) at .*, but PE 1 called pe\.zeros\(.*, dtype=float64\)"
        )
        with pytest.raises(conduit.BadRequest, match=words):
            await pe.zeros(4, "f8" if pe.my_pe() else "i8")
        a, b = await pe.zeros(1), await pe.zeros(1)
        with pytest.raises(conduit.BadRequest, match="free"):
            await pe.free(b if pe.my_pe() else a)
        await pe.free(a)

    play(case.at_least(2), main)


@pytest.mark.rule("S4")
def test_addresses_are_aligned(case: Case) -> None:
    """Those that numpy shows; what cannot be had is refused."""

    async def main(pe: Any) -> None:
        for align in (None, 1, 8, 16, 64, 4096):
            for size in (1, 20):
                made = await pe.zeros(size, "u1", align=align)
                assert made.__array_interface__["data"][0] % (align or 16) == 0
        refused(lambda: pe.zeros(2, align=3), r"pe\.zeros: align=3 is no power of two")
        refused(lambda: pe.alloc(2, align=0), r"pe\.alloc: align=0")
        refused(lambda: pe.alloc(2, align=8192), r"pe\.alloc: align=8192 .* a power of two up to 4096, a page")

    play(case, main)
