"""`conduit list`, `show` and `raw`."""

import itertools
import json
import re
import sys

import attrs
import pytest
from rich.console import Console
from rich.table import Table

import conduit
from conduit.commandline.console import make_console, print_table
from conduit.commands.tables import grid
from conduit.contract import Constant, RawTable
from conduit.errors import UnknownConduit
from conduit.launch.entry_points import CONDUITS
from conduit.launch.registry import parse_spec
from conduit.options import describe, in_effect
from conduits.loggp import Loggp


class Toy(Loggp):
    """A network with constants of every kind and a driver."""

    name = "toy"
    summary = "a toy [of the tests]"
    constants = (
        Constant("link.rate", 160.0, "MB/s", "fact", "toy.link.rate"),
        Constant("link.delay", 70 / 3, "ns", "anchor", "toy.link.delay, a third of it"),
        Constant("cpu.guess", 1, "ns", "assumed", "a round figure"),
        Constant("cpu.other", 2, "ns", "assumed", "another"),
    )

    @classmethod
    def raw_tables(cls, options):
        return [RawTable("PIO [ping-pong]", ("bytes", "us", "how"), [(8, 1.25, "store"), (64, 2.0, "line")], "a note")]


@pytest.fixture
def toy(install):
    install(CONDUITS, "toy", Toy)


def words(text: str) -> str:
    return " ".join(text.split())


def test_list_shows_limits_and_options(command, toy):
    status, out, _ = command("list")
    assert status == 0
    assert "toy a toy [of the tests]" in words(out)
    assert "at most 16 arguments, medium 65000, long request 2147483647, long reply 2147483647" in words(out)
    assert re.search(r"slots +16 +an integer of at least 1 +outstanding requests", out)


def test_list_shows_a_broken_conduit_and_goes_on(command, toy, install):
    install(CONDUITS, "broken", target="no_such_package:Broken")
    status, out, _ = command("list")
    assert status == 0
    assert "broken cannot be used (no_such_package:Broken): ModuleNotFoundError: No module" in words(out)
    assert "toy a toy" in words(out)


def test_list_shows_where_the_module_of_a_conduit_is_no_python(command, tmp_path, monkeypatch, install):
    (tmp_path / "no_python_here.py").write_text("import conduit\ndef broken(:\n")
    monkeypatch.syspath_prepend(tmp_path)
    install(CONDUITS, "broken", target="no_python_here:Broken")
    path = re.escape(str(tmp_path / "no_python_here.py"))
    wanted = rf"broken cannot be used \(no_python_here:Broken\): SyntaxError: .+ \({path}:2\)"
    assert re.search(wanted, words(command("list").out))
    with pytest.raises(UnknownConduit, match=rf"cannot be used: SyntaxError: .+ \({path}:2\)$"):
        parse_spec("broken")


def test_show_lists_constants_with_sources_and_counts_them(command, toy):
    status, out, _ = command("show", "toy")
    assert status == 0
    assert re.search(r"link\.rate +160 +MB/s +fact +toy\.link\.rate", out)
    assert re.search(r"link\.delay +23\.3333 +ns +anchor +toy\.link\.delay, a third of it", out)
    assert out.rstrip().endswith("4 constants: 1 fact, 1 anchor, 2 assumed")


def test_show_counts_one_constant(command, toy, monkeypatch):
    monkeypatch.setattr(Toy, "constants", Toy.constants[2:3])
    assert command("show", "toy").out.rstrip().endswith("\n1 constant: 0 facts, 0 anchors, 1 assumed")


def test_show_takes_a_spec_because_limits_depend_on_options(command, toy):
    assert "medium 1000, " in command("show", "toy:max_medium=1000").out


def test_show_of_a_broken_conduit_says_why(command, install):
    install(CONDUITS, "broken", target="no_such_package:Broken")
    status, _, err = command("show", "broken")
    assert status == 2
    assert err.startswith("conduit show: conduit 'broken' (no_such_package:Broken) cannot be used: ModuleNotFound")


