"""`conduit run` on several conduits, one of whose ranks are processes."""

import json
import re

import pytest

from .conftest import MPI

CONDUITS = ("--conduit", "loggp", "--conduit", MPI, "--conduit", "sci")


def test_it_goes_on_after_processes_whose_program_fails(shell):
    shell.file("async def main(ep):\n    if ep.rank == 0:\n        1 / 0\n")
    done = shell.conduit("run", "program.py", *CONDUITS, "--json", "out.json")
    assert (done.status, done.out) == (1, "")
    lines = done.err.splitlines()
    assert lines[:2] == ["on loggp:", "Traceback (most recent call last):"]
    assert lines.count("Traceback (most recent call last):") == 1
    assert re.fullmatch(rf"on {MPI}: the same, at \d+\.\d{{9}} s", lines[7])
    assert lines[8:] == [
        "on sci: the same, at 0.000400000 s",
        "wrote out.json",
        f"failed on: loggp, {MPI}, sci",
    ]
    found = json.loads((shell.folder / "out.json").read_text())
    assert [(each["conduit"], each["error"]) for each in found] == [
        ("loggp", "ZeroDivisionError: division by zero"),
        (MPI, "ZeroDivisionError: division by zero"),
        ("sci", "ZeroDivisionError: division by zero"),
    ]


@pytest.mark.slow
def test_it_goes_on_after_a_process_that_ends(shell):
    shell.file(
        "import os, signal, sys\nasync def main(ep):\n    if 'mpi4py.MPI' in sys.modules and ep.rank == 1:\n"
        "        os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    done = shell.conduit("run", "program.py", *CONDUITS)
    assert done.status not in (0, 2)
    lines = done.err.splitlines()
    at = lines.index(f"on {MPI}:")
    assert lines[at + 1].startswith("the process of ")
    assert lines[-1] == f"failed on: {MPI}"
    assert done.out.count("conduit=sci ") == 1


@pytest.mark.slow
@pytest.mark.parametrize(("code", "status"), [("ep.exit(3)", 3), ("ep.exit(0)", 0), ("raise KeyboardInterrupt", 130)])
def test_an_exit_of_processes_ends_all(shell, code, status):
    shell.file(f"async def main(ep):\n    if ep.rank == 0 and ep.size == 2:\n        {code}\n    await ep.attach()\n")
    done = shell.conduit("run", "program.py", "--conduit", MPI, "--conduit", "sci")
    assert done.status == status
    assert f"stopped on: {MPI}; not run on: sci" in done.err.splitlines()
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_a_wrong_call_of_processes_ends_all(shell):
    shell.file("async def main(ep, number): pass\n")
    done = shell.conduit("run", "program.py", "--conduit", MPI, "--conduit", "sci")
    assert (done.status, done.err.count("does not take the arguments given")) == (2, 1)
