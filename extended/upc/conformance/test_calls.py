"""Synchronisation, atomics, memory, bytes and collectives."""

import re
from typing import Any

import numpy as np
import pytest
import trio

import conduit
import extended
from conduit.conformance.cases import Case
from extended import upc
from extended.upc.conformance.programs import BLOCKS, filled, play, refused, told


@pytest.mark.rule("U16")
@pytest.mark.crowds
def test_barriers_are_fences_and_have_ids(case: Case) -> None:
    """Whole and split; a mismatch is heard of on every thread, and the barrier goes on."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, t.THREADS)
        for number in range(3):
            a[(t.MYTHREAD + 1) % t.THREADS] = number
            await t.notify(number)
            await t.ep.compute(t.MYTHREAD * 1e-6)
            await t.wait(number)
            assert (await a[:] == number).all()
            await t.barrier(7)
        if t.THREADS > 1:
            with pytest.raises(extended.BarrierMismatch):
                await t.barrier(t.MYTHREAD)
        await t.barrier()

    play(case, main)


@pytest.mark.rule("U17")
@pytest.mark.crowds
def test_a_lock_is_a_fence(case: Case) -> None:
    """What its holder wrote is there for the next."""

    async def main(t: upc.Thread) -> int:
        a = await filled(t, (t.THREADS, 3), 1)
        for _ in range(3):
            async with t.lock("sum"):
                a[t.THREADS - 1, 1] = await a[t.THREADS - 1, 1] + 1
        lock = t.lock("sum")
        await lock.acquire()
        a[0, 0] = t.MYTHREAD
        await lock.release()
        await t.barrier()
        return int(await a[t.THREADS - 1, 1])

    values = play(case, main).values
    assert set(values) == {3 * (len(values) - 1) + 1 + 3 * len(values)}


@pytest.mark.rule("U17")
@pytest.mark.parametrize("how", ["async with", "release"])
def test_a_holder_that_is_cancelled_releases_the_lock_and_what_it_wrote_first(case: Case, how: str) -> None:
    """The next holder reads it, and no late write of the one before takes the place of its own."""

    async def main(t: upc.Thread) -> int:
        a, lock = await filled(t, t.THREADS), t.lock("cancelled")
        last = t.THREADS - 1
        if t.MYTHREAD == 0:
            with trio.CancelScope() as scope:
                if how == "async with":
                    async with lock:
                        a[last] = 100
                        scope.cancel()
                        await trio.lowlevel.checkpoint()
                else:
                    await lock.acquire()
                    a[last] = 100
                    scope.cancel()
                    await lock.release()
                    await trio.lowlevel.checkpoint()
            assert scope.cancelled_caught
        await t.extended.barrier()  # which completes no writes
        if last == t.MYTHREAD:
            async with lock:
                a[last] = await a[last] + 1
        await t.barrier()
        return int(await a[last])

    assert set(play(case.at_least(2), main).values) == {101}


@pytest.mark.rule("U18")
@pytest.mark.crowds
@pytest.mark.parametrize("dtype", ["i4", "u8", "f4", "f8"])
def test_additions_are_atomic(case: Case, dtype: str) -> None:
    """Repeated indices count repeatedly, and this thread's writes come first."""

    async def main(t: upc.Thread) -> Any:
        a = await t.all_alloc((4, 10), dtype=dtype, block=3)
        if t.MYTHREAD == 0:
            a[1, 1] = 5
            await a.add_at((1, 1), 1)
            assert await a[1, 1] == 6
        await t.barrier()
        await a.add_at(([0, 0, 3], [2, 2, 9]), [1, 2, 4])
        await a.add_at((slice(None), 4), 1)
        await a.add_at((2, 2), np.int8(1))
        return await a.fetch_add((3, 3), 1), await a.gather_to(0)

    values = play(case, main).values
    n = len(values)
    assert sorted(value[0] for value in values) == list(range(n))
    whole = values[0][1]
    assert (whole[0, 2], whole[3, 9], whole[1, 1], whole[2, 2], whole[3, 3]) == (3 * n, 4 * n, 6, n, n)
    assert (whole[:, 4] == n).all()
    assert whole.sum() == 13 * n + 6


