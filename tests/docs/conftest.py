"""Runs what the documentation shows.

- A `python` block is executed by itself, as if it were pasted into a file.  What it prints must be the `text` block
  that follows it.
- A `python` block under a comment `<!-- examples/NAME.py -->` is that file, letter for letter.
- A `console` block holds commands after `$ ` and what they print; a line `...` stands for any lines.  They run in a
  folder of the page's own that begins with the files of docs/examples.
- A `toml` block must be TOML.  `sh` and `text` blocks are not run.

`pytest tests/docs --record` writes what was printed into the pages and into the `.out` files instead of comparing.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from tests.forked import Forking, forking

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "conduits").rglob("README.md"))]

_FENCE = re.compile(r"(?:<!-- (?P<file>examples/\S+) -->\n+)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$", re.M | re.S)
_SCRIPTS = sysconfig.get_path("scripts")
_SETTINGS = {"COLUMNS": "100", "PYTHONWARNINGS": "default", "NO_COLOR": "1"}
_USUAL = (
    "conduit.commands.cli",
    "conduit.commands.run",
    "conduit.commands.running",
    "conduit.launch.jobs.simulated",
    "extended",
    "rich.console",
    "rich.table",
)
"""What most commands import anyhow; no network is among it."""
_REAL = "mpi:library=mpi4py"
_COMMANDS = {
    "conduit": [sys.executable, "-m", "conduit"],
    "python": [sys.executable],
    "cat": ["cat"],
    "mpiexec": [shutil.which("mpiexec", path=_SCRIPTS) or "mpiexec"],
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--record`."""
    parser.addoption("--record", action="store_true", help="store what examples print instead of comparing it")


@pytest.fixture
def record(pytestconfig: pytest.Config) -> bool:
    """Whether to store outputs; unknown, and False, where pytest was not called for this folder alone."""
    return bool(pytestconfig.getoption("--record", default=False))


@attrs.frozen
class Block:
    """One fenced block of a page.

    Attributes:
        kind: the language after the fence.
        body: its lines.
        file: the example that it shows, None for a block of its own.
        start: index of the body in the page's text.
        line: line number of the body.
    """

    kind: str
    body: str
    file: str | None
    start: int
    line: int


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("body")) + 1
        yield Block(found["kind"], found["body"], found["file"], found.start("body"), line)


class Page:
    """One page, to be run once.

    Args:
        path: its file.
        folder: an empty folder for commands.
        shell: runs them.
    """

    def __init__(self, path: Path, folder: Path, shell: "Shell") -> None:
        self.path = path
        self._shell = shell
        self.folder = folder
        self.text = path.read_text(encoding="utf-8")
        self.problems: list[str] = []
        self._changes: list[tuple[Block, str]] = []
        shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)

    def run(self) -> None:
        """Run all blocks; what is not as shown goes to `problems`."""
        printed = ""
        for block in blocks(self.text):
            if block.kind == "text" and printed:
                self._compare(block, printed)
                printed = ""
                continue
            self._no_more(block, printed)
            printed = ""
            if block.file is not None:
                self._compare(block, (EXAMPLES.parent / block.file).read_text(encoding="utf-8"))
            elif block.kind == "python":
                printed = self._execute(block)
            elif block.kind == "console":
                self._compare(block, "".join(self._commands(block.body)))
            elif block.kind == "toml":
                tomllib.loads(block.body)
            elif block.kind not in ("sh", "text"):
                self.problems.append(f"{self._at(block)}: a block needs a language: python, console, toml, sh or text")
        if printed:
            self.problems.append(f"{self.path}: the last block prints, but no text block shows it:\n{printed}")

    def store(self) -> None:
        """Write what was printed into the page."""
        text = self.text
        for block, actual in reversed(self._changes):
            text = text[: block.start] + actual + text[block.start + len(block.body) :]
        self.path.write_text(text, encoding="utf-8")

    def _at(self, block: Block) -> str:
        return f"{self.path.relative_to(ROOT)}, line {block.line}"

    def _no_more(self, block: Block, printed: str) -> None:
        if printed:
            self.problems.append(f"{self._at(block)}: the block before prints, but no text block shows it:\n{printed}")

    def _compare(self, block: Block, actual: str) -> None:
        if not matches(block.body, actual):
            self.problems.append(f"{self._at(block)}: shown\n{block.body}\nin fact\n{actual}")
            if "...\n" not in block.body:  # such a block was cut by hand
                self._changes.append((block, actual))

    def _execute(self, block: Block) -> str:
        printed = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.body, str(self.path), "exec")
        with contextlib.redirect_stdout(printed), contextlib.chdir(self.folder):  # pages write files
            exec(code, {"__name__": "__page__"})  # running the page is the purpose
        return printed.getvalue()

    def _commands(self, body: str) -> Iterator[str]:
        for line in body.splitlines():
            if line.startswith("$ "):
                yield line + "\n"
                yield self._shell(line[2:], self.folder)


_SLOW = re.compile(r"\d+ s: step \d+ of \d+, ")
"""What a benchmark says where this machine is busy: how far it is, after ten seconds."""


class Shell:
    """Runs commands without a terminal, as a shell would.

    Args:
        forked: runs `conduit` where it is a simulation; what starts processes has a fresh one.
    """

    def __init__(self, forked: Forking) -> None:
        self._forked = forked

    def __call__(self, command: str, folder: Path) -> str:
        """Run a command and return what it prints, errors included, with no space at line ends."""
        words = shlex.split(command)
        environment = {**os.environ, "PATH": os.pathsep.join((_SCRIPTS, os.environ["PATH"])), **_SETTINGS}
        if words[0] == "conduit" and not any(_REAL in word for word in words):
            output = self._forked.run(*words, cwd=folder, env=environment, together=True).stdout
        else:
            output = _fresh(words, folder, environment)
        output = output.replace(str(folder) + os.sep, "")
        lines = output.rstrip().splitlines()
        return "".join(f"{line.rstrip()}\n" for line in lines if not _SLOW.match(line))


def _fresh(words: list[str], folder: Path, environment: dict[str, str]) -> str:
    return subprocess.run(
        [*_COMMANDS[words[0]], *words[1:]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout


def matches(shown: str, actual: str) -> bool:
    """Say whether a text is as shown, where a line `...` stands for any lines, also none."""
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shown.splitlines())
    return re.fullmatch(pattern, actual) is not None


@pytest.fixture(scope="session")
def shell() -> Iterator[Shell]:
    """Run commands."""
    with forking(*_USUAL, environment={**os.environ, **_SETTINGS}) as forked:
        yield Shell(forked)


@pytest.fixture(params=PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def page(request: pytest.FixtureRequest, tmp_path: Path, shell: Shell) -> Page:
    """Each page of the documentation."""
    return Page(request.param, tmp_path, shell)


@pytest.fixture(params=sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def example(request: pytest.FixtureRequest) -> Path:
    """Each program of docs/examples."""
    path: Path = request.param
    return path


@pytest.fixture
def run_command(shell: Shell) -> Callable[[str], str]:
    """Run a command among the examples and return what it prints."""
    return lambda command: shell(command, EXAMPLES)


@pytest.fixture
def pages() -> list[Path]:
    """All pages."""
    return PAGES


@pytest.fixture
def root() -> Path:
    """The top of the tree."""
    return ROOT


@pytest.fixture
def readme() -> Path:
    """The README."""
    return ROOT / "README.md"


@pytest.fixture
def run_in(shell: Shell) -> Callable[[str, Path], str]:
    """Run a command in a folder and return what it prints."""
    return shell
