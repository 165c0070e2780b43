"""Relaxed and strict accesses, when writes arrive, and what is sent for them."""

from typing import Any

import numpy as np
import pytest

import conduit
from conduit.conformance.cases import Case
from extended import upc
from extended.upc.conformance.programs import filled, play, refused

hypothesis: Any = pytest.importorskip("hypothesis")
strategies: Any = pytest.importorskip("hypothesis.strategies")


@pytest.mark.rule("U7", "U9")
@pytest.mark.crowds
@pytest.mark.parametrize("write_buffer", [0, 100, 65536])
def test_a_thread_sees_its_own_writes_and_others_do_after_a_barrier(case: Case, write_buffer: int) -> None:
    """Of several writes to one element the latest, in whatever form they were made."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 8 * t.THREADS, 1)
        mine = slice(8 * t.MYTHREAD, 8 * t.MYTHREAD + 8)
        start = mine.start
        a[mine] = 1
        a[start + 2] = 2
        assert (await a[mine]).tolist() == [1, 1, 2, 1, 1, 1, 1, 1]
        a[np.array([start, start, start + 2])] = [3, 4, 5]
        a[start + 1] = 6
        assert await a[start + 1] == 6
        assert await a[start] == 4
        assert (await a[start : start + 3]).tolist() == [4, 6, 5]
        await a.assign(start + 7, 7)
        a[start + 7] = 8
        await t.barrier()
        other = 8 * ((t.MYTHREAD + 1) % t.THREADS)
        assert (await a[other : other + 8]).tolist() == [4, 6, 5, 1, 1, 1, 1, 8]

    play(case, main, write_buffer=write_buffer)


@pytest.mark.rule("U8")
@pytest.mark.parametrize("how", ["fence", "kept", "full"])
def test_a_write_is_sent_by_no_assignment(case: Case, how: str) -> None:
    """But at a fence, or at an awaited call once the buffer is full."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 100 * t.THREADS)
        if t.MYTHREAD == 0:
            a[100:150] = -1
            for i in range(150, 200):
                a[i] = -1
        # Barriers of the layer below, which complete nothing of this one.
        await t.extended.barrier()
        assert t.MYTHREAD != 1 or (a.local == a.local_index).all()
        await t.extended.barrier()
        if t.MYTHREAD == 0:
            await (t.fence() if how == "fence" else a[0])
        await t.extended.barrier()
        assert t.MYTHREAD != 1 or (a.local == (a.local_index if how == "kept" else -1)).all()
        await t.extended.barrier()  # the end of main completes what is left

    play(case.at_least(2), main, write_buffer=800 if how == "full" else 801)


@pytest.mark.rule("U10")
@pytest.mark.simulated
@pytest.mark.crowds
def test_writes_that_main_leaves_arrive(case: Case) -> None:
    """At the end of main, without a fence."""

    async def main(t: upc.Thread) -> Any:
        a = await filled(t, 4 * t.THREADS)
        a[4 * ((t.MYTHREAD + 1) % t.THREADS)] = -1
        return a.local

    assert all(value[0] == -1 for value in play(case, main).values)


@pytest.mark.rule("U11")
@pytest.mark.crowds
def test_strict_writes_are_seen_in_order(case: Case) -> None:
    """A thread that has seen the flag sees the data before it."""

    async def main(t: upc.Thread) -> Any:
        data, flag = await filled(t, 50 * t.THREADS, 1), await t.all_alloc(1, dtype="i4", block="indefinite")
        if t.MYTHREAD == t.THREADS - 1:
            data[:] = 7
            await flag.write(0, 1)
        while not await flag.read(0):
            await t.ep.compute(1e-6)
        assert (await data[:] == 7).all()

    play(case, main)


