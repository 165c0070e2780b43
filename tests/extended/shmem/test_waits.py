"""Waits, tests, signals, locks, atomics, and what fence and quiet do under weak order."""

import numpy as np
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

import conduit
from conduit.simnet.onesided import Native
from extended import shmem

COMPARE = {
    "==": np.equal,
    "!=": np.not_equal,
    ">": np.greater,
    "<=": np.less_equal,
    "<": np.less,
    ">=": np.greater_equal,
}
WEAK = "loggp:order=weak,max_medium=512,max_long=1000"
SEEDS = range(20)


def run(main, *args, pes=2, network="loggp", **settings):
    return shmem.run(main, *args, pes=pes, conduit=network, **settings).values


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()), max_size=5),
    st.sampled_from(sorted(COMPARE)),
    st.sampled_from(["i2", "i4", "i8"]),
)
def test_looking_is_as_numpy_says(rows, cmp, dtype):
    values = [value for _, value, _ in rows]
    status = [excluded for _, _, excluded in rows]
    array = np.array([element for element, _, _ in rows], dtype)

    async def main(pe):
        ivars = await pe.array(array)
        for vector in (False, True):
            end, value = ("_vector", values) if vector else ("", 1)
            meets = COMPARE[cmp](array, np.array(value, dtype)) & ~np.array(status, bool)
            indices = np.flatnonzero(meets).tolist()
            whole = bool(meets.sum() == len(rows) - sum(status))
            assert await getattr(pe, f"test_all{end}")(ivars, cmp, value, status) is whole
            assert await getattr(pe, f"test_any{end}")(ivars, cmp, value, status) == (indices or [None])[0]
            assert await getattr(pe, f"test_some{end}")(ivars, cmp, value, status) == indices
            if whole:
                assert await getattr(pe, f"wait_until_all{end}")(ivars, cmp, value, status) is None
            if indices or all(status):
                assert await getattr(pe, f"wait_until_any{end}")(ivars, cmp, value, status) == (indices or [None])[0]
                assert await getattr(pe, f"wait_until_some{end}")(ivars, cmp, value, status) == indices

    run(main, pes=1)


@pytest.mark.parametrize("network", ["loggp", "sci", "startx", "sunfire", "udp", "origin", "t3e"])
def test_waiting_ends_by_a_put_an_atomic_and_a_signal(network):
    async def main(pe):
        flags = await pe.zeros(3, "i8")
        signal = await pe.new_signal()
        data = await pe.zeros(500)
        if pe.my_pe() == 0:
            await pe.ep.compute(1e-4)
            await pe.put(flags, np.array([5]), 1)
            await pe.atomic_inc(flags[1:2], 1)
            await pe.put_signal(data, np.arange(500.0), 1, signal, 9, pe.SIGNAL_SET)
            await pe.put_signal_nbi(flags[2:], np.array([1]), 1, signal, 2, pe.SIGNAL_ADD)
            return None
        assert not await pe.test(flags[:1], pe.CMP_EQ, 5)
        await pe.wait_until(flags[:1], "eq", 5)
        found = [await pe.wait_until_any(flags, pe.CMP_EQ, 1, [1, 0, 1])]
        assert await pe.signal_wait_until(signal, ">=", 9) in (9, 11)
        assert data.tolist() == list(range(500))
        found.append(await pe.signal_wait_until(signal, ">", 9))
        assert await pe.signal_fetch(signal) == 11
        await pe.wait_until_all_vector(flags, ">=", [5, 1, 1])
        return found

    assert run(main, network=network)[1] == [1, 11]


def test_a_wait_that_nothing_can_end_is_a_deadlock():
    async def main(pe):
        flag = await pe.zeros(1, "i4")
        await pe.wait_until(flag, pe.CMP_NE, 0)

    with pytest.raises(conduit.Deadlock, match=r"pe\.wait_until: an element != 0, which was 0 at first and is 0 now"):
        run(main)


def test_the_report_of_a_wait_says_what_is_there_by_now():
    async def main(pe):
        flag = await pe.zeros(1, "i4")
        if pe.my_pe():
            async with trio.open_nursery() as nursery:  # each task has words of its own
                nursery.start_soon(pe.wait_until, flag, "==", 5)
                nursery.start_soon(pe.wait_until, flag, ">", 7)
        else:
            await pe.put(flag, np.array([4], "i4"), 1)

    with pytest.raises(conduit.Deadlock) as found:
        run(main)
    assert "waits for pe.wait_until: an element == 5, which was 0 at first and is 4 now, since" in str(found.value)
    assert "waits for pe.wait_until: an element > 7, which was 0 at first and is 4 now, since" in str(found.value)


