"""What was asked for in files is written even if nobody reads what is printed, as behind `| head -1`."""

import io
import json
import tempfile

import pytest

from conduit.commands.cli import call

PROGRAM = """
from extended import Extended


async def main(ep):
    layer = await Extended.attach(ep)
    await layer.barrier()
"""


class Unread(io.StringIO):
    """An output whose reader goes after so many lines."""

    def __init__(self, lines: int, number: int) -> None:
        super().__init__()
        self._left = lines
        self._number = number

    def write(self, text: str) -> int:
        if self._left <= 0:
            raise BrokenPipeError
        self._left -= text.count("\n")
        return super().write(text)

    def fileno(self) -> int:
        return self._number


@pytest.fixture
def unread(tmp_path, monkeypatch):
    """Call a command in a folder with a program, prog.py, its output read for so many lines."""

    def run(lines, *words):
        (tmp_path / "prog.py").write_text(PROGRAM)
        monkeypatch.chdir(tmp_path)
        with monkeypatch.context() as patched, tempfile.TemporaryFile() as file:
            patched.setattr("sys.stdout", Unread(lines, file.fileno()))
            return call(words)

    return run


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize("specs", [["sci"], ["sci", "loggp"]])
def test_json_of_a_run_has_the_results_that_could_not_be_printed(unread, capsys, lines, specs):
    conduits = [word for spec in specs for word in ("--conduit", spec)]
    words = ["run", "prog.py", *conduits, "--stats", "--json", "y.json", "--trace", "y.trace"]
    assert unread(lines, *words) == 1
    with open("y.json") as file:
        results = json.load(file)
    assert [each["conduit"] for each in results] == ["sci"]
    assert "error" not in results[0]
    assert results[0]["digest"]
    with open("y.trace") as file:
        assert json.load(file)
    assert "cannot be written" not in capsys.readouterr().err


def test_rows_of_a_benchmark_that_could_not_be_printed_are_in_its_files(unread, capsys):
    words = ["testam", "--conduit", "loggp", "--sections", "A", "--max-size", "8", "--json", "y.json", "--csv", "y.csv"]
    assert unread(1, *words) == 1
    with open("y.json") as file:
        (run,) = json.load(file)
    assert run["conduit"] == "loggp"
    with open("y.csv") as file:
        assert len(file.readlines()) > 1
    assert capsys.readouterr().err.endswith("wrote y.json\nwrote y.csv\n")


def test_a_later_job_whose_head_nobody_reads_ends_the_command_without_a_word_of_ranks(unread, capsys):
    words = ["testam", "--conduit", "loggp", "--conduit", "loggp:slots=4", "--sections", "A", "--max-size", "8"]
    assert unread(4, *words, "--csv", "y.csv") == 1
    with open("y.csv") as file:
        assert len(file.readlines()) > 1
    assert "rank 0" not in capsys.readouterr().err