@pytest.mark.rule("U18")
@pytest.mark.crowds
def test_compare_swap_lets_one_win(case: Case) -> None:
    """And gives the value before."""

    async def main(t: upc.Thread) -> Any:
        a, half = await t.all_alloc(2 * t.THREADS, dtype="i8", block=1), await t.all_alloc(4, dtype="f2")
        before = await a.compare_swap(2 * t.THREADS - 1, 0, t.MYTHREAD + 1)
        await t.barrier()
        assert "dtype float16" in await refused(lambda: half.add_at(0, 1))
        return before, await a[-1]

    values = play(case, main).values
    winner = {after for _, after in values}
    assert len(winner) == 1
    assert sorted(before for before, _ in values)[0] == 0
    assert [before for before, _ in values].count(0) == 1
    assert winner.pop() - 1 == [before for before, _ in values].index(0)


@pytest.mark.rule("U19", "U20")
@pytest.mark.crowds
def test_one_thread_allocates_for_all(case: Case) -> None:
    """Others open it by its key; one frees it, and no thread uses it then."""

    async def main(t: upc.Thread) -> Any:
        last = t.THREADS - 1
        made = await t.global_alloc((5, 7), dtype="f4", block=2) if last == t.MYTHREAD else None
        key = await told(t, made.key if made is not None else None, last)
        a = t.array(key)
        assert a is t.array(key)
        assert (a.shape, a.dtype.str, a.block) == ((5, 7), "<f4", 2)
        for i in a.forall():
            a[i] = 7 * i[0] + i[1]
        await t.barrier()
        assert np.array_equal(await a[:], np.arange(35).reshape(5, 7))
        await t.barrier()
        low = t.extended.heap_low
        if t.MYTHREAD == 0:
            await t.free(a)
            assert "freed" in await refused(lambda: t.free(a))
        await t.barrier()
        for use in (lambda: a[0, 0], lambda: a.local, lambda: t.array(key), lambda: a.add_at((0, 0), 1)):
            message = await refused(use)
            assert "freed by t.free of thread 0" in message
        own = await t.alloc(10, dtype="i2")
        assert (own.local.size, own.threadof(9), own.block) == (10, t.MYTHREAD, "indefinite")
        await t.barrier()
        await t.free(own)
        return low

    play(case, main)


@pytest.mark.rule("U4", "U20")
@pytest.mark.crowds
@pytest.mark.parametrize("size", [1, 11])
def test_an_array_that_lies_on_one_thread_is_used_as_any_other(case: Case, size: int) -> None:
    """Element 0 is not thread 0's: reads, writes, additions, reductions and bytes count from the thread that has it."""

    async def main(t: upc.Thread) -> None:
        last = t.THREADS - 1
        made = await t.alloc(size, dtype="i8") if last == t.MYTHREAD else None
        a = t.array(await told(t, made.key if made is not None else None, last))
        b = await filled(t, size, 2)
        model = 3 * np.arange(size) - 7
        assert (a.local.size, a.threadof(size - 1)) == (size if made is not None else 0, last)
        assert list(a.forall()) == list(range(a.local.size))
        mine = slice(t.MYTHREAD, None, t.THREADS)
        a[mine] = model[mine]
        await t.barrier()
        assert np.array_equal(await a[::-1], model[::-1])
        assert np.array_equal(await a.to_numpy(), model)
        assert (await t.memget((a, 0), 8)).view("i8") == model[0]
        await t.barrier()
        await a.add_at(slice(None), t.MYTHREAD)
        model += t.THREADS * last // 2
        got = await a.gather_to(0)
        assert got is None or np.array_equal(got, model)
        for op in ("sum", lambda first, second: first):
            await t.all_reduce((b, 0), a, op)
            assert await b[0] == (model.sum() if op == "sum" else model[0])
            await t.all_prefix_reduce(b, a, op)
            assert np.array_equal(await b[:], np.cumsum(model) if op == "sum" else np.full(size, model[0]))
        await t.all_prefix_reduce(a, b, "max")
        assert np.array_equal(await a[:], await b[:])
        await t.barrier()
        a[mine] = model[::-1][mine]
        await t.all_sort(a)
        assert np.array_equal(await a[:], np.sort(model))

    play(case, main)