def test_what_ended_is_no_more_told_as_what_a_task_waits_for():
    async def main(pe):
        flag = await pe.zeros(1, "i4")
        if pe.my_pe():
            await pe.wait_until(flag, "==", 4)
            await pe.ep.block_until(lambda: False, what="more")
        else:
            await pe.put(flag, np.array([4], "i4"), 1)

    with pytest.raises(conduit.Deadlock, match="waits for more since"):
        run(main)


def test_the_report_of_a_wait_for_several_says_what_they_are_to_be():
    async def main(pe):
        flags = await pe.zeros(3, "i4")
        if pe.my_pe():
            await pe.wait_until_all(flags, ">=", 2)
        else:
            await pe.wait_until_any_vector(flags, pe.CMP_EQ, [1, 2, 3])

    with pytest.raises(conduit.Deadlock) as found:
        run(main)
    assert "waits for pe.wait_until_all: elements >= 2, which are 0, 0, 0 now, since" in str(found.value)
    assert "pe.wait_until_any_vector: elements == those given, which are 0, 0, 0 now, since" in str(found.value)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda pe, a: pe.wait_until(a, "==", 1), "ivar has 4 elements"),
        (lambda pe, a: pe.test(a[:1], "=", 1), "cmp='='"),
        (lambda pe, a: pe.test(a[:1], 9, 1), "cmp=9"),
        (lambda pe, a: pe.test(a[:1], "==", 1.5), "value=1.5 is a float"),
        (lambda pe, a: pe.test(a[:1], "==", 1 << 40), "cannot be that"),
        (lambda pe, a: pe.test(a.copy(), "==", 1), "ivar is not symmetric"),
        (lambda pe, a: pe.test(a.view("f4"), "==", 1), "dtype float32"),
        (lambda pe, a: pe.test_all_vector(a, "==", [1]), "values has 1 element"),
        (lambda pe, a: pe.test_all(a, "==", 1, [0]), "status has 1 element"),
        (lambda pe, a: pe.signal_fetch(a), "signal has 4 elements"),
        (lambda pe, a: pe.atomic_add(a, 1, 0), "target has 4 elements"),
        (lambda pe, a: pe.atomic_add(a[:1], 1.5, 0), "atomic_add: value=1.5 is a float"),
        (lambda pe, a: pe.atomic_add(a[:1].view("f4"), 1, 0), "dtype float32; give one of i4"),
        (lambda pe, a: pe.atomic_set(a[:2].view("c8"), 1, 0), "dtype complex64"),
        (lambda pe, a: pe.atomic_set(a[:1].view("f4"), "1", 0), "atomic_set: value='1' is no number of type float32"),
        (lambda pe, a: pe.atomic_fetch_nbi(np.zeros(2, "i4"), a[:1], 0), "fetch has 2 elements"),
        (lambda pe, a: pe.atomic_op(a[:1], 1, "nand", 0), "op='nand'"),
        (lambda pe, a: pe.put_signal(a, a, 0, a.view("u8")[:1], 1, 7), "sigop=7"),
        (lambda pe, a: pe.put_signal(a, a, 0, a.view("u8")[:1], 1, a), "sigop=.* is not known"),
        (lambda pe, a: pe.test(a[:1], a, 1), "pe.test: cmp=.* is not known"),
        (lambda pe, a: pe.test_all(a, "==", 0, ["a"] * 4), "pe.test_all: status=.* are no numbers; give 0 for"),
        (
            lambda pe, a: pe.test_all(a, "==", 0, [[1], [1, 2]]),
            r"status=\[\[1\], \[1, 2\]\] are no numbers",
        ),
        (
            lambda pe, a: pe.signal_wait_until(a.view("u8")[:1], "==", -1),
            "pe.signal_wait_until: -1 is compared with signal of dtype uint64",
        ),
    ],
)
def test_misuse_is_refused_at_the_call(wrong, words):
    async def main(pe):
        a = await pe.zeros(4, "i4")
        with pytest.raises(conduit.BadRequest, match=words):
            wrong(pe, a)
        await pe.barrier_all()

    run(main)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("network", ["loggp", "t3e"])
