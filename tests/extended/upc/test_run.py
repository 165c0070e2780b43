"""Running programs of threads, and what a deadlock says of them."""

import subprocess
import sys

import pytest
import trio

import conduit
from extended import upc

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


@pytest.mark.parametrize(("elements", "told"), [(72, 0), (73, 0), (74, 1)])
@pytest.mark.filterwarnings("ignore::conduit.ConduitWarning")
def test_reading_is_told_from_64_elements_of_others_on(elements, told):
    """Every eighth is thread 0's own: of 73 elements 63 are others', of 74 one more."""
    assert len(upc.run(_one_by_one, (0,), elements, threads=8).warnings[0]) == told


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: upc.run(3), "main=3"),
        (lambda: upc.run(lambda t: None), "not async"),
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
