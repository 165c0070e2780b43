"""Puts, gets and signals, and what completes and orders them."""

from typing import Any

import numpy as np
import pytest
import trio

from conduit.conformance.cases import Case
from extended.shmem.conformance.programs import play, refused

SIZES = (1, 7, 700)


@pytest.mark.rule("S5")
@pytest.mark.crowds
@pytest.mark.parametrize("nbi", [False, True])
def test_puts_are_there_after_a_barrier(case: Case, nbi: bool) -> None:
    """Of every size, also in long messages; the source of a put may be changed at once."""
    ceiling = case.cls.max_segment(case.options) or 1 << 20
    sizes = (*SIZES, min(case.limits.max_medium, 1 << 16, ceiling // 2) // 8 + 500)

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        right, left = (me + 1) % n, (me - 1) % n
        target = await pe.full(sum(sizes) + 1, -1)
        source, at = np.empty(max(sizes), "i8"), 0
        for size in sizes:
            given = np.arange(size) + 1000 * me if nbi else source[:size]
            given[:] = np.arange(size) + 1000 * me
            await (pe.put_nbi if nbi else pe.put)(target[at:], given, right)
            source[:] = 77
            at += size
        await pe.barrier_all()
        wanted = [*np.concatenate([np.arange(size) + 1000 * left for size in sizes]), -1]
        assert target.tolist() == wanted

    play(case, main, segment=8 * sum(sizes) + 4096)


@pytest.mark.rule("S1")
@pytest.mark.parametrize("order", ["C", "F"])
def test_elements_go_one_by_one_whatever_order_they_lie_in(case: Case, order: str) -> None:
    """Puts of and gets into arrays of each order, and of none, against numpy's own assignment."""

    async def main(pe: Any) -> None:
        right = (pe.my_pe() + 1) % pe.n_pes()
        wanted = np.arange(6).reshape(3, 2)
        wide = np.zeros((6, 4), wanted.dtype)
        for local in (wanted.copy(), np.asfortranarray(wanted), wide[::2, ::2]):
            for nbi in (False, True):
                there = await pe.zeros((3, 2), wanted.dtype, order)
                local[...] = wanted
                await (pe.put_nbi if nbi else pe.put)(there, local, right)
                await pe.barrier_all()
                assert np.array_equal(there, wanted)
                local[...] = 0
                await (pe.get_nbi if nbi else pe.get)(local, there, right)
                await pe.quiet()
                assert np.array_equal(local, wanted)
                await pe.free(there)
        first, second = await pe.zeros((2, 2), "i8", "C"), await pe.zeros((2, 2), "i8", "F")
        refused(lambda: pe.sum_reduce(first, second), r"target lies in C order and source in Fortran order; give two ")

    play(case, main)


@pytest.mark.rule("S5")
@pytest.mark.parametrize("nbi", [False, True])
def test_gets_bring_what_is_there(case: Case, nbi: bool) -> None:
    """A get when it returns, one that has only begun after a quiet."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        source = await pe.array(np.arange(max(SIZES)) + 1000 * me)
        await pe.barrier_all()
        other, found = (me + n // 2) % n, [np.full(size + 1, -1) for size in SIZES]
        for size, out in zip(SIZES, found, strict=True):
            await (pe.get_nbi if nbi else pe.get)(out, source[max(SIZES) - size :], other, size)
        if nbi:
            await pe.quiet()
        for size, out in zip(SIZES, found, strict=True):
            assert out.tolist() == [*(np.arange(max(SIZES))[max(SIZES) - size :] + 1000 * other), -1]

    play(case, main)


@pytest.mark.rule("S5")
def test_steps_of_both_sides(case: Case) -> None:
    """`iput` and `iget` against numpy's slices."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        right, left = (me + 1) % n, (me - 1) % n
        a = await pe.zeros(20, "i4")
        await pe.iput(a, np.arange(10, dtype="i4") + 100 * me, right, 3, 2, 5)
        await pe.barrier_all()
        wanted = np.zeros(20, "i4")
        wanted[:15:3] = np.arange(10)[::2] + 100 * left
        assert a.tolist() == wanted.tolist()
        out = np.full(9, -1, "i4")
        await pe.iget(out, a, right, 2, 3, 5)
        fetched = [me * 100, -1, me * 100 + 2, -1, me * 100 + 4, -1, me * 100 + 6, -1, me * 100 + 8]
        assert out.tolist() == fetched
        apart = np.full((9, 2), -1, "i4")  # whose columns do not lie together
        await pe.iget(apart[:, 0], a, right, 2, 3, 5)
        assert apart[:, 0].tolist() == fetched
        assert (apart[:, 1] == -1).all()
        await pe.barrier_all()
        await pe.iput(a, apart[:, 0], right, 3, 2, 5)
        await pe.barrier_all()
        wanted[:15:3] = 100 * left + np.arange(10)[::2]
        assert a.tolist() == wanted.tolist()

    play(case, main)


@pytest.mark.rule("S5")
@pytest.mark.parametrize(("tst", "sst"), [(1, 1), (3, 1), (1, 2), (3, 2)])
def test_the_source_of_an_iput_may_be_changed_at_once(case: Case, tst: int, sst: int) -> None:
    """Whether the elements lie together or not, here and there; there are more than a medium message holds."""
    ceiling = case.cls.max_segment(case.options) or 1 << 20
    size = min(case.limits.max_medium, 1 << 16, ceiling // 8) // 4 + 500

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        right, left = (me + 1) % n, (me - 1) % n
        a, source = await pe.zeros(size * tst, "i4"), np.arange(size * sst, dtype="i4") + 1000 * me
        await pe.iput(a, source, right, tst, sst)
        source[:] = -1
        await pe.barrier_all()
        assert a[::tst].tolist() == (np.arange(size * sst) + 1000 * left)[::sst].tolist()

    play(case, main, segment=4 * size * tst + 4096)


@pytest.mark.rule("S6")
@pytest.mark.parametrize("nbi", [False, True])
@pytest.mark.parametrize("size", [1, 400])
def test_a_signal_comes_after_its_data(case: Case, nbi: bool, size: int) -> None:
    """Whether it is set or added; all PEs put to PE 0, each to a part of its own."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        data, added = await pe.zeros((n, size), "i8"), await pe.new_signal()
        told = await pe.zeros(n, "u8")
        put = pe.put_signal_nbi if nbi else pe.put_signal
        given = np.full(size, me + 1)
        await put(data[me], given, 0, told[me : me + 1], me + 5, pe.SIGNAL_SET)
        await put(data[me], given, 0, added, 1, pe.SIGNAL_ADD)
        if me == 0:
            for other in range(n):
                assert await pe.signal_wait_until(told[other : other + 1], ">", 0) == other + 5
                assert data[other].tolist() == [other + 1] * size
            assert await pe.signal_wait_until(added, ">=", n) == n
        await pe.barrier_all()

    play(case, main)


@pytest.mark.rule("S7")
@pytest.mark.parametrize("between", ["fence", "quiet"])
def test_a_flag_behind_a_fence_tells_of_data(case: Case, between: str) -> None:
    """In any order of the network, in several messages."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        data, flag = await pe.zeros(900, "i8"), await pe.zeros(1, "i8")
        for turn in (1, 2, 3):
            if me == 0:
                for other in range(1, n):
                    await pe.put_nbi(data, np.full(900, turn), other)
                await getattr(pe, between)()
                for other in range(1, n):
                    await pe.put_nbi(flag, np.full(1, turn), other)
                await pe.quiet()
            else:
                await pe.wait_until(flag, pe.CMP_EQ, turn)
                assert data.tolist() == [turn] * 900
            await pe.barrier_all()

    play(case.at_least(2), main)


@pytest.mark.rule("S8")
@pytest.mark.crowds
def test_all_pes_meet(case: Case) -> None:
    """None goes on before all have come."""

    async def main(pe: Any) -> None:
        tickets = await pe.zeros(4, "i8")
        for turn, call in enumerate(["sync_all", "barrier_all", "sync_all", "sync"]):
            await pe.ep.compute(1e-6 * (pe.my_pe() * 7 % 5))
            await pe.atomic_inc(tickets[turn : turn + 1], 0)
            await getattr(pe, call)()
            assert await pe.atomic_fetch(tickets[turn : turn + 1], 0) == pe.n_pes()

    play(case, main)


@pytest.mark.rule("S9")
@pytest.mark.simulated
def test_what_main_leaves_arrives(case: Case) -> None:
    """The end of main completes it, on contexts too."""

    async def main(pe: Any) -> Any:
        data, other = await pe.zeros(1500, "i8"), await pe.Ctx.create()
        right = (pe.my_pe() + 1) % pe.n_pes()
        await pe.put_nbi(data[:700], np.ones(700, "i8"), right)
        await pe.put_nbi(data[700:], np.ones(800, "i8"), right, ctx=other)
        return data

    assert all(data.all() for data in play(case, main).values)


@pytest.mark.rule("S10")
def test_misuse_is_refused_at_the_call(case: Case) -> None:
    """Nothing is sent, and the program goes on."""

    async def main(pe: Any) -> None:
        n = pe.n_pes()
        a = await pe.zeros(4)
        refused(lambda: pe.put(a, a.astype("f4"), 0), "target has dtype float64 and source float32")
        refused(lambda: pe.put(a, a, n), rf"pe\.put: pe={n}")
        refused(lambda: pe.get(a, a, -1), r"pe\.get: pe=-1")
        refused(lambda: pe.put(a, a, 0, size=5), "size=5 is too much: target has room for 4")
        refused(lambda: pe.get(np.broadcast_to(a, (2, 4)), a, 0), "read-only")
        refused(lambda: pe.iput(a, a, 0, tst=0), "tst=0")
        refused(lambda: pe.put_signal(a, a, 0, a, 1, 0), "signal has 4 elements")
        refused(lambda: pe.atomic_add(a[:1], 1, 0), "dtype float64")
        refused(lambda: pe.wait_until(a.view("i8"), "==", 1), "ivar has 4 elements")
        refused(lambda: pe.broadcast(a, a, n), f"root={n}")
        await pe.barrier_all()
        assert not a.any()

    play(case, main)


@pytest.mark.rule("S16")
@pytest.mark.parametrize("how", ["async with", "destroy"])
def test_a_context_that_is_destroyed_by_a_cancelled_task_is_complete(case: Case, how: str) -> None:
    """What was put may be changed, which a put that is not complete may still read."""

    async def main(pe: Any) -> list[int]:
        data, source, last = await pe.zeros(5000, "i8"), np.full(5000, 7), pe.n_pes() - 1
        if pe.my_pe() == 0:
            with trio.CancelScope() as scope:
                if how == "async with":
                    async with await pe.Ctx.create() as ctx:
                        await pe.put_nbi(data, source, last, ctx=ctx)
                        scope.cancel()
                        await trio.lowlevel.checkpoint()
                else:
                    ctx = await pe.Ctx.create()
                    await pe.put_nbi(data, source, last, ctx=ctx)
                    scope.cancel()
                    await ctx.destroy()
                    await trio.lowlevel.checkpoint()
            assert scope.cancelled_caught
            assert not ctx
            source[:] = 0
        await pe.barrier_all()
        return sorted(set(data.tolist()))

    assert play(case.at_least(2), main).values[-1] == [7]