def test_atomics_of_all_pes_are_not_torn(network, dtype):
    async def main(pe):
        n, me = pe.n_pes(), pe.my_pe()
        a = await pe.zeros(4, dtype)
        mine = [await pe.atomic_fetch_add(a[:1], 2, 0) for _ in range(4)]
        await pe.atomic_or(a[1:2], 1 << me, 0)
        while await pe.atomic_compare_swap(a[2:3], me, me + 1, 0) != me:
            pass
        fetched = np.zeros((), dtype)
        await pe.atomic_swap_nbi(fetched, a[3:4], -1, me)
        await pe.atomic_fetch_xor(a[3:4], 1, me)
        await pe.barrier_all()
        assert fetched == 0
        assert int(a[3]) == np.array(-2).astype(dtype)
        await pe.atomic_and(a[1:2], 2, me)
        return mine, await pe.atomic_fetch(a[:1], 0), await pe.atomic_fetch(a[2:3], 0), n

    values = run(main, pes=3, network=network)
    assert sorted(number for mine, *_ in values for number in mine) == list(range(0, 24, 2))
    assert all(rest == [24, 3, 3] for _, *rest in values)


@pytest.mark.parametrize("value", [np.True_, np.array(True), np.array(1)], ids=repr)
def test_bools_of_numpy_and_arrays_of_no_dimension_are_numbers(value):
    async def main(pe):
        a = await pe.zeros(1, "i8")
        await pe.atomic_add(a, value, 1)
        await pe.barrier_all()
        if pe.my_pe() == 1:
            await pe.wait_until(a, ">=", value)
        return await pe.atomic_fetch_add(a, value, pe.my_pe())

    assert run(main) == [0, 2]


def test_floats_are_fetched_set_and_swapped():
    async def main(pe):
        a = await pe.zeros(1)
        await pe.atomic_set(a, 1.5, 0)
        await pe.barrier_all()
        before = await pe.atomic_swap(a, 2.5, pe.my_pe())
        return before, await pe.atomic_fetch(a, pe.my_pe())

    assert run(main) == [(1.5, 2.5), (0.0, 2.5)]


def test_a_lock_keeps_pes_apart_and_completes_their_puts():
    async def main(pe):
        total, lock, plain = await pe.zeros(1, "i8"), await pe.Lock(), await pe.new_lock()
        here = np.zeros(1, "i8")
        for _ in range(4):
            async with lock:
                await pe.get(here, total, 0)
                await pe.put(total, here + 1, 0)
        await pe.barrier_all()
        taken = not await pe.test_lock(plain)
        await pe.sync_all()
        if taken:
            await pe.clear_lock(plain)
        await pe.sync_all()
        got = await lock.acquire(blocking=False)
        await pe.sync_all()
        if got:
            await lock.release()
        else:
            with pytest.raises(conduit.BadRequest, match=r"does not hold|not held"):
                await lock.release()
        await lock.destroy()
        with pytest.raises(conduit.BadRequest, match="lock was freed"):
            await lock.acquire()
        await pe.del_lock(plain)
        return int(total[0]), taken, got

    values = run(main, pes=3)
    assert values[0][0] == 12
    assert sum(taken for _, taken, _ in values) == sum(got for _, _, got in values) == 1


# --------------------------------------------------------------------------------------------- fence under weak order


async def overtaking(pe, between, size):
    """Put data, then a flag; give what the other PE finds when it sees the flag."""
    data, flag = await pe.zeros(size, "i8"), await pe.zeros(1, "i8")
    if pe.my_pe() == 0:
        await pe.put_nbi(data, np.ones(size, "i8"), 1)
        if between is not None:
            await getattr(pe, between)()
        await pe.put_nbi(flag, np.ones(1, "i8"), 1)
        await pe.quiet()
        return None
    await pe.wait_until(flag, pe.CMP_EQ, 1)
    return bool(data.all())


def _seen(network, between, size=300):
    return [run(overtaking, between, size, network=network, seed=seed)[1] for seed in SEEDS]


def test_without_a_fence_a_flag_overtakes_data():
    assert not all(_seen(WEAK, None))


@pytest.mark.parametrize("between", ["fence", "quiet"])
@pytest.mark.parametrize("network", [WEAK, "t3e:order=weak"])
def test_with_a_fence_or_quiet_it_does_not(network, between):
    assert all(_seen(network, between))


async def two_targets(pe):
    """Put data on one context, fence the other, and put a flag there."""
    data, flag = await pe.zeros(300, "i8"), await pe.zeros(1, "i8")
    other = await pe.Ctx.create()
    if pe.my_pe() == 0:
        await pe.put_nbi(data, np.ones(300, "i8"), 1, ctx=other)
        await pe.fence()
        await pe.put_nbi(flag, np.ones(1, "i8"), 1)
        await pe.quiet()
        await other.quiet()
        return None
    await pe.wait_until(flag, pe.CMP_EQ, 1)
    return bool(data.all())


def test_a_fence_orders_its_own_context_alone():
    assert not all(run(two_targets, network=WEAK, seed=seed)[1] for seed in SEEDS)


