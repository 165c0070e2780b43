"""The programs of docs/programs.md: right on every network with any number of threads, and the tables of that page.

`pytest tests/docs -m every` runs each of them on each network, in strict and in weak order, with each number of
threads; otherwise each runs once on each, with numbers of threads that take turns. Of the tables, which `-m every` and
`--record` measure whole, it is half of the cells.
"""

import contextlib
import importlib.util
import io
import re
from pathlib import Path

import pytest

import conduit
from extended import upc

from .serial import SMALL, printed

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "programs.md"
PROGRAMS = tuple(SMALL)
THREADS = (1, 2, 3, 5, 8, 16)
NETWORKS = ("loggp", "origin", "sci", "startx", "sunfire", "t3e", "udp")
SPECS = (*NETWORKS, *(f"{name}:order=weak" for name in NETWORKS), "udp:loss=0.03,dup=0.02,reorder=0.05")


def run(name, arguments, threads, spec):
    """Run a program in this process; return the job's result and the lines that it prints."""
    place = importlib.util.spec_from_file_location(f"program_{name}", DOCS / "examples" / f"{name}.py")
    program = importlib.util.module_from_spec(place)
    place.loader.exec_module(program)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        if getattr(program, "api", "core") == "upc":
            result = upc.run(program.main, *arguments, threads=threads, conduit=spec)
        else:
            result = conduit.run(program.main, *arguments, ranks=threads, conduit=spec)
    return result, printed.getvalue().splitlines()


def is_as_serially(name, spec, threads):
    lines = run(name, SMALL[name], threads, spec)[1]
    times = [line for line in lines if line.startswith("time: ")]
    assert times == lines[-len(times) :]
    assert lines[: -len(times)] == printed(name)


@pytest.mark.every
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_right_everywhere(name, spec, threads):
    is_as_serially(name, spec, threads)


# Of one program the networks have all the numbers of threads, and of one network the programs.
COVER = [
    (name, spec, THREADS[(row + column) % len(THREADS)])
    for row, name in enumerate(PROGRAMS)
    for column, spec in enumerate(SPECS)
]


@pytest.mark.parametrize(("name", "spec", "threads"), COVER)
def test_a_program_is_right(name, spec, threads):
    is_as_serially(name, spec, threads)


def test_these_are_all_programs_of_the_page_and_all_simulated_networks(pytestconfig):
    assert sorted(re.findall(r"^\| \[(\w+)\.py\]", PAGE.read_text(encoding="utf-8"), re.M)) == sorted(PROGRAMS)
    simulated = [spec for spec in pytestconfig.getini("conformance") if not spec.startswith("mpi:")]  # which are on sci
    assert sorted(simulated) == sorted(NETWORKS)


# ---------------------------------------------------------------------------------------------- the tables of the page

MEASURED = {
    "plate": ("48", "20"),
    "gups": ("4096", "512", "256"),
    "matmul": ("96",),
    "cg": ("7", "200"),
    "treesearch": ("10",),
    "samplesort": ("6000",),
    "photons": ("24", "500"),
    "hashtable": (),
}
"""Arguments of the programs in the tables."""
MARKS = re.compile(r"(?<=<!-- measured -->\n).*?(?=<!-- end of measured -->)", re.DOTALL)


def measured(name, network):
    """Return the milliseconds that a program tells, by what it says of them, and the messages of all threads."""
    result, lines = run(name, MEASURED[name], 8, network)
    times = {}
    for line in lines:
        if found := re.match(r"time: (one by one|in bunches|)[^.]*?([\d.]+) ms", line):
            times[found[1]] = float(found[2])
    sent = sum(each["requests_sent"] + each["replies_sent"] for each in result.statistics)
    return times, sent


PLACES = [(name, network) for name in PROGRAMS for network in NETWORKS]


def in_turn(name, network):
    """Say whether the usual run measures a program on a network: of each program and network half of the others."""
    return (PROGRAMS.index(name) + NETWORKS.index(network)) % 2 == 0


def rows(found):
    """Give what stands in the first cell of each row, with its cells by network: of times, then of messages."""
    times, messages = [], []
    for name in PROGRAMS:
        of = {network: found[name, network] for network in NETWORKS if (name, network) in found}
        command = " ".join([f"{name}.py", *MEASURED[name]])
        for part in next(iter(of.values()))[0]:
            what = f"`{command}`, {part}" if part else f"`{command}`"
            times.append((what, {network: f"{each[part]:.3f}" for network, (each, _) in of.items()}))
        messages.append((f"`{command}`", {network: str(sent) for network, (_, sent) in of.items()}))
    return times, messages


def tables(times, messages):
    """Give the tables of times and of messages as Markdown."""
    head = "| {} |" + "".join(f" {network} |" for network in NETWORKS) + "\n|---|" + "---:|" * len(NETWORKS)
    both = []
    for title, each in (("simulated time, ms", times), ("messages", messages)):
        lines = [f"| {what} |" + "".join(f" {cells[network]} |" for network in NETWORKS) for what, cells in each]
        both.append("\n".join([head.format(title), *lines]))
    return "\n" + "\n\n".join(both) + "\n\n"


def shown(text):
    """Give the rows of both tables."""
    split = [[line.strip("| ").split(" | ") for line in part.strip().split("\n")[2:]] for part in text.split("\n\n|")]
    return [[(what, dict(zip(NETWORKS, cells, strict=True))) for what, *cells in part] for part in split]


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.every)], ids=["by turns", "all"])
def test_the_tables_of_times_and_messages_are_true(record, every):
    made = rows({place: measured(*place) for place in PLACES if record or every or in_turn(*place)})
    text = PAGE.read_text(encoding="utf-8")
    if record:
        PAGE.write_text(MARKS.sub(lambda _: tables(*made), text), encoding="utf-8")
        return
    found = shown(MARKS.search(text)[0])
    assert tables(*found) == MARKS.search(text)[0]
    for on_page, here in zip(found, made, strict=True):
        assert [what for what, _ in on_page] == [what for what, _ in here]
        for (what, there), (_, cells) in zip(on_page, here, strict=True):
            assert {network: there[network] for network in cells} == cells, what