@pytest.mark.rule("U21")
@pytest.mark.crowds
def test_too_little_room_says_how_much_is_needed(case: Case) -> None:
    """On all threads; the memory that is left can still be allocated."""

    async def main(t: upc.Thread) -> None:
        for call in (t.all_alloc, t.global_alloc, t.alloc):
            message = await refused(lambda call=call: call(1_000_000 * t.THREADS, dtype="f8"))  # type: ignore[misc]
            takes, most = 8_000_000 * (t.THREADS if call == t.alloc else 1), t.ep.max_segment
            assert f"takes {takes} bytes of every thread's segment" in message
            too_much = most is not None and most < takes
            advice = f"the network gives a thread at most {most} bytes" if too_much else "start the job with segment="
            assert advice in message
        assert (await t.all_alloc(10)).shape == (10,)

    play(case, main)


@pytest.mark.rule("U22")
def test_threads_that_allocate_different_arrays_find_out(case: Case) -> None:
    """Also where the bytes are the same; no memory is taken."""

    async def main(t: upc.Thread) -> None:
        low = t.extended.heap_low
        message = await refused(lambda: t.all_alloc(16, dtype="f8" if t.MYTHREAD else "i8"))
        first, other = re.findall(
            r"thread (\d+) called t\.all_alloc\(shape=\(16,\), dtype=(\w+), block=\d+\) at ", message
        )
        assert (first, other) == (("0", "int64"), ("1", "float64"))
        assert message.endswith("; make the same calls with the same arguments in the same order on every thread")
        assert t.extended.heap_low == low
        await t.all_alloc(16)

    play(case.at_least(2), main)


@pytest.mark.rule("U16", "U21")
def test_an_allocation_between_notify_and_wait_takes_no_memory(case: Case) -> None:
    """There is a barrier in it; after the wait it is made."""

    async def main(t: upc.Thread) -> None:
        low = t.extended.heap_low
        await t.notify()
        assert await refused(lambda: t.all_alloc(1000)) == (
            "t.all_alloc: this thread has notified the barrier and not yet waited for it; call t.wait first"
        )
        await t.wait()
        assert t.extended.heap_low == low
        await t.all_alloc(1000)

    play(case, main)


@pytest.mark.rule("U23")
@pytest.mark.crowds
def test_bytes_from_a_place_on(case: Case) -> None:
    """Those of the owner's part alone."""

    async def main(t: upc.Thread) -> None:
        a, b = await filled(t, (t.THREADS, 8)), await t.all_alloc((t.THREADS, 8), dtype="i8")
        last = t.THREADS - 1
        if t.MYTHREAD == 0:
            a[last, 1] = 77
            assert (await t.memget((a, (last, 1)), 16)).view("i8").tolist() == [77, 8 * last + 2]
            await t.memput((b, (last, 6)), np.array([5, 6]))
            await t.memcpy((b, (0, 0)), (a, (last, 0)), 64)
            await t.memset((b, (last, 0)), 255, 16)
            wanted = np.zeros((t.THREADS, 8), "i8")
            wanted[last, 6:] = 5, 6
            wanted[0] = 8 * last + np.arange(8)
            wanted[0, 1] = 77
            wanted[last, :2] = -1
            assert np.array_equal(await b.to_numpy(), wanted)
            for call in (
                lambda: t.memget((a, (0, 1)), 57), lambda: t.memput((a, (last, 7)), bytes(9)),
                lambda: t.memcpy((a, (0, 0)), (b, (0, 7)), 9), lambda: t.memset((a, (last, 7)), 0, 9),
            ):  # fmt: skip
                assert "thread" in await refused(call)
            for call in (lambda: t.memget(a, 5), lambda: t.memget((a, 0), 5), lambda: t.memset((a, (0, 0)), 256, 1)):
                assert await refused(call)
        await t.barrier()

    play(case, main)


