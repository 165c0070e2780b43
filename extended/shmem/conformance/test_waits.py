"""Waits, atomic operations and locks."""

from typing import Any

import numpy as np
import pytest
import trio

import conduit
from conduit.conformance.cases import Case
from extended.shmem.conformance.programs import play

COMPARE = {
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
}


@pytest.mark.rule("S11")
def test_looking_is_as_numpy_says(case: Case) -> None:
    """Each comparison, with one value and with one for each element; what `status` excludes does not count."""

    async def main(pe: Any) -> None:
        array, status = np.array([-1, 0, 2, 0, 1]), [0, 0, 1, 0, 0]
        ivars, values = await pe.array(array), [0, 0, 2, 1, -1]
        for cmp, compare in COMPARE.items():
            for end, value in (("", 0), ("_vector", values)):
                found: list[Any] = np.flatnonzero(compare(array, value) & ~np.array(status, bool)).tolist()
                assert await getattr(pe, f"test_some{end}")(ivars, cmp, value, status) == found
                assert await getattr(pe, f"test_any{end}")(ivars, cmp, value, status) == (found or [None])[0]
                assert await getattr(pe, f"test_all{end}")(ivars, cmp, value, status) is (len(found) == 4)
                if found:
                    assert await getattr(pe, f"wait_until_some{end}")(ivars, cmp, value, status) == found
                    assert await getattr(pe, f"wait_until_any{end}")(ivars, cmp, value, status) == found[0]

    play(case, main)


@pytest.mark.rule("S11")
@pytest.mark.crowds
def test_waits_end_by_puts_atomics_and_signals(case: Case) -> None:
    """Of the PE before, around the ring."""

    async def main(pe: Any) -> None:
        me, n = pe.my_pe(), pe.n_pes()
        right = (me + 1) % n
        flags, signal = await pe.zeros(3, "i8"), await pe.new_signal()

        async def tell() -> None:
            await pe.put(flags[:1], np.array([5]), right)
            await pe.atomic_add(flags[1:2], 3, right)
            await pe.put_signal(flags[2:], np.array([9]), right, signal, 2, pe.SIGNAL_ADD)

        if me == 0:
            await tell()
        await pe.wait_until(flags[:1], pe.CMP_EQ, 5)
        await pe.wait_until_all_vector(flags, ">=", [5, 3, 9])
        assert await pe.signal_wait_until(signal, "!=", 0) == 2
        assert await pe.wait_until_any(flags, pe.CMP_EQ, 9) == 2
        assert flags.tolist() == [5, 3, 9]
        if me:
            await tell()
        await pe.barrier_all()

    play(case, main)


@pytest.mark.rule("S12")
@pytest.mark.simulated
@pytest.mark.ends
def test_a_wait_that_nothing_can_end_is_named(case: Case) -> None:
    """As a deadlock."""

    async def main(pe: Any) -> None:
        flag = await pe.zeros(1, "i4")
        await pe.wait_until(flag, pe.CMP_NE, 0)

    with pytest.raises(conduit.Deadlock, match=r"pe\.wait_until"):
        play(case, main)


@pytest.mark.rule("S13")
@pytest.mark.crowds
@pytest.mark.parametrize("dtype", ["i4", "u8"])
def test_atomics_of_all_pes_are_not_torn(case: Case, dtype: str) -> None:
    """Each number is fetched once, each bit arrives, and swaps of a ring come in turn."""

    async def main(pe: Any) -> list[int]:
        n, me, last = pe.n_pes(), pe.my_pe(), pe.n_pes() - 1
        a = await pe.zeros(4, dtype)
        mine = [await pe.atomic_fetch_add(a[:1], 2, last) for _ in range(3)]
        await pe.atomic_or(a[1:2], 1 << me, last)
        await pe.atomic_xor(a[2:3], 1 << me, last)
        await pe.atomic_fetch_inc(a[3:4], last)
        await pe.barrier_all()
        assert [await pe.atomic_fetch(a[k : k + 1], last) for k in range(4)] == [6 * n, (1 << n) - 1, (1 << n) - 1, n]
        return mine

    values = play(case, main).values
    assert sorted(number for mine in values for number in mine) == list(range(0, 6 * len(values), 2))


