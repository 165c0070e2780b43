"""The programs of docs/examples print the same in simulation and on real processes, but for lines with `time:`.

By turns on 2 and on 4 processes; with CONDUIT_EXAMPLES=all, and -m "every or not every", each of them on both.
"""

import os
import shutil
from pathlib import Path

import pytest

from conduit.commands.cli import call

from .conftest import MPI

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
HANGS = "stuck"
NEVER_END = ("absent", "flooded", HANGS)  # by intent
ALL = os.environ.get("CONDUIT_EXAMPLES") == "all"

pytestmark = pytest.mark.slow


def lines_of(printed):
    """Return what a job printed, without times; ranks print in any order."""
    return sorted(line for line in printed.splitlines() if not line.startswith(("time:", "ranks=")))


NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem not in NEVER_END)
RUNS = [(name, ranks) for number, name in enumerate(NAMES) for ranks in ((2, 4) if ALL else (2 + number // 2 % 2 * 2,))]


@pytest.mark.parametrize(("name", "ranks"), RUNS)
def test_an_example_prints_the_same(shell, capsys, monkeypatch, name, ranks):
    shutil.copytree(EXAMPLES, shell.folder, dirs_exist_ok=True)
    of_mpi = 'api = "mpi"' in (EXAMPLES / f"{name}.py").read_text("utf-8")
    words = ("run", f"{name}.py", "--ranks", str(ranks), "--conduit")
    monkeypatch.chdir(shell.folder)
    assert call([*words, "mpi:library=scampi" if of_mpi else "sci"]) == 0
    simulated = capsys.readouterr().out
    real = shell.conduit(*words, MPI)
    assert real.status == 0, real.err
    assert lines_of(real.out) == lines_of(simulated) != []


def test_the_example_that_hangs_says_where(shell):
    shutil.copytree(EXAMPLES, shell.folder, dirs_exist_ok=True)
    done = shell.conduit("run", f"{HANGS}.py", "--conduit", MPI, "--stall-limit", "2s")
    assert done.status == 1
    assert "stuck.py:17 in main: waits for half of 7, which rank 1 must bring about" in done.err
    assert "rank 1: its main has returned: waits for the other ranks to return" in done.err