@pytest.mark.rule("U23", "U7")
@pytest.mark.parametrize("call", ["memput", "memset", "memcpy", "within"])
def test_bytes_come_after_what_this_thread_has_written(case: Case, call: str) -> None:
    """What it wrote before is neither sent later, over them, nor missing where they are copied from."""

    async def main(t: upc.Thread) -> None:
        a, b = await filled(t, (t.THREADS, 8)), await filled(t, (t.THREADS, 8))
        last = t.THREADS - 1
        if t.MYTHREAD == 0:
            a[last] = b[last] = -5
            a[last, 0] = b[last, 4] = 9
            await {
                "memput": lambda: t.memput((b, (last, 0)), np.full(4, 9)),
                "memset": lambda: t.memset((b, (last, 0)), 0, 32),
                "memcpy": lambda: t.memcpy((b, (last, 0)), (a, (last, 0)), 32),
                "within": lambda: t.memcpy((b, (last, 0)), (b, (last, 4)), 32),
            }[call]()
            first = {"memput": [9] * 4, "memset": [0] * 4}.get(call, [9, -5, -5, -5])
            await t.fence()
            assert (await b[last]).tolist() == [*first, 9, -5, -5, -5]
        await t.barrier()

    play(case, main)


@pytest.mark.rule("U23")
@pytest.mark.crowds
def test_bytes_reach_to_the_end_of_the_part_of_their_owner(case: Case) -> None:
    """Parts differ in length: the first thread has one element more than the others."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 2 * t.THREADS + 1, 1)
        for owner in range(t.THREADS):
            nbytes = 24 if owner == 0 else 16
            assert (await t.memget((a, owner), nbytes)).view("i8").tolist() == list(range(2 * t.THREADS + 1))[
                owner :: t.THREADS
            ]
            message = f"more than the {nbytes} that thread {owner} has"
            assert message in await refused(lambda owner=owner, n=nbytes: t.memget((a, owner), n + 1))  # type: ignore[misc]
        await t.barrier()

    play(case, main)


def _part(thread: int, nbytes: int) -> Any:
    return (np.arange(nbytes) * 3 + 50 * thread).astype(np.uint8)


@pytest.mark.rule("U24")
@pytest.mark.crowds
@pytest.mark.parametrize("nbytes", [0, 5, 64])
def test_collectives_on_bytes(case: Case, nbytes: int) -> None:
    """Each with UPC's meaning, against what numpy makes of all parts."""

    async def main(t: upc.Thread) -> None:
        threads, me, n = t.THREADS, t.MYTHREAD, nbytes
        size = n * threads + 2
        src, dst = await t.all_alloc(size * threads, dtype="u1"), await t.all_alloc(size * threads, dtype="u1")
        src.local = _part(me, size)
        parts = [_part(thread, size) for thread in range(threads)]
        last = threads - 1
        await t.all_broadcast(dst, (src, size * last + 1), n)
        assert np.array_equal(dst.local[:n], parts[last][1 : 1 + n])
        await t.all_scatter(dst, (src, size * last), n)
        assert np.array_equal(dst.local[:n], parts[last][me * n : me * n + n])
        await t.all_gather((dst, 1), src, n)
        if me == 0:
            assert np.array_equal(dst.local[1 : 1 + n * threads], np.concatenate([part[:n] for part in parts]))
        await t.all_gather_all(dst, src, n)
        assert np.array_equal(dst.local[: n * threads], np.concatenate([part[:n] for part in parts]))
        await t.all_exchange(dst, src, n)
        wanted = np.concatenate([part[me * n : me * n + n] for part in parts])
        assert np.array_equal(dst.local[: n * threads], wanted)
        perm = [(thread + 1) % threads for thread in range(threads)]
        shared = await t.all_alloc(threads, dtype="i4", block=1)
        shared.local = perm[me]
        for given in (perm, shared):
            dst.local = 0
            await t.all_permute(dst, src, given, n)
            assert np.array_equal(dst.local[:n], parts[me - 1][:n])
        await t.all_permute(src, src, perm, size)
        assert np.array_equal(src.local, parts[me - 1])
        if n:
            await t.all_permute(shared, src, shared, 4)
            assert np.array_equal(shared.local.view("u1"), parts[(me - 2) % threads][:4])
        assert "thread" in await refused(lambda: t.all_broadcast(dst, (src, 0), size + 1))
        assert "permutation" in await refused(lambda: t.all_permute(dst, src, [0] * threads + [0], n))

    play(case, main)


