"""Ctrl-C while the command line is still being imported: it ends as any command that is interrupted."""

import os
import subprocess
import sys

import pytest

from tests.python_path import python_path

PRESSING = """
import os, sys

class Pressing:
    def find_spec(self, name, path, target=None):
        if name == os.environ["PRESSED_AT"]:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressing())
"""
SCRIPTS = {"asks.py": "import conduit\n\nconduit.run\n", "takes.py": "from conduit import run\n"}
COMMAND = "import sys\nfrom conduit.commands.cli import main\nsys.exit(main())\n"


@pytest.fixture
def interrupted(tmp_path):
    """Run Python in a process where Ctrl-C comes as a module is imported; return what it ends with, and says."""
    (tmp_path / "sitecustomize.py").write_text(PRESSING)
    (tmp_path / "conduit").write_text(COMMAND)
    for name, script in SCRIPTS.items():
        (tmp_path / name).write_text(script)

    def run(at, *words):
        environment = {**os.environ, "PYTHONPATH": python_path(tmp_path), "PRESSED_AT": at}
        command = [sys.executable, *(word.format(folder=tmp_path) for word in words)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd="/")
        return done.returncode, done.stdout, done.stderr

    return run


COMMANDS = {
    ("{folder}/conduit",): [
        "conduit.launch.errors.uncaught",
        "conduit.launch.hints.hidden",
        "conduit.contract",
        "conduit.commands",
        "cyclopts",
        "conduit.commands.list",
    ],
    ("-m", "conduit"): ["conduit.launch.errors.uncaught", "conduit.launch.printing.output", "conduit.commands.cli"],
    ("-X", "dev", "-m", "conduit"): ["conduit.launch.hints.hidden"],
}


@pytest.mark.parametrize(("words", "at"), [(words, at) for words, modules in COMMANDS.items() for at in modules])
def test_ctrl_c_while_the_command_is_imported_is_one_word(interrupted, words, at):
    assert interrupted(at, *words, "list") == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    ("name", "at", "line"),
    [
        ("asks.py", "conduit.launch.errors.uncaught", "import conduit"),
        ("asks.py", "conduit.launch.run", "conduit.run"),
        ("takes.py", "conduit.launch.hints.hidden", "from conduit import run"),
        ("takes.py", "conduit.launch.run", "from conduit import run"),
    ],
)
def test_ctrl_c_while_a_script_imports_this_package_shows_the_line_of_the_script(interrupted, name, at, line):
    status, out, err = interrupted(at, f"{{folder}}/{name}")
    assert (out, err.splitlines()[-2:]) == ("", [f"    {line}", "KeyboardInterrupt"])
    assert len(err.splitlines()) == 4
    assert status not in (0, 1)
