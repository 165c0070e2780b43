"""What is said on standard error: folded in a terminal, whole lines elsewhere."""

import io
import sys

import pytest

from conduit.commandline import console
from conduit.commands.cli import call
from conduit.commands.tables import grid
from conduit.launch.printing import output, terminal
from conduit.launch.processes import of_spec, starting

HANGS = """
async def main(ep):
    await ep.attach()
    await ep.block_until(lambda: False, what="a message that nobody sends")
"""
WARNS = """
async def main(ep):
    ep.warn("this program warns in words of which there are more than one line has room for")
"""


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def show(monkeypatch):
    """Put a terminal of 80 columns in the place of standard error."""

    def put():
        found = Screen()
        monkeypatch.setattr(sys, "stderr", found)
        monkeypatch.setenv("COLUMNS", "80")
        return found

    return put


@pytest.mark.parametrize("source", [HANGS, WARNS])
def test_reports_and_warnings_fit_their_terminal(show, tmp_path, monkeypatch, source):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(source)
    screen = show()
    call(["run", "prog.py", "--conduit", "loggp"])
    lines = screen.getvalue().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    whole = io.StringIO()
    monkeypatch.setattr(sys, "stderr", whole)
    call(["run", "prog.py", "--conduit", "loggp"])
    assert max(map(len, whole.getvalue().splitlines())) > 80
    assert whole.getvalue().split() == screen.getvalue().split()


def test_a_wrong_call_fits_its_terminal(show):
    screen = show()
    assert call(["run", "prog.py", "--conduit", "sci:toru=4x2"]) == 2
    assert call(["run", "prog.py", "--rnks", "3"]) == 2
    assert max(map(len, screen.getvalue().splitlines())) <= 80


def test_sizes_are_told_as_they_were_given_before_lines_are_folded(show, tmp_path, monkeypatch):
    (tmp_path / "it.py").write_text("async def main(ep): pass")
    for columns in range(40, 90):
        screen = show()
        monkeypatch.setenv("COLUMNS", str(columns))
        assert call(["run", str(tmp_path / "it.py"), "--segment", "100G"]) == 2
        assert "".join(screen.getvalue().split()) == (
            "conduitrun:--segment100G:theSCIdrivergivesatmost2Mofcontiguousmemory;askforatmost2M"
        )


def test_what_is_to_be_pasted_is_not_broken():
    line = "    rank 0: write `with trio.fail_after(seconds):` and not `x`"
    for width in range(10, len(line) + 1):
        lines = terminal.folded(line, width).split("\n")
        assert " ".join(lines).split() == line.split()
        assert all(each.startswith("      ") for each in lines[1:])
        assert any("`with trio.fail_after(seconds):`" in each for each in lines) == (width >= 38)


def test_a_number_and_its_unit_are_not_broken():
    line = "Rank 0 spends 12 % of its time after the start on that, which is 391.4 µs at least"
    for width in range(14, len(line) + 1):
        text = terminal.folded(line, width)
        assert "12 %" in text
        assert "391.4 µs" in text
        assert text.split() == line.split()


def test_ranks_that_are_processes_know_the_width(show, monkeypatch, capfd):
    show()
    code = "import os; os.write(1, os.environ['CONDUIT_COLUMNS'].encode() + b'\\n')"
    assert starting.start(1, [sys.executable, "-S", "-c", code], {}, {}).status == 0
    assert capfd.readouterr().out == "80\n"
    monkeypatch.setattr(output, "is_framed", lambda: True)
    monkeypatch.setenv(terminal.COLUMNS, "70")
    assert terminal.columns() == 70
    monkeypatch.delenv(terminal.COLUMNS)
    assert terminal.columns() is None


def test_benchmarks_on_processes_print_for_the_width_of_their_console(command, monkeypatch):
    given = []

    def start(spec, ranks, environment, progress):
        given.append(environment)
        return starting.Outcome(1)

    monkeypatch.setattr(of_spec, "wanted", lambda spec: True)
    monkeypatch.setattr(of_spec, "start", start)
    for width in ("80", "140"):
        monkeypatch.setenv("COLUMNS", width)
        with pytest.raises(SystemExit):
            command("testam", "--conduit", "loggp")
    assert [each["COLUMNS"] for each in given] == ["80", "140"]


def test_a_line_of_a_program_with_marks_below_is_not_folded(monkeypatch):
    monkeypatch.setattr(terminal, "room", lambda: 20)
    marked = "    x = one + two + three +\n                         ^"
    assert terminal.shown(f"what is wrong with it\n{marked}") == f"what is wrong with\n  it\n{marked}"


def test_heads_of_benchmarks_are_folded_likewise():
    where = io.StringIO()
    console.print_text(console.Console(file=where, width=30), "  one two three four five six seven eight")
    assert where.getvalue() == "  one two three four five six\n    seven eight\n"


def test_tables_are_folded_between_words_the_widest_columns_first():
    rows = [("one two three", "pio.receive_start, pio.ldda", 12.5), ("four", "link.rate", 1.0)]
    for width in range(38, 52):
        where = io.StringIO()
        table = grid(("leg", "made of", "us"), rows, right=[2])
        console.print_table(console.Console(file=where, width=width), table)
        text = where.getvalue()
        assert max(map(len, text.splitlines())) <= width
        for word in ["one", "two", "three", "pio.receive_start,", "pio.ldda", "12.5", "four", "link.rate"]:
            assert word in text.split(), (width, text)


FAILS = """
import trio

TEXT = "the value of x is too large by far for what this program, which has words enough, can ever do with it"

async def main(ep, what="refused"):
    if what == "refused":
        await ep.request_short(dest=ep.size, handler=print, a_rather_long_argument_name_that_makes_the_line_wide=1)
    if what == "own":
        raise ValueError(TEXT + "\n  " + TEXT)
    if what == "group":
        raise ExceptionGroup("two of them", [ValueError(TEXT), KeyError("short")])
    if what == "cause":
        try:
            raise ValueError(TEXT)
        except ValueError as exc:
            raise RuntimeError(TEXT) from exc
"""


@pytest.mark.parametrize("what", ["refused", "own", "group", "cause"])
@pytest.mark.parametrize("columns", ["80", "140"])
def test_what_errors_say_fits_the_terminal_and_code_stays_as_it_is(show, tmp_path, monkeypatch, what, columns):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(FAILS)
    screen = show()
    monkeypatch.setenv("COLUMNS", columns)
    call(["run", "prog.py", what, "--conduit", "loggp"])
    whole = io.StringIO()
    monkeypatch.setattr(sys, "stderr", whole)
    call(["run", "prog.py", what, "--conduit", "loggp"])
    lines, unfolded = screen.getvalue().splitlines(), whole.getvalue().splitlines()
    code = [line for line in unfolded if line.lstrip(" |").startswith(("await", "raise", "^", "File"))]
    assert code
    assert set(code) <= set(lines)
    assert max(len(line) for line in lines if line not in code) <= min(int(columns), 120)
    assert max(len(line) for line in unfolded if line not in code) > 80
    assert screen.getvalue().replace("|", "").split() == whole.getvalue().replace("|", "").split()
