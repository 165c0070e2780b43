"""Running programs of threads, and what a deadlock says of them."""

import subprocess
import sys

import pytest
import trio

import conduit
from extended import Extended, upc

PROGRAM = """
api = "upc"
async def main(t, size="8"):
    a = await t.all_alloc(int(size), dtype="i4", block=1)
    a[t.MYTHREAD] = t.MYTHREAD + 1
    await t.barrier()
    if t.MYTHREAD == 0:
        print((await a[:3]).tolist())
"""


async def _main(t, *args):
    await t.barrier()
    return t.MYTHREAD, t.THREADS, args


def test_every_thread_runs_main():
    assert upc.run(_main, "x", threads=3, conduit="loggp").values == [(k, 3, ("x",)) for k in range(3)]
    assert len(upc.run(_main).values) == 2


def test_from_inside_a_trio_program():
    async def outer():
        return await upc.run_async(_main, threads=2, conduit="loggp")

    assert [value[0] for value in trio.run(outer).values] == [0, 1]


async def _one_by_one(t, readers, elements):
    a = await t.all_alloc(elements, dtype="i8", block=1)
    if t.MYTHREAD in readers:
        for i in range(elements):
            await a[i]


@pytest.mark.parametrize(
    ("readers", "who"),
    [(range(8), "ranks 0-7"), (range(4), "ranks 0-3"), ((2, 5), "ranks 2, 5"), ((6,), "rank 6")],
)
def test_all_threads_that_read_one_by_one_are_named(readers, who):
    line = _one_by_one.__code__.co_firstlineno + 4
    with pytest.warns(conduit.ConduitWarning) as seen:
        upc.run(_one_by_one, readers, 100, threads=8)
    assert [str(each.message) for each in seen] == [
        f"{who}: elements of other threads were read one by one at {__file__}:{line}, 64 or more between two "
        "synchronisations, a message and its way back for each; where the indices are known beforehand, "
        "`await a[indices]` with an index array or a slice reads them all with one message per owner"
    ]


@pytest.mark.parametrize("conduit_", ["t3e", "origin"])
def test_on_networks_with_native_gets_a_slice_is_advised(conduit_):
    """Of an index array each element is a native get too, and none is faster for it."""
    line = _one_by_one.__code__.co_firstlineno + 4
    with pytest.warns(conduit.ConduitWarning) as seen:
        upc.run(_one_by_one, (0,), 200, threads=2, conduit=conduit_)
    assert [str(each.message) for each in seen] == [
        f"rank 0: elements of other threads were read one by one at {__file__}:{line}, 64 or more between two "
        "synchronisations, a native get for each, as of an index array; where they lie side by side, `await a[i:j]` "
        "reads them with one get per owner"
    ]


@pytest.mark.parametrize(("conduit_", "messages"), [("sci", 7), ("t3e:rma=am", 7), ("t3e", 0), ("origin", 0)])
@pytest.mark.parametrize("strict", [False, True])
def test_reads_of_single_elements_count_messages_where_there_are_some(conduit_, messages, strict):
    async def main(t):
        a = await t.all_alloc(8, dtype="i8", block=1)
        if t.MYTHREAD == 0:
            for i in range(8):
                await (a.read(i) if strict else a[i])

    counts = upc.run(main, threads=8, conduit=conduit_).statistics[0]
    assert (counts["upc_elements_read"], counts["upc_messages_read"], counts["upc_bytes_read"]) == (7, messages, 56)
    assert counts.get("rma_gets", 0) == 7 - messages


@pytest.mark.parametrize(("elements", "told"), [(72, 0), (73, 0), (74, 1)])
@pytest.mark.filterwarnings("ignore::conduit.ConduitWarning")
def test_reading_is_told_from_64_elements_of_others_on(elements, told):
    """Every eighth is thread 0's own: of 73 elements 63 are others', of 74 one more."""
    assert len(upc.run(_one_by_one, (0,), elements, threads=8).warnings[0]) == told


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: upc.run(3), "main=3"),
        (lambda: upc.run(lambda t: None), "cannot be async"),
        (lambda: upc.run(_no_thread), "0 arguments"),
        (lambda: upc.run(_main, threads=0), "threads=0"),
        (lambda: upc.run(_main, ranks=2), "give threads=2"),
        (lambda: upc.run(_main, write_buffer=-1), "write_buffer=-1"),
        (lambda: upc.run(_main, colour=1), "colour="),
    ],
)
def test_wrong_arguments_are_refused(call, words):
    with pytest.raises(conduit.BadRequest, match=words):
        call()


