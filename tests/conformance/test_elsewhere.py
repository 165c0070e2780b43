"""The suite runs from a package of somebody else's, wherever the environment is in which this one is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.python_path import python_path

ROOT = Path(__file__).parents[2]
PACKAGES = ("conduit", "conduits", "extended")
KEPT = "test_replies.py"  # one module of the suite is enough to see whether it is collected


def left_out(folder, names):
    return [name for name in names if name.startswith("test_") and name != KEPT and folder.endswith("conformance")]


class Elsewhere:
    """A package made by `conduit new`, and an environment in a folder of choice."""

    def __init__(self, folder, environment):
        (environment / "lib").mkdir(parents=True)
        (environment / "pyvenv.cfg").touch()
        for package in PACKAGES:
            shutil.copytree(ROOT / package, environment / "lib" / package, ignore=left_out)
        self.path = environment / "lib"
        assert self.run(folder, "conduit", "new", "mine").returncode == 0
        self.folder = folder / "conduit-mine"
        # Its conduit would have to be installed; the other settings are what counts here.
        self.settings = self.folder / "pyproject.toml"
        self.replace('conformance = ["mine"]', 'conformance = ["loggp"]')

    def replace(self, old, new):
        text = self.settings.read_text()
        assert old in text
        self.settings.write_text(text.replace(old, new))

    def run(self, folder, *words):
        environment = {**os.environ, "PYTHONPATH": python_path(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, "-m", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )

    def collect(self):
        return self.run(self.folder, "pytest", "--collect-only", "-q")


@pytest.mark.slow
def test_a_package_outside_of_the_clone_is_put_to_the_suite(tmp_path):
    """The README's environment lies in the clone, with all that lies at its top above the suite."""
    clone = tmp_path / "clone"
    package = Elsewhere(tmp_path, clone / ".venv")
    for path in ROOT.iterdir():
        if path.suffix in (".py", ".toml", ".ini", ".cfg"):
            shutil.copy(path, clone)
    done = package.collect()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{KEPT}::" in done.stdout
    assert "[loggp-default-3ranks" in done.stdout


@pytest.mark.slow
def test_an_environment_in_the_package_itself_does_not_hide_the_suite(tmp_path):
    package = Elsewhere(tmp_path, tmp_path / "conduit-mine-env")
    package.path = (package.path.parent.rename(package.folder / "env")) / "lib"
    done = package.collect()
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{KEPT}::" in done.stdout
    package.replace('testpaths = ["tests", "conduit_mine"]', "")
    done = package.collect()
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"pytest collects {package.folder} and passes over {package.folder / 'env'} in it" in done.stderr