@pytest.mark.rule("S13")
def test_one_pe_wins_a_swap_and_floats_are_swapped(case: Case) -> None:
    """All others get its number; an operation that has only begun brings its value by the next quiet."""

    async def main(pe: Any) -> tuple[int, int]:
        me = pe.my_pe()
        winner, number = await pe.full(1, -1), await pe.full(1, 1.5)
        before = await pe.atomic_compare_swap(winner, -1, me, 0)
        old = np.zeros(())
        await pe.atomic_swap_nbi(old, number, 2.5, me)
        await pe.quiet()
        assert (float(old), await pe.atomic_fetch(number, me)) == (1.5, 2.5)
        await pe.atomic_set(number, -0.25, me)
        assert number[0] == -0.25
        return before, await pe.atomic_fetch(winner, 0)

    values = play(case, main).values
    (winner,) = [me for me, (before, _) in enumerate(values) if before == -1]
    assert all(last == winner and before in (-1, winner) for before, last in values)


@pytest.mark.rule("S14")
@pytest.mark.crowds
def test_a_lock_keeps_pes_apart_and_completes_their_puts(case: Case) -> None:
    """A get and a put of the holder make a count that loses nothing."""

    async def main(pe: Any) -> int:
        total, lock, plain = await pe.zeros(1, "i8"), await pe.Lock(), await pe.new_lock()
        here = np.zeros(1, "i8")
        for turn in range(4):
            if turn % 2:
                await pe.set_lock(plain)
            else:
                await lock.acquire()
            await pe.get(here, total, 0)
            await pe.put(total, here + 1, 0)
            if turn % 2:
                await pe.clear_lock(plain)
            else:
                await lock.release()
            await pe.barrier_all()
        return int(total[0])

    values = play(case, main).values
    assert values[0] == 4 * len(values)


@pytest.mark.rule("S14")
@pytest.mark.parametrize("how", ["async with", "release", "clear_lock"])
def test_a_holder_that_is_cancelled_gives_the_lock_back_with_what_it_put(case: Case, how: str) -> None:
    """The next holder reads it."""

    async def main(pe: Any) -> int:
        value, lock, plain = await pe.zeros(1, "i8"), await pe.Lock(), await pe.new_lock()
        last = pe.n_pes() - 1
        if pe.my_pe() == 0:
            with trio.CancelScope() as scope:
                if how == "async with":
                    async with lock:
                        await pe.put_nbi(value, np.full(1, 100), last)
                        scope.cancel()
                        await trio.lowlevel.checkpoint()
                else:
                    await (lock.acquire() if how == "release" else pe.set_lock(plain))
                    await pe.put_nbi(value, np.full(1, 100), last)
                    scope.cancel()
                    await (lock.release() if how == "release" else pe.clear_lock(plain))
                    await trio.lowlevel.checkpoint()
            assert scope.cancelled_caught
        await pe.sync_all()  # which completes no puts
        if pe.my_pe() == last:
            await (pe.set_lock(plain) if how == "clear_lock" else lock.acquire())
            value[0] += 1
            await (pe.clear_lock(plain) if how == "clear_lock" else lock.release())
        await pe.barrier_all()
        return int(value[0])

    assert play(case.at_least(2), main).values[-1] == 101


@pytest.mark.rule("S14")
def test_one_pe_has_a_lock_that_is_only_tried(case: Case) -> None:
    """The others hear that they have it not, and who has it not cannot give it back."""

    async def main(pe: Any) -> bool:
        lock = await pe.new_lock()
        taken = not await pe.test_lock(lock)
        await pe.sync_all()
        if not taken:
            with pytest.raises(conduit.BadRequest, match=r"does not hold|not held"):
                await pe.clear_lock(lock)
        await pe.sync_all()
        if taken:
            await pe.clear_lock(lock)
        await pe.del_lock(lock)
        return taken

    assert sum(play(case, main).values) == 1
