"""Calls of a front end that differ between processes are told as their users made them, as in simulation."""

import pytest

from .conftest import MPI

pytestmark = pytest.mark.slow

SHMEM = """
api = "shmem"


async def main(pe, what):
    first = pe.my_pe() == 0
    a, b = await pe.zeros(4), await pe.zeros(4)
    if what == "allocations":
        await (pe.zeros(5) if first else pe.ones((2, 2), dtype="f4"))
    if what == "types":
        await pe.zeros(4, "i8" if first else "f8")
    if what == "frees":
        await (pe.free(a) if first else pe.zeros(3))
    if what == "reductions":
        await (pe.max_reduce(b, a) if first else pe.sum_reduce(b, a))
    if what == "others":
        await (pe.fcollect(b, a, 1) if first else pe.broadcast(b, a, 0))
    if what == "sizes":
        await (pe.max_reduce(b, a) if first else pe.collect(b, a, 1))
    if what == "teams":
        await (pe.TEAM_WORLD.split_strided() if first else pe.alltoall(b, a, 1))
"""

SAME = "make the same calls with the same arguments in the same order on every PE"
SAME_ON_THREADS = SAME.replace("PE", "thread")
SAME_COLLECTIVES = (
    "all PEs of a team must make the same collective calls in the same order, with the same root, algorithm, op, "
    "dtype and shape (PEs are those of the job)"
)


def differ(run_program, shell, what, ranks):
    """Run a program whose ranks differ in a call; return how it ended, and where the calls are."""
    done = run_program(SHMEM, what, ranks=ranks)
    line = next(n for n, text in enumerate(SHMEM.splitlines(), 1) if what in text) + 1
    return done, f"{shell.folder}/program.py:{line}"


@pytest.mark.parametrize(
    ("what", "one", "other"),
    [
        ("allocations", "pe.zeros(shape=(5,), dtype=float64)", "pe.ones(shape=(2, 2), dtype=float32)"),
        ("types", "pe.zeros(shape=(4,), dtype=int64)", "pe.zeros(shape=(4,), dtype=float64)"),
        (
            "frees",
            "pe.free(what pe.zeros(shape=(4,), dtype=float64) at program.py:7 gave)",
            "pe.zeros(shape=(3,), dtype=float64)",
        ),
    ],
)
def test_calls_on_the_heap(run_program, shell, what, one, other):
    done, place = differ(run_program, shell, what, 3)
    said = f"PE 0 called {one} at {place}, but PE 1 called {other} at {place}; {SAME}\n"
    assert said in done.err
    if what == "allocations":  # the words before these are those of each rank's own call
        assert "all_alloc" not in done.err


@pytest.mark.parametrize(
    ("what", "one", "other"),
    [
        ("reductions", "pe.max_reduce(op=max, (4,), float64)", "pe.sum_reduce(op=sum, (4,), float64)"),
        ("sizes", "pe.max_reduce(op=max, (4,), float64)", "pe.collect(...)"),
        ("others", "pe.fcollect((1,), float64)", "pe.broadcast(root=0)"),
        ("teams", "team.split_strided()", "pe.alltoall((2, 1), float64)"),
    ],
)
def test_collective_calls(run_program, shell, what, one, other):
    done, place = differ(run_program, shell, what, 2)
    said = f": PE 0 called {one} at {place}, but PE 1 called {other} at {place}; {SAME_COLLECTIVES}\n"
    assert said in done.err


UPC = """
import trio

api = "upc"


async def main(t, what):
    first = t.MYTHREAD == 0
    a, b = await t.all_alloc(8, dtype="i8"), await t.all_alloc(8, dtype="i8")
    if what == "types":
        await t.all_alloc(8, dtype="i8" if first else "f8")
    if what == "blocks":
        await t.all_alloc(8, dtype="i8", block=4 if first else 2)
    if what == "operators":
        await t.all_reduce((b, 0), a, "sum" if first else "max")
    if what == "cancelled":
        if first:
            with trio.move_on_after(0.2):
                await t.all_reduce((b, 0), a)
            await a.write(0, 1)
            await t.ep.block_until(lambda: False)
        while not await a.read(0):
            await t.ep.poll()
        await t.all_reduce((b, 0), a)
"""


@pytest.mark.parametrize(
    ("what", "one", "other"),
    [
        ("types", "t.all_alloc(shape=(8,), dtype=int64, block=4)", "t.all_alloc(shape=(8,), dtype=float64, block=4)"),
        ("blocks", "t.all_alloc(shape=(8,), dtype=int64, block=4)", "t.all_alloc(shape=(8,), dtype=int64, block=2)"),
    ],
)
@pytest.mark.parametrize("conduit", ["mpi", MPI])
def test_allocations_of_threads_that_take_the_same_room(shell, what, one, other, conduit):
    done = shell.conduit("run", shell.file(UPC), "--conduit", conduit, "--ranks", 2, "--", what)
    place = f"{shell.folder}/program.py:{next(n for n, text in enumerate(UPC.splitlines(), 1) if what in text) + 1}"
    said = f"t.all_alloc: thread 0 called {one} at {place}, but thread 1 called {other} at {place}; {SAME_ON_THREADS}\n"
    assert f"conduit.errors.BadRequest: {said}" in done.err


@pytest.mark.parametrize("conduit", ["mpi", MPI])
def test_arguments_of_threads(shell, conduit):
    done = shell.conduit("run", shell.file(UPC), "--conduit", conduit, "--ranks", 2, "--", "operators")
    place = f"{shell.folder}/program.py:15"
    gave = f"at {place} thread 0 gave op='sum', but at {place} thread 1 gave op='max'; give the same on every thread\n"
    assert f"extended.CollectiveMismatch: t.all_reduce: {gave}" in done.err


@pytest.mark.parametrize("conduit", ["mpi", MPI])
def test_a_call_of_threads_after_one_that_was_cancelled(shell, conduit):
    done = shell.conduit("run", shell.file(UPC), "--conduit", conduit, "--ranks", 3, "--", "cancelled")
    # The line is not sent: only where one process runs all threads do the others know it.
    place = "" if conduit == MPI else f" at {shell.folder}/program.py:19"
    assert (
        "conduit.errors.ConduitError: t.all_reduce: this team is broken: t.all_reduce was cancelled on thread 0 of the "
        f"job{place}, and the threads no longer agree on what comes next; do not cancel calls that all threads make "
        "together\n"
    ) in done.err
