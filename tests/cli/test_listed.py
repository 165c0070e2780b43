"""Commands that are only listed: what help says of them is what they say themselves, and none is imported for it."""

import json
import subprocess
import sys

import pytest

from conduit.commands.listed import listed
from conduit.launch.entry_points import COMMANDS, commands

OWN = """
import json, sys
from importlib import import_module
from conduit.commands.listed import listed
from conduit.launch.entry_points import commands

before = {*sys.modules}
read = {name: (found := listed(target)) and found.__doc__ for name, target in commands().items()}
imported = sorted({*sys.modules} - before)
said = {}
for name, target in commands().items():
    module, _, attribute = target.partition(":")
    said[name] = getattr(import_module(module), attribute).__doc__
print(json.dumps([read, said, imported]))
"""

TEXT = "Measure something.\n\n    Of several kinds.\n    "
PLAIN = f'def measure():\n    """{TEXT}"""\n'


def test_of_each_command_its_own_docstring_is_read_and_nothing_is_imported():
    done = subprocess.run([sys.executable, "-c", OWN], capture_output=True, text=True, check=True)
    read, said, imported = json.loads(done.stdout)
    assert set(read) == set(commands())
    assert read == said
    assert imported == []


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package with one command, and let it be found; return where that is."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def written(source):
        folder = tmp_path / "measuring_plugin" / "commands"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text("raise RuntimeError('the package is imported')\n")
        (folder / "__init__.py").touch()
        (folder / "measure.py").write_text(source)
        return "measuring_plugin.commands.measure:measure"

    yield written
    for name in [each for each in sys.modules if each.partition(".")[0] == "measuring_plugin"]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "source",
    [
        PLAIN,
        f"async {PLAIN}",
        f"import no_such_package\n{PLAIN}raise RuntimeError\n",
        f'"""Of measure."""\nfrom os import path as way\n__all__ = ["measure"]\nkind = "measure"\n{PLAIN}',
        f'class Measure:\n    def measure(self):\n        """Not this."""\n\n{PLAIN}',
        f'def other():\n    def measure():\n        """Not this."""\n\n{PLAIN}',
        f'def measure():\n    """Not this: it is defined again."""\n\n{PLAIN}',
    ],
)
def test_the_docstring_of_a_function_is_read(package, source):
    assert listed(package(source)).__doc__ == TEXT
    assert "measuring_plugin" not in sys.modules


@pytest.mark.parametrize(
    "source",
    [
        "def measure():\n    pass\n",  # what it says is that it says nothing
        "def other():\n    pass\n",
        "def measure(:\n",
        f"import functools\n\n@functools.cache\n{PLAIN}",
        f"{PLAIN}measure.__doc__ = 'Another text.'\n",
        f"{PLAIN}measure = print\n",
        f"{PLAIN}from os import path as measure\n",
        f"{PLAIN}from os.path import *\n",
        f"{PLAIN}if True:\n    def measure():\n        pass\n",
        f"{PLAIN}class measure:\n    pass\n",
        'class measure:\n    """A class."""\n',
        "from os import path as measure\n",
    ],
)
def test_what_may_be_decided_elsewhere_is_left_to_the_import(package, source):
    assert listed(package(source)) is None


@pytest.mark.parametrize("target", ["no_such_package.commands:measure", "no_such_package", "", "zlib:compress", ":x"])
def test_what_has_no_source_is_left_to_the_import(target):
    assert listed(target) is None


def test_help_imports_a_command_whose_source_does_not_tell(command, install, package):
    target = package(f"from functools import cache\n\n@cache\n{PLAIN}")
    install(COMMANDS, "measure", target=target)
    out = " ".join(command("--help").out.split())
    assert "measure Cannot be imported: RuntimeError: the package is imported" in out


def test_help_of_a_command_named_behind_it_is_its_own(command):
    assert command("--help", "list") == command("list", "--help")


def test_help_says_of_each_command_the_beginning_of_its_own_help(command):
    """Where some are only listed, as where all are imported."""
    lines = [line.strip("│ ") for line in command("--help").out.splitlines()]
    for name in commands():
        first = command(name, "--help").out.split("\n\n")[1].split("\n")
        assert f"{name:13}  {first[0]}" in lines
