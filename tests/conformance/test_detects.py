"""The suite finds broken conduits, and only those."""

import os
import re
import shutil
from pathlib import Path

import pytest

from tests.forked import SUITES, forking
from tests.python_path import python_path

HERE = Path(__file__).parent
# Each fault with the part of the suite that has to find it, to spare the time of the others.
FAULTS = {
    "drops": "test_progress",
    "twice": "test_progress",
    "corrupts": "test_limits",
    "flags_first": "test_limits",
    "tail_late": "test_messages",
    "loses_slots": "test_flow",
    "rounds": "test_messages",
    "overruns": "test_messages",
    "past": "test_repeat",
    "starves": "test_flow",
    "hastens": "test_progress",
    "denies": "test_end",
    "insists": "test_end",
    "remains": "test_leftovers",
    "frees_twice": "test_flow",
    "by_hash": "test_repeat",
    "takes_for_nothing": "test_costs",
    "names_slots": "test_end",
    "notifies_ahead": "test_parts",
    "says_microseconds": "test_costs",
    "says_bytes_per_ns": "test_costs",
    "says_copy_rate": "test_costs",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Give a folder that, on the path, counts as an installed package with the conduits of broken.py."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copy(HERE / "broken.py", folder / "broken_conduits.py")
    info = folder / "broken_conduits-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-conduits\nVersion: 1\n")
    entries = "\n".join(f"{name} = broken_conduits:{name}" for name in FAULTS)
    (info / "entry_points.txt").write_text(f"[conduit.conduits]\nsound = broken_conduits:Sound\n{entries}\n")
    return folder


@pytest.fixture(scope="module")
def suite(installed):
    """Run parts of the core's suite on a spec, in a process of its own, and give its output."""
    environment = {**os.environ, "PYTHONPATH": python_path(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with forking(*SUITES, environment=environment) as forked:

        def run(spec, parts, *arguments):
            words = ["-c", os.devnull, "--import-mode=importlib", "-p", "no:cacheprovider"]
            words += ["-p", "conduit.conformance.plugin", "--pyargs", *parts, "--conduit", spec]
            words += ["--rootdir", str(installed), "--tb=line", "-q", "--conformance-seed", "1", *arguments]
            return forked.run("pytest", *words, cwd=installed, env=environment)

        yield run


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_conduit_fails(suite, fault):
    done = suite(fault, [f"conduit.conformance.{FAULTS[fault]}"], "-x", "-k", "default")
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"^FAILED \S*::test_\w+\[" + fault, done.stdout, re.MULTILINE), done.stdout


@pytest.mark.slow
def test_a_sound_conduit_passes(suite):
    parts = sorted({f"conduit.conformance.{part}" for part in FAULTS.values()})
    done = suite("sound", parts, "-k", "default-2ranks")
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_unknown_conduit_is_a_wrong_call(suite):
    done = suite("nosuch", ["conduit.conformance"])
    assert done.returncode == 4
    assert "there is no conduit 'nosuch'" in done.stderr
