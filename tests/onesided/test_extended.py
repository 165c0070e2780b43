"""The checks of the extended layer on a network whose native operations complete late, and by messages on the same."""

import os
import re
import subprocess
import sys

import pytest

SUITE = ["-p", "conduit.conformance.plugin", "--pyargs", "extended.conformance"]
SOME = "putget or strided or vector or indexed or handles or implicit or values or atomics or accumulate"
SHARES = {
    "late:rma=native,order=strict": ("default-3ranks", 300),
    "late:rma=am,order=strict": (f"default-2ranks and ({SOME})", 100),
}


@pytest.mark.slow
@pytest.mark.parametrize("spec", SHARES)
def test_the_extended_checks_pass(environment, folder, spec):
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    command += [*SUITE, "--conduit", spec, "--rootdir", str(folder), "--tb=short", "-q", "--conformance-seed", "1"]
    share, least = SHARES[spec]
    command += ["-k", share]
    alone = environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > least
