"""A network in real time passes all checks that need neither virtual time nor a look into a simulation."""

import os
import re
import subprocess
import sys

import pytest

SHARES = {
    "local": ["conduit.conformance"],
    # The source of a request is read for some time after it was posted, and there is one slot.
    "local:lag=3,slots=1": ["conduit.conformance.test_flow", "conduit.conformance.test_messages"],
}
EXTENDED = ["extended.conformance"]


def suite(environment, folder, spec, parts, *arguments):
    """Run parts of the suites on a spec, in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
    command += ["-p", "conduit.conformance.plugin", "--pyargs", *parts, "--conduit", spec]
    command += ["--rootdir", str(folder), "--tb=short", "-q", "--conformance-seed", "1", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


def passes(done):
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    print(done.stdout.splitlines()[-1])
    return int(passed.group(1)), re.search(r"conformance: (\d+) checks skipped, which look at virtual", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SHARES)
def test_a_network_in_real_time_passes(environment, folder, spec):
    passes(suite(environment, folder, spec, SHARES[spec]))


@pytest.mark.slow
def test_the_layers_above_pass_on_it(environment, folder):
    passed, skipped = passes(suite(environment, folder, "local", EXTENDED, "-k", "3ranks"))
    assert skipped is not None
    assert passed > 3 * int(skipped.group(1))