def test_raw_prints_the_tables_of_the_driver(command, toy):
    status, out, _ = command("raw", "toy")
    assert status == 0
    assert "PIO [ping-pong]" in out
    assert re.search(r"8 +1\.250 +store", out)
    assert re.search(r"64 +2\.000 +line", out)
    assert out.rstrip().endswith("a note")


@pytest.mark.parametrize("what", ["show", "raw"])
def test_numbers_are_whole_in_a_narrow_terminal(command, toy, monkeypatch, what):
    wide = re.findall(r"\S*[0-9]\.[0-9]+\b", command(what, "toy").out)
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("COLUMNS", "20")
    narrow = command(what, "toy").out
    assert set(wide) <= set(narrow.split())


def test_sources_stand_below_their_constants_in_a_narrow_terminal(command, toy, monkeypatch):
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "64")
    lines = re.sub(r"\x1b\[\d+m", "", command("show", "toy").out).splitlines()
    first = lines.index("link.rate  160 MB/s, fact")
    assert lines[first + 1 : first + 4] == [
        "    toy.link.rate",
        "link.delay  23.3333 ns, anchor",
        "    toy.link.delay, a third of it",
    ]
    assert all(len(line.rstrip()) <= 64 for line in lines[first:])
    monkeypatch.setenv("COLUMNS", "100")
    assert re.search(r"link\.rate +160 +MB/s +fact +toy\.link\.rate", command("show", "toy").out)


@pytest.mark.parametrize("call", [("show", "toy"), ("list",), ("testam", "--sections", "A", "--conduit", "toy")])
def test_text_is_folded_between_words_in_a_terminal(command, toy, monkeypatch, call):
    whole = before_table(command(*call).out)
    assert max(map(len, whole)) > 60
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setenv("COLUMNS", "60")
    folded = before_table(command(*call).out)
    assert max(map(len, folded)) <= 60
    assert words(" ".join(folded)) == words(" ".join(whole))


def before_table(out: str) -> list[str]:
    """Return the lines above the first table, without the signs that make a terminal print them bold."""
    lines = re.sub(r"\x1b\[\d+m", "", out).splitlines()
    return list(itertools.takewhile(str.strip, lines))


def test_raw_without_a_driver_names_those_that_have_one(command, toy):
    status, _, err = command("raw", "loggp")
    assert status == 2
    assert re.match(r"conduit raw: conduit 'loggp' has no driver with benchmarks .*; .* have one: .*\btoy\b", err)


def test_list_as_json(command, toy, tmp_path):
    found = {each["conduit"]: each for each in json.loads(command("list", "--json", "-").out)}
    assert found["toy"] == {
        "conduit": "toy",
        "version": conduit.__version__,
        "summary": "a toy [of the tests]",
        "clock": "virtual",
        "limits": {**attrs.asdict(Toy.limits(Toy.Options())), "segment": Toy.max_segment(Toy.Options())},
        "options": in_effect(Toy.Options()),
        "allowed": {
            each.name: {"default": each.default, "allowed": each.allowed, "help": each.help}
            for each in describe(Toy.Options)
        },
    }
    path = tmp_path / "list.json"
    status, out, _ = command("list", "--json", str(path))
    assert status == 0
    assert "toy  a toy" in out
    assert json.loads(path.read_text()) == list(found.values())


def test_list_as_json_says_which_cannot_be_used(command, install):
    install(CONDUITS, "broken", target="no_such_module:Broken")
    (found,) = [each for each in json.loads(command("list", "--json", "-").out) if each["conduit"] == "broken"]
    assert found["error"].startswith("cannot be used (no_such_module:Broken): ModuleNotFoundError: ")


