"""Real processes pass a short selection of the checks; `conduit conform mpi:library=mpi4py` puts them to all."""

import os
import re
import subprocess
import sys

import pytest

# Suites, and which of their cases: crowded processors make a check take a second.
SHARES = {
    "mpi:library=mpi4py": ("conduit.conformance.test_replies", "3ranks"),
    # A payload longer than a message travels by itself, and there is one slot.
    "mpi:library=mpi4py,shared=no,credits=1,medium=512": ("conduit.conformance.test_messages", "2ranks"),
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", SHARES)
def test_real_processes_pass(tmp_path, spec):
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    suite, cases = SHARES[spec]
    command += ["-p", "conduit.conformance.plugin", "--pyargs", suite, "--conduit", spec, "-k", cases]
    command += ["--rootdir", str(tmp_path), "--tb=short", "-q", "--conformance-seed", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) > 20
