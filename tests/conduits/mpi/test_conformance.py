"""Real processes pass a short selection of the checks; `conduit conform mpi:library=mpi4py` puts them to all."""

import os
import re
import subprocess
import sys

import pytest

SHARES = {
    # One job for each number of processes.
    "mpi:library=mpi4py": ["conduit.conformance.test_messages", "conduit.conformance.test_replies"],
    # A payload longer than a message travels by itself, and there is one slot.
    "mpi:library=mpi4py,shared=no,credits=1,medium=512": ["conduit.conformance.test_flow"],
    "mpi:library=mpi4py,shared=no": ["extended.conformance.test_putget"],
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", SHARES)
def test_real_processes_pass(tmp_path, spec):
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    command += ["-p", "conduit.conformance.plugin", "--pyargs", *SHARES[spec], "--conduit", spec, "-k", "3ranks"]
    command += ["--rootdir", str(tmp_path), "--tb=short", "-q", "--conformance-seed", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) > 20
