"""Real processes pass a short selection of the checks; `conduit conform mpi:library=mpi4py` puts them to all."""

import os
import re
import subprocess
import sys

import pytest

# Spec, suite, which of its cases, and how many these are at least: crowded processors make a check take a second.
SHARES = [
    ("mpi:library=mpi4py", "conduit.conformance.test_replies", "3ranks", 20),
    # A payload longer than a message travels by itself, and there is one slot.
    ("mpi:library=mpi4py,shared=no,credits=1,medium=512", "conduit.conformance.test_messages", "2ranks", 20),
    # The first process warns for all.
    ("mpi:library=mpi4py", "conduit.conformance.test_layers", "2ranks and test_warnings_are_kept", 1),
    # A message to itself when main has returned: a single rank waits for nobody, and must poll all the same.
    ("mpi:library=mpi4py", "conduit.conformance.test_end", "1ranks and exit_functions_run", 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("spec", "suite", "cases", "least"), SHARES)
def test_real_processes_pass(tmp_path, spec, suite, cases, least):
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    command += ["-p", "conduit.conformance.plugin", "--pyargs", suite, "--conduit", spec, "-k", cases]
    command += ["--rootdir", str(tmp_path), "--tb=short", "-q", "--conformance-seed", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= least
