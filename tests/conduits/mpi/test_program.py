"""`conduit run` of programs of MPI."""

import subprocess
import sys

PROGRAM = """
import numpy as np

api = "mpi"


async def main(comm):
    mine, theirs = np.full(3, comm.rank), np.zeros(3, int)
    await comm.Sendrecv(mine, (comm.rank + 1) % comm.size, recvbuf=theirs, source=(comm.rank - 1) % comm.size)
    print(comm.rank, theirs)
"""


def conduit_run(folder, *words):
    (folder / "prog.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "conduit", "run", "prog.py", "--ranks", "3", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_program_of_mpi_runs_on_mpi_by_itself(tmp_path):
    done = conduit_run(tmp_path)
    assert done.stderr == ""
    *lines, last = done.stdout.splitlines()
    assert sorted(lines) == ["0 [2 2 2]", "1 [0 0 0]", "2 [1 1 1]"]
    assert last.startswith("ranks=3 conduit=mpi seconds=")


def test_elsewhere_it_is_refused(tmp_path):
    done = conduit_run(tmp_path, "--conduit", "sci")
    assert done.returncode == 2
    assert done.stderr == (
        "conduit run: conduit='sci': programs with `api = \"mpi\"` run on MPI libraries; give mpi:library=scampi, say\n"
    )
