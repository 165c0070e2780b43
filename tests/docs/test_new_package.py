"""The guide's section on tests, in the package that `conduit new` makes: all that it needs is there."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.python_path import python_path

GUIDE = Path(__file__).parents[2] / "docs" / "writing_a_conduit.md"


@pytest.fixture
def package(tmp_path):
    """Give a new package, found as an installed one is."""
    command = [sys.executable, "-m", "conduit", "new", "tincan"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    folder = tmp_path / "conduit-tincan"
    info = folder / "conduit_tincan-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: conduit-tincan\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[conduit.conduits]\ntincan = conduit_tincan:Tincan\n")
    return folder


def run(folder, *words):
    environment = {**os.environ, "PYTHONPATH": python_path(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTEST_XDIST_AUTO_NUM_WORKERS"] = "1"  # each collects all suites
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def section_7():
    return re.search(r"^## 7\. Testing\n(.*?)^## ", GUIDE.read_text(), re.DOTALL | re.MULTILINE)[1]


@pytest.mark.slow
def test_section_7_runs_in_a_new_package_as_written(package):
    blocks = re.findall(r"^```python\n(.*?)^```", section_7(), re.DOTALL | re.MULTILINE)
    assert blocks
    for number, block in enumerate(blocks):
        (package / "tests" / f"test_guide_{number}.py").write_text(block)
    status, shown = run(package, "pytest", "-q", "tests")
    assert status == 0, shown
    assert re.search(rf"^{2 + len(blocks)} passed", shown, re.MULTILINE), shown


@pytest.mark.slow
def test_parts_of_the_suite_run_in_a_new_package_as_written(package):
    for words in re.findall(r"`(pytest -k \"[^`]*\"|conduit conform tincan [^`]*)`", section_7()):
        name, *rest = words.split(" ", 1)
        arguments = [part.strip('"') for part in re.findall(r'"[^"]*"|\S+', rest[0])]
        limit = ["--collect-only", "-q"] if name == "pytest" else ["--ranks", "3"]
        status, shown = run(package, name, *arguments, *limit)
        assert status == 0, shown
        assert "test_replies" in shown or "passed" in shown


def test_what_its_tests_need_is_in_its_pyproject(package):
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert project["optional-dependencies"]["test"] == ["conduit-am[conform]", "pytest-trio>=0.8"]
