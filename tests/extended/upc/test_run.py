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


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: upc.run(3), "main=3"),
        (lambda: upc.run(lambda t: None), "not async"),
        (lambda: upc.run(_no_thread), "0 arguments"),
        (lambda: upc.run(_main, threads=0), "threads=0"),
        (lambda: upc.run(_main, ranks=2), "give threads"),
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
    assert "which rank 1 must bring about" in text
