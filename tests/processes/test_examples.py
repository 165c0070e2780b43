"""The programs of docs/examples print the same in simulation and on real processes, but for lines with `time:`.

By turns on 2 and on 4 processes; with CONDUIT_EXAMPLES=all each of them on both.
"""

import os
import shutil
from pathlib import Path

import pytest

from .conftest import MPI

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
HANGS = "stuck"
NEVER_END = ("absent", "flooded", HANGS)  # by intent
ALL = os.environ.get("CONDUIT_EXAMPLES") == "all"

pytestmark = pytest.mark.slow


def lines_of(done):
    """Return what a job printed, without times; ranks print in any order."""
    assert done.status == 0, done.err
    return sorted(line for line in done.lines if not line.startswith(("time:", "ranks=")))


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in NEVER_END)
RUNS = [(name, ranks) for number, name in enumerate(NAMES) for ranks in ((2, 4) if ALL else (2 + 2 * (number % 2),))]


@pytest.mark.parametrize(("name", "ranks"), RUNS)
def test_an_example_prints_the_same(shell, name, ranks):
    shutil.copytree(EXAMPLES, shell.folder, dirs_exist_ok=True)
    of_mpi = 'api = "mpi"' in (EXAMPLES / f"{name}.py").read_text("utf-8")
    specs = ("mpi:library=scampi" if of_mpi else "sci", MPI)
    simulated, real = (shell.conduit("run", f"{name}.py", "--ranks", ranks, "--conduit", spec) for spec in specs)
    assert lines_of(real) == lines_of(simulated) != []


def test_the_example_that_hangs_says_where(shell):
    shutil.copytree(EXAMPLES, shell.folder, dirs_exist_ok=True)
    done = shell.conduit("run", f"{HANGS}.py", "--conduit", MPI, "--stall-limit", "2s")
    assert done.status == 1
    assert "stuck.py:17 in main: waits for half of 7, which rank 1 must bring about" in done.err
    assert "rank 1: its main has returned: waits for the other ranks to return" in done.err
