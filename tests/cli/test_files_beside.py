"""Files beside a program that are named as modules that this package imports while it runs: they are not taken."""

import subprocess
import sys

import pytest

WHOLE = """
import importlib, pkgutil, sys
import conduit, conduits, extended
for package in (conduit, conduits, extended):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if "conformance" not in found.name and not found.name.endswith("__main__"):
            importlib.import_module(found.name)
print(*{name.partition(".")[0] for name in sys.modules} - {"conduit", "conduits", "extended", "__main__"})
"""
"""Imports all of this package, and prints what that has brought in."""
PROGRAMS = {
    "returns": ("pass", 0, "ranks=2 "),
    "raises": ("raise ValueError('mine')", 1, "ValueError: mine"),
    "calls what is not there": ("ep.put_signal()", 1, "has no attribute 'put_signal'"),
    "waits for ever": ("await ep.block_until(lambda: False)", 1, "deadlock at "),
    "exits": ("ep.exit(3)", 3, "ended the job with status 3"),
    "is interrupted": (
        "import signal\n    signal.raise_signal(signal.SIGINT)\n    await ep.compute(1)",
        130,
        "interrupted",
    ),
}


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """Return a folder with a file for each of all modules that this package ever imports, which may not be taken."""
    folder = tmp_path_factory.mktemp("beside")
    done = subprocess.run([sys.executable, "-c", WHOLE], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert {"json", "html", "statistics", "rich"} < {*names}
    for name in names:
        (folder / f"{name}.py").write_text(f"raise SystemExit('the file {name}.py was taken')\n")
    return folder


WORDS = [["--stats"], ["--conduit", "udp"], ["--json", "-"], ["--trace", "trace.json"]]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        *((program, []) for program in PROGRAMS),
        *((program, words) for program in ("returns", "raises") for words in WORDS),
    ],
)
def test_a_program_runs_and_fails_as_elsewhere(beside, tmp_path, program, words):
    line, status, said = PROGRAMS[program]
    path = beside / f"a_program_that_{program.replace(' ', '_')}.py"
    path.write_text(f"async def main(ep):\n    await ep.attach()\n    {line}\n")
    command = [sys.executable, "-P", "-m", "conduit", "run", path, "--conduit", "loggp", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "was taken" not in done.stdout + done.stderr
    assert said in done.stdout + done.stderr
    assert done.returncode == status
