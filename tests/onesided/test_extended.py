"""The checks of the extended layer on a network whose native operations complete late, and by messages on the same."""

import os
import re
import subprocess
import sys

import pytest

SUITE = ["-p", "conduit.conformance.plugin", "--pyargs", "extended.conformance"]
SPECS = ["late:rma=native,order=strict", "late:rma=am,order=strict"]


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_the_extended_checks_pass(environment, folder, spec):
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    command += [*SUITE, "--conduit", spec, "--rootdir", str(folder), "--tb=short", "-q", "--conformance-seed", "1"]
    command += ["-k", "default-3ranks"]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 300
