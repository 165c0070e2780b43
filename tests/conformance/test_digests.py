"""The comparison of digests that restructuring leans on."""

import importlib.util
import json
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[1] / "digests.py"


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("digests", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wrote(prefix, *rows):
    for number, row in enumerate(rows):
        with Path(f"{prefix}.gw{number % 2}").open("a") as file:
            file.write(json.dumps(row) + "\n")
    return str(prefix)


def test_a_difference_is_named_and_tests_with_other_jobs_are_left_out(tool, tmp_path, capsys):
    before = wrote(tmp_path / "before", ("a", "sci:x=1,y=2", "11"), ("b", "sci:", "22"), ("c", "sci:", "33"))
    after = wrote(tmp_path / "after", ("a", "sci:y=2,x=1", "11"), ("b", "sci:", "23"), ("c", "loggp:", "33"))
    assert tool.main(before, after)
    assert capsys.readouterr().out == "2 tests with the same jobs, 2 jobs\nother digests: b\n"
    assert not tool.main(before, before)
    assert tool.main(before, str(tmp_path / "nothing"))


def test_jobs_of_a_test_are_noted(tool, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    recorder = tool.Recorder(tmp_path / "here")
    recorder.test = "one"

    class Result:
        conduit, digest = "sci:", "77"

    recorder.note(Result)
    recorder.note(Result)
    assert tool.read(str(tmp_path / "here")) == {"one": [("sci:", "77"), ("sci:", "77")]}