@pytest.mark.rule("U25")
@pytest.mark.crowds
@pytest.mark.parametrize("block", BLOCKS)
def test_reductions(case: Case, block: Any) -> None:
    """Of all elements, and of those up to each; also with functions that do not commute."""

    async def main(t: upc.Thread) -> None:
        for size, dtype in ((1, ">i4"), (37, "i8")):  # of one thread alone, its bytes in the order of another machine
            values = np.random.default_rng(size).integers(-100, 100, size).astype(dtype)
            a, b = await t.all_alloc(size, dtype=dtype, block=block), await t.all_alloc(size, dtype=dtype, block=2)
            a.local = values[a.local_index]
            for op, ufunc in (("sum", np.add), ("min", np.minimum), ("xor", np.bitwise_xor), (np.maximum, np.maximum)):
                await t.all_reduce((b, size - 1), a, op)
                assert await b[size - 1] == ufunc.reduce(values)
                await t.all_prefix_reduce(b, a, op)
                assert np.array_equal(await b[:], ufunc.accumulate(values))
            await t.all_reduce((b, 0), a, lambda first, second: second)
            assert await b[0] == values[-1]
            await t.all_prefix_reduce(b, a, lambda first, second: first)
            assert (await b[:] == values[0]).all()
            await t.all_free(a)
            await t.all_free(b)

    play(case, main)


@pytest.mark.rule("U26")
@pytest.mark.crowds
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", [">i2", "f8", "S3"])
def test_sort(case: Case, block: Any, dtype: str) -> None:
    """In place, as numpy sorts; equal values and values that are no numbers too."""

    async def main(t: upc.Thread) -> None:
        for shape in ((0,), (1,), (9, 11)):
            values: Any = np.random.default_rng(3).integers(0, 60, shape).astype(dtype)
            if dtype == "f8" and values.size:
                values.reshape(-1)[::7] = np.nan
            a = await t.all_alloc(shape, dtype=dtype, block=block)
            a.local = values.reshape(-1)[a.local_index]
            await t.all_sort(a)
            assert (await a.to_numpy()).tobytes() == np.sort(values.reshape(-1)).tobytes()
            await t.all_free(a)

    play(case, main)


@pytest.mark.rule("U27")
@pytest.mark.crowds
def test_the_whole_array_comes_to_one_thread(case: Case) -> None:
    """By all together, with everybody's writes, or by one alone, with its own."""

    async def main(t: upc.Thread) -> None:
        for block in (4, 30, "indefinite"):  # parts of much the same length, of different ones, a single part
            a = await t.all_alloc((3, 11), dtype="i4", block=block)
            mine = np.arange(33)[t.MYTHREAD :: t.THREADS]
            a[np.unravel_index(mine, (3, 11))] = mine
            got = await a.gather_to(t.THREADS - 1)
            assert (got is None) == (t.MYTHREAD != t.THREADS - 1)
            assert got is None or np.array_equal(got, np.arange(33).reshape(3, 11))
            if t.MYTHREAD == 0:
                a[2, 10] = -1
                assert (await a.to_numpy())[2].tolist() == [*range(22, 32), -1]

    play(case, main)