@pytest.mark.rule("U12")
@pytest.mark.crowds
def test_many_elements_are_one_message_for_each_owner(case: Case) -> None:
    """In each direction, and counted; where the limits of the conduit allow."""
    case = case.by_messages()

    async def main(t: upc.Thread) -> Any:
        a = await filled(t, 12 * t.THREADS, 1)
        if t.MYTHREAD == 0:
            await a[:]
            a[::-1] = 1
            await t.fence()
            await a.add_at(slice(None), 1)
        return sum(t.ep.segment_of(other) is None for other in range(1, t.THREADS))

    result = play(case, main)
    counts = result.statistics
    others, apart = len(counts) - 1, result.values[0]  # those whose memory this rank cannot reach
    pieces = -(-12 * 24 // case.limits.max_medium)
    for what in ("read", "written", "added") if others else ():
        assert counts[0][f"upc_elements_{what}"] == 12 * others
        assert counts[0][f"upc_bytes_{what}"] == 96 * others
        assert apart <= counts[0][f"upc_messages_{what}"] <= pieces * others


FORMS: dict[str, Any] = {
    "arithmetic": lambda a: a[1] + 1,
    "arithmetic from the right": lambda a: 1 - a[1],
    "comparison": lambda a: a[1] < 3,
    "equality": lambda a: a[1] == 3,
    "truth": lambda a: bool(a[1]),
    "iteration": lambda a: list(a[1:3]),
    "asarray": lambda a: np.asarray(a[1]),
    "ufunc": lambda a: np.sqrt(a[1]),
    "numpy arithmetic": lambda a: np.ones(3) + a[1:4],
    "stored": lambda a: a.__setitem__(2, a[1]),
    "stored in a list": lambda a: a.__setitem__(slice(0, 2), [a[1], 2]),
    "stored in numpy": lambda a: np.zeros(2).__setitem__(0, a[1]),
    "index": lambda a: a[a[1]],
    "float": lambda a: float(a[1]),
    "augmented": lambda a: a.__setitem__(1, a[1].__iadd__(1)),
    "argument": lambda a: a.add_at(1, a[2]),
}
WHOLE: dict[str, Any] = {
    "iteration": lambda a: list(a),
    "conversion": lambda a: np.asarray(a),
    "reduction": lambda a: np.sum(a),
    "truth": lambda a: bool(a),
    "arithmetic": lambda a: a + 1,
    "membership": lambda a: 3 in a,
}


@pytest.mark.rule("U13")
@pytest.mark.once
def test_a_read_that_was_not_awaited_is_no_value(case: Case) -> None:
    """In any form; the message says what to write.  The job goes on where the program catches the error."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 10)
        for name, form in FORMS.items():
            message = await refused(lambda form=form: form(a), TypeError)  # type: ignore[misc]
            assert "write `await a[" in message
            assert ("await a.add_at(i, v)" in message) == (name == "augmented")
        for form in WHOLE.values():
            message = await refused(lambda form=form: form(a), TypeError)  # type: ignore[misc]
            assert "a.local" in message
            assert "await a[:]" in message

    play(case, main)


@pytest.mark.rule("U13")
@pytest.mark.once
@pytest.mark.ends
def test_a_forgotten_read_ends_the_job(case: Case) -> None:
    """With its line."""

    async def read(t: upc.Thread) -> None:
        a = await filled(t, 10)
        a[3]
        await t.barrier()

    with pytest.raises(conduit.BadRequest, match=r"a\[3\] at .*test_access.py:\d+ was called but never awaited"):
        play(case, read)


@pytest.mark.rule("U13")
@pytest.mark.once
@pytest.mark.ends
def test_a_forgotten_call_ends_the_job(case: Case) -> None:
    """With its line."""

    async def call(t: upc.Thread) -> None:
        t.barrier()  # type: ignore[unused-coroutine]
        await t.fence()

    with pytest.raises(conduit.BadRequest, match=r"t.barrier\(\) at .*test_access.py:\d+ was called but never awai"):
        play(case, call)


@pytest.mark.rule("U14")
@pytest.mark.crowds
def test_reading_one_by_one_is_told_once(case: Case) -> None:
    """By one thread, with the line and the form that is faster here; not where synchronisation is between the reads."""

    async def slow(t: upc.Thread) -> None:
        a = await filled(t, 100 * t.THREADS, 1)
        for i in range(100 * t.THREADS):
            await a[i]

    async def fine(t: upc.Thread) -> None:
        a = await filled(t, 100 * t.THREADS, 1)
        for i in range(100):
            await a[i]
            await t.fence()
        await a[:]

    # Where each read is a native get, so is each of an index array: only what lies side by side is faster then.
    with case.warns(r"one by one at .*access.py.*`await a\[(indices|i:j)\]`") as told:
        ranks = len(play(case.at_least(2), slow).values)
    if told:
        (text,) = (each for each in told if "one by one" in each)
        assert text.startswith(f"ranks 0-{ranks - 1}: ")
    assert not any(play(case, fine).warnings)


@pytest.mark.rule("U6")
def test_wrong_values_are_refused(case: Case) -> None:
    """At the assignment, and the array is as before."""

    async def main(t: upc.Thread) -> None:
        a = await filled(t, 10)
        for index, value in ((1, "x"), (slice(0, 3), [1, 2]), (0, 1 << 70), (9, [1, 2]), (9, "x")):
            assert "dtype int64" in await refused(lambda i=index, v=value: a.__setitem__(i, v))  # type: ignore[misc]
        assert (await a[:] == np.arange(10)).all()

    play(case, main)


@pytest.mark.rule("U5")
@pytest.mark.crowds
def test_an_element_of_fields_is_read_as_a_copy(case: Case) -> None:
    """Whoever has the element: later writes do not change what was read, nor do changes of it the array."""
    dtype = np.dtype([("x", "i4"), ("y", ">f8")])

    async def main(t: upc.Thread) -> None:
        a = await t.all_alloc(2 * t.THREADS, dtype=dtype, block=1)
        following = (t.MYTHREAD + 1) % t.THREADS
        for i in (t.MYTHREAD, t.THREADS + following):
            a[i] = (i, 0.5)
            found = [await a[i], await a.read(i), (await a[i : i + 1])[0]]
            await a.write(i, (-1, 2.5))
            found.append(await a[i])
            assert [each.item() for each in found] == [(i, 0.5)] * 3 + [(-1, 2.5)]
            for each in found:
                each["x"] = 7
            assert (await a[i]).item() == (-1, 2.5)

    play(case, main)


def _programs(threads: int) -> Any:
    place = strategies.integers(0, 19)
    step = strategies.one_of(
        strategies.tuples(strategies.just("write"), place),
        strategies.tuples(strategies.just("many"), strategies.lists(place, max_size=6)),
        strategies.tuples(strategies.just("strict"), place),
        strategies.tuples(strategies.just("assign"), place),
        strategies.tuples(strategies.just("read"), place),
        strategies.tuples(strategies.just("reads"), strategies.lists(place, max_size=6)),
        strategies.tuples(strategies.just("add"), strategies.lists(place, max_size=6)),
        strategies.tuples(strategies.just("put"), place),
        strategies.tuples(strategies.sampled_from(("fence", "lock")), strategies.just(0)),
    )
    phase = strategies.tuples(
        strategies.lists(strategies.lists(step, max_size=6), min_size=threads, max_size=threads),
        strategies.sampled_from(("barrier", "split", "prefix", "gather", "sort")),
        strategies.permutations(range(20)),
    )
    return strategies.tuples(
        strategies.lists(phase, min_size=1, max_size=3), strategies.sampled_from((1, 2, 7, None, "indefinite")),
        strategies.sampled_from((0, 24, 65536)),
    )  # fmt: skip


async def _act(t: upc.Thread, a: Any, steps: Any, mine: np.ndarray[Any, Any], model: Any, value: int) -> None:
    """Do one thread's part of a phase: only what it owns for the phase is touched, so that there is no race."""
    for number, (what, argument) in enumerate(steps):
        value += 1
        at = mine[np.array(argument, int) % len(mine)] if len(mine) else np.array([], int)
        if not len(mine) or (isinstance(argument, list) and not argument):
            continue
        if what in ("write", "assign", "strict", "put"):
            at = int(at)
            model[at] = value
            if what == "write":
                a[at] = value
            elif what == "put":
                await t.memput((a, at), np.int64(value))
            else:
                await (a.assign if what == "assign" else a.write)(at, value)
        elif what == "many":
            model[at] = value + np.arange(len(at))
            a[at] = value + np.arange(len(at))
        elif what == "read":
            assert await a[int(at)] == model[int(at)], number
        elif what == "reads":
            assert np.array_equal(await a[at], model[at])
        elif what == "add":
            np.add.at(model, at, value)
            await a.add_at(at, value)
        elif what == "fence":
            await t.fence()
        else:
            async with t.lock("one"):
                assert await a[int(mine[0])] == model[mine[0]]


@pytest.mark.rule("U15")
@pytest.mark.crowds
def test_programs_without_races_are_sequentially_consistent(case: Case, request: pytest.FixtureRequest) -> None:
    """Random accesses, fences, locks, split barriers and collectives, against one array in one memory."""

    async def main(t: upc.Thread, phases: Any, block: Any) -> Any:
        a, b = await t.all_alloc(20, dtype="i8", block=block), await t.all_alloc(20, dtype="i8", block=3)
        model = np.zeros(20, np.int64)
        for number, (steps, end, order) in enumerate(phases):
            mine = np.array([i for i in range(20) if order[i] % t.THREADS == t.MYTHREAD], int)
            own = model.copy()
            await _act(t, a, steps[t.MYTHREAD], mine, own, 1000 * number + 100 * t.MYTHREAD)
            # What each thread has made of its elements, told outside of the arrays.
            changed = np.zeros(20, np.int64)
            changed[mine] = own[mine]
            if end == "split":
                await t.notify()
                await t.wait()
            elif end == "gather":
                found = await a.gather_to(0)
            elif end == "prefix":
                await t.all_prefix_reduce(b, a, "sum")
            elif end == "sort":
                await t.all_sort(a)
            else:
                await t.barrier()
            model = await t.extended.all_reduce(changed)
            if end == "gather" and t.MYTHREAD == 0:
                assert found is not None
                assert np.array_equal(found, model)
            if end == "prefix":
                assert np.array_equal(await b[:], np.cumsum(model))
            if end == "sort":
                model = np.sort(model)
            assert np.array_equal(await a[:], model)
            assert np.array_equal(a.local, model[a.local_index])
            await t.barrier()

    def check(drawn: Any) -> None:
        phases, block, write_buffer = drawn
        play(case, main, phases, block, write_buffer=write_buffer)

    limits = hypothesis.settings(
        max_examples=30 if request.config.getoption("full") else 5,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    limits(hypothesis.given(_programs(case.size if case.ranks is not None else 3))(check))()