def test_show_as_json(command, toy):
    found = json.loads(command("show", "toy:slots=3", "--json", "-").out)
    assert found["conduit"] == "toy:slots=3"
    assert found["options"]["slots"] == 3
    assert found["constants"][0] == {
        "name": "link.rate",
        "value": 160.0,
        "unit": "MB/s",
        "kind": "fact",
        "source": "toy.link.rate",
    }


def test_raw_as_json(command, toy):
    assert json.loads(command("raw", "toy", "--json", "-").out) == {
        "program": "raw",
        "version": conduit.__version__,
        "conduit": "toy",
        "options": in_effect(Toy.Options()),
        "tables": [
            {
                "title": "PIO [ping-pong]",
                "columns": ["bytes", "us", "how"],
                "rows": [[8, 1.25, "store"], [64, 2.0, "line"]],
                "note": "a note",
            }
        ],
    }


@pytest.mark.parametrize("words", [["list"], ["show", "toy"], ["raw", "toy"]], ids=lambda words: words[0])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(command, toy, words):
    assert command(*words, "--json", "no/such/folder.json") == (
        2,
        "",
        f"conduit {words[0]}: --json no/such/folder.json cannot be written; name a file in a folder that exists\n",
    )


def test_columns_are_closer_in_a_terminal_that_is_too_narrow(monkeypatch, capsys):
    rows = [[10**6 + row * 7 + column for column in range(9)] for row in range(2)]
    shown = {}
    for width in (40, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        print_table(make_console(), grid([f"count{column}" for column in range(9)], rows, right=range(9)))
        shown[width] = capsys.readouterr().out.splitlines()
    assert all(max(map(len, shown[width])) <= width for width in (80, 120))
    assert shown[40] == shown[80]  # no closer than that, and no digit cut off
    for lines in shown.values():
        assert [line.split() for line in lines[3:5]] == [list(map(str, row)) for row in rows]
    assert "1000000   1000001" in shown[120][3]
    assert "1000000 1000001" in shown[80][3]


@pytest.mark.parametrize("words", [("list",), ("show", "loggp"), ("raw", "toy"), ("explain", "--conduit", "loggp")])
def test_a_table_that_is_piped_has_no_blanks_at_the_ends_of_its_lines(command, toy, words):
    status, out, _ = command(*words)
    assert status == 0
    assert [line for line in out.splitlines() if line != line.rstrip()] == []
    assert any("─" in line for line in out.splitlines())  # there is a table


def test_the_tables_of_options_fit_a_narrow_terminal(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    status, out, _ = command("list")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 60
    assert "myrinet2000|" in out


@pytest.mark.parametrize("columns", ["80", "100", "140"])
@pytest.mark.parametrize("name", ["origin", "t3e", "sci", "sunfire", "startx", "udp"])
def test_tables_of_raw_figures_fold_their_titles_and_cut_no_figure(command, monkeypatch, columns, name):
    monkeypatch.setenv("COLUMNS", columns)
    lines = command("raw", name).out.splitlines()
    assert not [line for line in lines if "…" in line or len(line) > int(columns)]
    figures = {cell for table in json.loads(command("raw", name, "--json", "-").out)["tables"] for row in table["rows"]
               for cell in row if isinstance(cell, int)}  # fmt: skip
    assert figures <= {int(word) for line in lines for word in line.split() if word.isdecimal()}


@pytest.mark.parametrize("columns", range(20, 80, 3))
def test_columns_with_titles_of_several_lines_keep_their_digits(capsys, columns):
    table = Table("bytes", "PEs", "origin\nSHMEM contiguous", "\nMPI contiguous", "\nratio")
    for column in table.columns:
        column.justify = "right"
    table.add_row("10000", "16", "101.756", "1137.223", "16.35")
    print_table(Console(width=columns, file=sys.stdout), table)
    lines = capsys.readouterr().out.splitlines()
    assert any(re.findall(r"[\d.]+", line) == ["10000", "16", "101.756", "1137.223", "16.35"] for line in lines)
    assert not any("…" in line for line in lines)