async def without_completion(pe):
    """Put large data, and meet by sync_all, which completes nothing."""
    data = await pe.zeros(2000, "i8")
    await pe.put_nbi(data, np.ones(2000, "i8"), 1 - pe.my_pe())
    await pe.sync_all()
    early = bool(data.all())
    await pe.barrier_all()
    return early, bool(data.all())


def test_sync_completes_nothing_and_barrier_all_does():
    values = [value for seed in SEEDS for value in run(without_completion, network=WEAK, seed=seed)]
    assert not all(early for early, _ in values)
    assert all(late for _, late in values)


def test_what_main_leaves_and_what_is_cancelled_is_completed():
    async def main(pe):
        data = await pe.zeros(3000, "i8")
        other = await pe.Ctx.create()
        if pe.my_pe() == 0:
            await pe.put_nbi(data[:1000], np.ones(1000, "i8"), 1)
            with trio.CancelScope() as scope:
                scope.cancel()
                await pe.quiet()
            assert scope.cancelled_caught
            await pe.quiet()
            await pe.put_nbi(data[1000:2000], np.ones(1000, "i8"), 1)
            await pe.put_nbi(data[2000:], np.ones(1000, "i8"), 1, ctx=other)
            return None
        await pe.wait_until_all(data, "==", 1)
        return int(data.sum())

    assert run(main, network=WEAK)[1] == 3000  # and no warning, which would be an error here


def test_quiet_completes_a_put_that_was_cancelled_after_its_first_piece():
    """It goes on without a handle; a later put is not overtaken by its pieces."""

    async def main(pe, after):
        data = await pe.zeros(1000, "i8")
        if pe.my_pe() == 0:
            with trio.move_on_after(after):
                await pe.put(data, np.ones(1000, "i8"), 1)
            await pe.quiet()
            await pe.put(data, np.full(1000, 2), 1)
            await pe.quiet()
        else:
            await conduit.current().compute(1e-3)  # so that the pieces wait for slots
        await pe.barrier_all()
        return set(data.tolist())

    for after in (0, 1e-6, 1e-5, 1e-4, 5e-4):
        network = "loggp:order=weak,max_medium=512,max_long=512,slots=1"
        assert shmem.run(main, after, conduit=network).values[1] == {2}


def test_a_quiet_completes_what_another_task_has_begun_meanwhile_where_the_machine_tells_none_apart(monkeypatch):
    fenced = []
    fence = Native.fence
    monkeypatch.setattr(Native, "fence", lambda self, dest: (fenced.append(dest), fence(self, dest))[1])

    async def main(pe):
        data, over = await pe.zeros(64, "i8"), trio.Event()

        async def first():
            await pe.put_nbi(data, np.ones(64, "i8"), 2)
            await pe.quiet()
            over.set()

        async def second():
            await pe.put_nbi(data, np.ones(64, "i8"), 1)
            await over.wait()
            await pe.fence()

        if pe.my_pe() == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(first)
                nursery.start_soon(second)
        await pe.barrier_all()

    run(main, pes=3, network="t3e")
    assert fenced == [0]  # the machine's quiet has waited for PE 1 as well: nothing is left to order but the call


@pytest.mark.parametrize("call", ["get", "iget", "get_nbi"])
def test_quiet_ends_what_a_cancelled_get_still_writes(call):
    async def main(pe, after):
        data = await pe.ones(1000, "i8")
        found = np.zeros(1000, "i8")
        if pe.my_pe() == 0:
            with trio.move_on_after(after):
                await getattr(pe, call)(found, data, 1)
            await pe.quiet()
            found[:] = 2
        else:
            await conduit.current().compute(1e-3)  # so that the pieces wait for slots
        await pe.barrier_all()
        await conduit.current().compute(1e-3)
        return set(found.tolist())

    for after in (0, 1e-6, 1e-5, 1e-4, 5e-4):
        network = "loggp:order=weak,max_medium=512,max_long=512,slots=1"
        assert shmem.run(main, after, conduit=network).values[0] == {2}


@pytest.mark.parametrize("call", ["atomic_add", "put_signal"])
def test_quiet_ends_what_a_cancelled_atomic_operation_or_signal_still_writes(call):
    words = {}

    async def main(pe, after):
        data = await pe.zeros(1, "i8")
        word = words[pe.my_pe()] = await pe.zeros(1, "u8")
        early = None
        if pe.my_pe() == 0:
            with trio.move_on_after(after):
                if call == "atomic_add":
                    await pe.atomic_add(word, 7, 1)
                else:
                    await pe.put_signal(data, np.ones(1, "i8"), 1, word, 7, pe.SIGNAL_SET)
            await pe.quiet()
            early = int(words[1][0])
        else:
            await conduit.current().compute(2e-5)  # so that it comes late
        await pe.barrier_all()
        return early, int(word[0])

    for after in range(0, 60, 3):
        (early, _), (_, late) = shmem.run(main, after * 1e-6, conduit="loggp").values
        assert early == late