@pytest.mark.rule("U28")
@pytest.mark.once
def test_wrong_calls_name_the_argument_and_what_to_give(case: Case) -> None:
    """At the call, before anything is sent."""

    async def main(t: Any) -> None:
        a = await filled(t, 10)
        wrong: list[tuple[Any, str]] = [
            (lambda: t.all_alloc(10, dtype="nonsense"), "dtype='nonsense'"),
            (lambda: t.all_alloc(10, dtype=object), "objects"),
            (lambda: t.all_alloc(10, dtype="S"), "no fixed size"), (lambda: t.all_alloc(10, block=0), "block=0"),
            (lambda: t.all_alloc(10, block="cyclic"), "block='cyclic'"),
            (lambda: t.all_alloc(10, block=1.5), "block=1.5"),
            (lambda: t.all_alloc(-1), "shape=-1"), (lambda: t.all_alloc((2, 2.5)), "shape=2.5"),
            (lambda: t.all_alloc("x"), "shape='x'"), (lambda: t.all_alloc(10, dtype=None), "dtype=None"),
            (lambda: t.all_alloc(10, dtype=("i4", 3)), "at the end of shape="), (lambda: t.all_free(3), "a=3"),
            (lambda: t.array(b"x"), "key"), (lambda: t.array(5), "key"), (lambda: a.gather_to(99), "thread=99"),
            (lambda: a.forall("x"), "range"), (lambda: t.forall(0, 5, 0), "range"), (lambda: t.barrier("x"), "id='x'"),
            (lambda: t.lock(1.5), "name=1.5"), (lambda: t.all_reduce((a, 0), a, "avg"), "op='avg'"),
            (lambda: t.all_reduce(a, a, "sum"), "no place"), (lambda: a.add_at(0, 1.5), "float64"),
            (lambda: a.fetch_add(0, "x"), "v='x'"), (lambda: t.memput((a, 0), object()), "bytes"),
        ]  # fmt: skip
        for call, words in wrong:
            message = await refused(call)
            assert words in message, message
        await t.all_free(a)
        assert "freed" in await refused(lambda: t.all_free(a))

    play(case, main)


@pytest.mark.rule("U29")
@pytest.mark.simulated
def test_a_collective_that_a_thread_skips_is_reported(case: Case) -> None:
    """With the missing thread, and the line where each waits."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 8 * t.THREADS)
        if t.MYTHREAD != 1:
            await t.all_sort(a)  # the line that waits

    with pytest.raises(conduit.Deadlock) as caught:
        play(case.at_least(2), main)
    report: Any = caught.value.report
    for rank in (each for each in report.ranks if each.rank != 1):
        (task,) = rank.tasks
        assert task.wait.awaited == (1,)
        assert (task.place.function, task.place.file) == ("main", __file__)
    assert "test_calls.py" in str(caught.value)
    assert "rank 1" in str(caught.value).splitlines()[1]


@pytest.mark.rule("U30")
@pytest.mark.simulated
def test_a_cancelled_collective_is_told_to_all(case: Case) -> None:
    """The thread is out of step, and would meet the others in another part of a call."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 3 * t.THREADS)
        if t.MYTHREAD == 0:
            with trio.move_on_after(1e-3) as scope:
                await t.all_sort(a)
            assert scope.cancelled_caught
        else:
            await t.ep.compute(0.1)
        for call in (lambda: t.all_sort(a), t.barrier):
            message = await refused(call, conduit.ConduitError)
            assert "t.all_sort was cancelled on thread 0 of the job" in message

    play(case.at_least(2), main)
