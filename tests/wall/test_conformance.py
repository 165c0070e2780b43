"""A network in real time passes all checks that need neither virtual time nor a look into a simulation."""

import os
import re

import pytest

from tests.forked import SUITES, forking

SHARES = {
    "local": ("3ranks", ["conduit.conformance"]),
    # The source of a request is read for some time after it was posted, and there is one slot.
    "local:lag=3,slots=1": ("2ranks", ["conduit.conformance.test_flow", "conduit.conformance.test_messages"]),
}
EXTENDED = ["extended.conformance"]


@pytest.fixture(scope="module")
def suite(environment, folder):
    """Run parts of the suites on a spec, in a process of its own."""
    alone = environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with forking(*SUITES, environment=alone) as forked:

        def run(spec, parts, chosen):
            words = ["-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
            words += ["-p", "conduit.conformance.plugin", "--pyargs", *parts, "--conduit", spec, "-k", chosen]
            words += ["--rootdir", str(folder), "--tb=short", "-q", "--conformance-seed", "1"]
            return forked.run("pytest", *words, cwd=folder, env=alone)

        yield run


def passes(done):
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed, done.stdout
    print(done.stdout.splitlines()[-1])
    return int(passed.group(1)), re.search(r"conformance: (\d+) checks skipped, which look at virtual", done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SHARES)
def test_a_network_in_real_time_passes(suite, spec):
    chosen, parts = SHARES[spec]
    passes(suite(spec, parts, chosen))


@pytest.mark.slow
def test_the_layers_above_pass_on_it(suite):
    passed, skipped = passes(suite("local", EXTENDED, "3ranks"))
    assert skipped is not None
    assert passed > 3 * int(skipped.group(1))
