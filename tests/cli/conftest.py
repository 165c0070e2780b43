"""Call commands inside this process, run programs that fail, and install conduits and commands for one test."""

import sys
import textwrap
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import NamedTuple

import pytest

from conduit.commands.cli import call
from conduit.launch import entry_points


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def command(capsys, monkeypatch):
    """Call `conduit WORDS...`; tables are as wide as they need."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str) -> Outcome:
        status = call(words)
        out, err = capsys.readouterr()
        return Outcome(status, out, err)

    return run


@pytest.fixture
def shown(command, tmp_path, monkeypatch):
    """Run a program that fails; return the lines that are printed."""
    monkeypatch.chdir(tmp_path)

    def write_and_run(source, *words):
        (tmp_path / "prog.py").write_text(textwrap.dedent(source))
        conduit = "mpi:library=scampi" if "conduits.mpi" in source else "loggp"
        status, _, err = command("run", "prog.py", "--conduit", conduit, *words)
        assert status == 1, err
        return err.splitlines()

    return write_and_run


@pytest.fixture
def install(monkeypatch):
    """Register an object under a name in an entry-point group, beside what is installed."""
    added: list[EntryPoint] = []
    looked_up = entry_points.entry_points
    module = ModuleType("a_plugin")
    monkeypatch.setitem(sys.modules, "a_plugin", module)
    monkeypatch.setattr(
        entry_points,
        "entry_points",
        lambda *, group: [*looked_up(group=group), *(entry for entry in added if entry.group == group)],
    )
    entry_points.lookup.cache_clear()

    def register(group: str, name: str, what: object = None, target: str = "") -> None:
        if what is not None:
            setattr(module, name, what)
        added.append(EntryPoint(name, target or f"a_plugin:{name}", group))
        entry_points.lookup.cache_clear()

    yield register
    entry_points.lookup.cache_clear()
