"""A script that gives `conduit.run` a main of a front end is told how to start that: it does not read `api`."""

import subprocess
import sys

import pytest

SCRIPTS = {
    "from extended import shmem\nasync def main(pe): await pe.zeros(4)": (
        "Endpoint has no zeros; conduit.run gives main an endpoint: write `shmem.run(main, pes=2)`"
    ),
    "from conduits.mpi import MPI\nasync def main(comm): await comm.Barrier()": (
        "Endpoint has no Barrier; conduit.run gives main an endpoint: write `MPI.run(main, ranks=2)`"
    ),
    "async def main(pe): pe.my_pe()": (
        "Endpoint has no my_pe; if this is a program of shmem, write `from extended import shmem`, then "
        "`shmem.run(main, pes=2)`"
    ),
    'api = "upc"\nasync def main(t): t.MYTHREAD': (
        "Endpoint has no MYTHREAD; conduit.run gives main an endpoint: write `from extended import upc`, then "
        "`upc.run(main, threads=2)`"
    ),
}


@pytest.mark.parametrize("source", SCRIPTS, ids=range(len(SCRIPTS)))
def test_it_is_told_what_starts_its_main(source, tmp_path):
    (tmp_path / "prog.py").write_text(f"import conduit\n{source}\nconduit.run(main, ranks=2, conduit='loggp')\n")
    done = subprocess.run([sys.executable, "prog.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == SCRIPTS[source]
