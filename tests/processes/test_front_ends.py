"""Calls of a front end that differ between processes are told as their users made them, as in simulation."""

import pytest

pytestmark = pytest.mark.slow

SHMEM = """
api = "shmem"


async def main(pe, what):
    first = pe.my_pe() == 0
    a, b = await pe.zeros(4), await pe.zeros(4)
    if what == "allocations":
        await (pe.zeros(5) if first else pe.ones((2, 2), dtype="f4"))
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
