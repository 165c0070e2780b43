"""The conduits of this project pass the conformance suite, each in a process of its own, side by side."""

import os
import subprocess
import sys

import pytest

from conduit.conformance.suites import suite_folders

SPECS = ("sci", "loggp")


def start(spec, folder):
    """Start the whole suite, all layers' parts of it, on one spec."""
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(folder), "--import-mode=importlib"]
    command += ["-q", "-p", "no:cacheprovider", "-W", "error", "-p", "conduit.conformance.plugin", "--conduit", spec]
    command += [str(suite) for suite in suite_folders().values()]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTEST_ADDOPTS", None)
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def suites(request, tmp_path_factory):
    """Start the suites that are asked for, all at once, so that they share the machine's CPUs."""
    asked = {item.callspec.params["spec"] for item in request.session.items if item.module is request.module}
    running = {spec: start(spec, tmp_path_factory.mktemp(spec)) for spec in SPECS if spec in asked}
    yield running
    for process in running.values():
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_conduit_conforms(suites, spec):
    output, _ = suites[spec].communicate()
    assert suites[spec].returncode == 0, output