async def _no_thread():
    pass


def test_conduit_run_runs_them(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "conduit", "run", "program.py", "--ranks", "3", "--conduit", "loggp", "--", "9"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[0] == "[1, 2, 3]", done.stderr


def test_a_deadlock_names_the_missing_thread_and_the_lines():
    async def main(t):
        a = await t.all_alloc(8 * t.THREADS)
        if t.MYTHREAD == 1:
            await t.ep.block_until(lambda: False, what="nothing")  # waits here
        await t.all_sort(a)  # and here

    with pytest.raises(conduit.Deadlock) as caught:
        upc.run(main, threads=3, conduit="loggp")
    first = main.__code__.co_firstlineno
    text = str(caught.value)
    assert f"test_run.py:{first + 3}" in text
    assert f"test_run.py:{first + 4}" in text
    assert "to which rank 1 has not come" in text


@pytest.mark.parametrize("network", ["loggp", "startx", "t3e"])
def test_a_free_that_is_cancelled_has_freed_wholly_or_not_at_all(network):
    """It can be made again until it returns, and the memory is given back."""

    async def main(t, after):
        if t.MYTHREAD == 0:
            await t.barrier()
            return None
        a = await t.global_alloc(t.ep.segment.nbytes // 16, dtype="i8")  # two of them would not fit
        while True:
            with trio.move_on_after(after) as scope:
                await t.free(a)
            if not scope.cancelled_caught:
                break
            after += 1e-6
        b = await t.global_alloc(t.ep.segment.nbytes // 16, dtype="i8")
        await t.free(b)
        await t.barrier()

    for tenths in range(0, 40, 2):
        upc.run(main, tenths * 1e-7, threads=2, conduit=network, segment=65536)


@pytest.mark.parametrize("network", ["loggp", "origin"])
def test_a_fence_waits_for_what_another_task_sends(network):
    parts = {}

    async def main(t):
        a = await t.all_alloc(16000, dtype="i8", block=8000)
        parts[t.MYTHREAD] = a.local
        await t.barrier()
        if t.MYTHREAD == 0:
            a[8000:] = 7
            async with trio.open_nursery() as nursery:
                nursery.start_soon(t.fence)
                for _ in range(3):  # until that waits
                    await trio.lowlevel.checkpoint()
                assert not parts[1].all()
                await t.fence()
                assert parts[1].all()
        await t.barrier()

    upc.run(main, threads=2, conduit=network)


def test_two_tasks_of_a_thread_that_free_one_array():
    async def main(t):
        if t.MYTHREAD == 1:
            a = await t.global_alloc(8)
            told = []

            async def free():
                try:
                    await t.free(a)
                except conduit.BadRequest as error:
                    told.append(str(error))

            async with trio.open_nursery() as nursery:
                nursery.start_soon(free)
                nursery.start_soon(free)
            return told
        return None

    (told,) = upc.run(main, threads=3, conduit="loggp").values[1]
    assert told == (
        "t.free: another task of this thread frees the array; one thread frees an array, once for all; where every "
        "thread does, write `await t.all_free(a)`"
    )


def test_a_fence_that_is_cancelled_between_two_threads_is_made_again():
    """What has gone out to the first one does not come later than what is written next."""

    async def main(t, after):
        a = await t.all_alloc(3 * 700, dtype="i8")
        if t.MYTHREAD == 0:
            a[700:] = 1
            with trio.move_on_after(after):
                await t.fence()
            a[700:] = 2
        else:
            await t.ep.compute(1e-3)
        await t.barrier()
        return set(a.local.tolist())

    network = "loggp:order=weak,max_medium=512,max_long=512,slots=1"
    for after in (0, 1e-6, 1e-5, 1e-4, 3e-4):
        result = upc.run(main, after, threads=3, conduit=network)
        assert list(result.values) == [{0}, {2}, {2}]
        assert not any(result.warnings)


@pytest.mark.parametrize("call", ["add_at", "fetch_add", "compare_swap", "memput", "memset", "memcpy"])
def test_a_fence_ends_what_a_cancelled_call_still_changes(call):
    arrays = {}

    async def main(t, after):
        a = arrays[t.MYTHREAD] = await t.all_alloc(6, dtype="i8")
        a.local[:] = t.MYTHREAD
        a.local[0] = 0
        await t.barrier()
        early = None
        if t.MYTHREAD == 0:
            change = {
                "add_at": lambda: a.add_at([2, 4], 1),
                "fetch_add": lambda: a.fetch_add(2, 1),
                "compare_swap": lambda: a.compare_swap(2, 0, 1),
                "memput": lambda: t.memput((a, 2), b"12345678"),
                "memset": lambda: t.memset((a, 2), 1, 8),
                "memcpy": lambda: t.memcpy((a, 4), (a, 2), 8),
            }
            with trio.move_on_after(after):
                await change[call]()
            await t.fence()
            early = [arrays[k].local.tolist() for k in range(3)]
        else:
            await t.ep.compute(2e-5)  # so that it comes late
        await t.barrier()
        return early, a.local.tolist()

    for after in range(0, 60, 3):
        result = upc.run(main, after * 1e-6, threads=3, conduit="loggp")
        assert result.values[0][0] == [late for _, late in result.values]
        assert not any(result.warnings)


@pytest.mark.parametrize("call", ["a[i]", "to_numpy", "add_at", "fence"])
def test_nobody_is_warned_of_handles_of_a_call_that_was_cancelled(call):
    async def main(t, after):
        a = await t.all_alloc(6, dtype="i8")
        if t.MYTHREAD == 0:
            a[2:] = 1
            calls = {"a[i]": lambda: a[5:0:-1], "to_numpy": a.to_numpy, "add_at": lambda: a.add_at([2, 4], 1)}
            await t.fence()
            a[2:] = 2
            with trio.move_on_after(after):
                await calls.get(call, t.fence)()
        else:
            await t.ep.compute(5e-5)
        await t.barrier()

    for after in range(0, 60, 3):
        assert not any(upc.run(main, after * 1e-6, threads=3, conduit="loggp:slots=1").warnings)


def test_a_global_alloc_that_is_cancelled_clears_nothing_later():
    async def main(t, after):
        a = None
        if t.MYTHREAD == 0:
            with trio.move_on_after(after):
                await t.global_alloc(30, dtype="i8")
            a = await t.global_alloc(30, dtype="i8")
            a[:] = 1
            await t.fence()
            await t.ep.compute(1e-3)
            return (await a[:]).tolist()
        return None

    for after in range(0, 60, 5):
        for seed in range(12):
            network = "loggp:order=weak,late=0.5,late_by=300us"
            result = upc.run(main, after * 1e-6, threads=2, conduit=network, seed=seed)
            assert result.values[0] == [1] * 30
            assert not any(result.warnings)


def test_a_fence_that_ends_what_a_cancelled_call_has_begun_is_cancelled_itself(monkeypatch):
    scopes, sync = [], Extended.sync

    async def cancelled_then(x):
        await sync(x)
        scopes.pop().cancel()

    async def main(t):
        a = await t.all_alloc(6, dtype="i8")
        if t.MYTHREAD == 0:
            with trio.move_on_after(3e-6):
                await a.add_at([2, 4], 1)
            with trio.CancelScope() as scope, monkeypatch.context() as patch:
                patch.setattr(Extended, "sync", cancelled_then)
                scopes.append(scope)
                await t.fence()
            assert scope.cancelled_caught
            await t.fence()
        await t.barrier()

    assert not any(upc.run(main, threads=3, conduit="loggp").warnings)
