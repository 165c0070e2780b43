"""`conduit run` of programs of MPI."""

import subprocess
import sys

import numpy as np
import pytest
import trio

import conduit
from conduits.mpi import MPI

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


@pytest.mark.parametrize("fails", [False, True])
def test_calls_after_the_job_are_refused(fails):
    """Of a communicator or a request that a program has kept, whether the job has ended well or not."""
    kept = {}

    async def main(comm):
        if comm.rank == 0:
            kept.update(comm=comm, other=await comm.Dup(), request=await comm.Irecv(np.zeros(1), 1))
            if fails:
                raise ZeroDivisionError
        else:
            await comm.Dup()

    with pytest.raises(ZeroDivisionError) if fails else pytest.warns(conduit.ConduitWarning, match="never waited for"):
        MPI.run(main, ranks=2)
    a, b = np.zeros(2), np.zeros(2)
    comm, other, request = kept.values()
    for call in (
        lambda: comm.Send(a, 1), lambda: comm.Recv(a, 1), lambda: other.Isend(a, 1), lambda: other.Barrier(),
        lambda: comm.Allreduce(a, b), lambda: comm.Probe(), lambda: comm.Dup(), request.Wait, request.Test,
    ):  # fmt: skip
        with pytest.raises(conduit.BadRequest) as refused:
            trio.run(call)
        assert str(refused.value) == (
            "this call of MPI is of rank 0 of a job that is over; make calls while main runs, and return from it what "
            "is wanted afterwards"
        )
    assert comm.rank == 0


@pytest.mark.parametrize("call", ["Send", "Recv"])
def test_a_forgotten_call_of_no_buffer_with_nobody_is_told_with_the_line_of_the_program(call):
    async def main(comm):
        getattr(comm, call)(None, MPI.PROC_NULL)
        await comm.Barrier()

    line = main.__code__.co_firstlineno + 1
    with pytest.raises(conduit.BadRequest) as caught:
        MPI.run(main)
    assert str(caught.value) == (
        f"getattr(comm, call)(None, MPI.PROC_NULL) at {__file__}:{line} was called but never awaited, so it did "
        "nothing; write `await getattr(comm, call)(None, MPI.PROC_NULL)`"
    )


@pytest.mark.parametrize("call", ["Irecv", "Barrier", "Bcast"])
def test_a_forgotten_call_whose_line_cannot_be_read_has_the_name_that_programs_give_it(call):
    """Not that of the class that has it inside."""
    arguments = "" if call == "Barrier" else "buffer, 0"
    names = {"buffer": np.zeros(1)}
    exec(f"async def main(comm):\n    comm.{call}({arguments})\n", names)
    with pytest.raises(conduit.BadRequest) as caught:
        MPI.run(names["main"])
    assert str(caught.value) == (
        f"comm.{call}(...) at <string>:2 was called but never awaited, so it did nothing; write `await comm.{call}"
        "(...)`"
    )


def test_the_world_in_a_program_that_is_none_of_mpi():
    async def main(ep):
        MPI.COMM_WORLD  # noqa: B018

    with pytest.raises(conduit.ConduitError) as caught:
        conduit.run(main, conduit="loggp")
    assert str(caught.value) == (
        "MPI.COMM_WORLD: no rank of a job on MPI runs here; call it inside a program that MPI.run runs, or that "
        '`conduit run` runs and that has `api = "mpi"` at its top'
    )