@pytest.mark.parametrize("call", ["barrier_all", "sync_all", "sync"])
def test_a_barrier_that_was_cancelled_can_be_called_again(call):
    async def main(pe, after):
        data = await pe.zeros(1, "i8")
        for turn in range(1, 4):
            data[0] = turn
            while True:
                with trio.move_on_after(after * (pe.my_pe() + 1)) as scope:
                    await getattr(pe, call)()
                if not scope.cancelled_caught:
                    break
            found = int(await pe.atomic_fetch(data, (pe.my_pe() + 1) % 3))
            await pe.barrier_all()
            assert found == turn

    for tenths in range(1, 100, 7):
        shmem.run(main, tenths * 1e-7, pes=3, conduit="loggp")


def test_a_barrier_that_was_cancelled_and_given_up_is_ended_by_another():
    async def main(pe):
        if pe.my_pe() == 0:
            with trio.move_on_after(1e-5) as scope:
                await pe.TEAM_WORLD.sync()
            assert scope.cancelled_caught
        else:
            await conduit.current().compute(1e-4)
            await pe.TEAM_WORLD.sync()
        await pe.barrier_all()
        await pe.sync_all()

    shmem.run(main, conduit="loggp")


@pytest.mark.parametrize("call", ["barrier_all", "sync_all"])
def test_a_barrier_that_was_cancelled_and_called_again_is_told_to_be_one_for_the_others(call):
    async def main(pe):
        if pe.my_pe() == 1:
            with trio.move_on_after(1e-6):
                await getattr(pe, call)()
        else:
            await trio.sleep(1e-3)
            await getattr(pe, call)()
        await getattr(pe, call)()

    line = main.__code__.co_firstlineno
    with pytest.raises(conduit.Deadlock, match=f"waits for pe.{call}, to which rank 1 has not come") as found:
        run(main, network="loggp")
    (note,) = (each for rank in found.value.report.ranks for each in rank.notes if "cancelled" in each)
    assert note == (
        f"pe.{call} at {__file__}:{line + 3} was cancelled, and pe.{call} at {__file__}:{line + 7} ends it: the two "
        "are one call for the others"
    )


@pytest.mark.parametrize("call", ["quiet", "fence", "barrier_all", "ctx.quiet", "free"])
def test_reports_name_the_call_that_completes_puts(call):
    async def main(pe):
        a = await pe.zeros(4000, "i8")
        b = await pe.zeros(1)
        ctx = await pe.Ctx.create()
        if pe.my_pe() == 0:
            await pe.put_nbi(a, np.ones(4000, int), 1, ctx=ctx if call == "ctx.quiet" else None)
            await {
                "quiet": pe.quiet, "fence": pe.fence, "barrier_all": pe.barrier_all, "ctx.quiet": ctx.quiet,
                "free": lambda: pe.free(b),
            }[call]()  # fmt: skip
        await trio.sleep(1)  # in which it answers nobody

    with pytest.raises(conduit.TimeLimit) as caught:
        run(main, network="loggp", time_limit=2e-3)
    name = call if "." in call else f"pe.{call}"
    assert f" in main: waits for {name}, which rank 1 must bring about, since " in str(caught.value)


CALLS = {
    "pe.wait_until_any": (lambda pe, a, s: pe.wait_until_any(a, "==", 1), 0),
    "pe.wait_until_some": (lambda pe, a, s: pe.wait_until_some(a, "==", 1), [0]),
    "pe.signal_wait_until": (lambda pe, a, s: pe.signal_wait_until(s, "==", 1), 1),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_ended_a_wait_is_returned_although_another_task_has_changed_it_since(call):
    wait, expected = CALLS[call]

    async def main(pe):
        elements, signal = await pe.zeros(2, "i8"), await pe.new_signal()
        found = []

        async def one():
            found.append(await wait(pe, elements, signal))
            elements[0] = signal[0] = 0

        if pe.my_pe() == 0:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(one)
                nursery.start_soon(one)
        else:
            await pe.ep.compute(1e-3)
            await pe.put_signal(elements[:1], np.ones(1, "i8"), 0, signal, 1, pe.SIGNAL_SET)
        return found

    assert shmem.run(main, pes=2, conduit="loggp").values[0] == [expected, expected]
