"""The example of unreliable networks in docs/writing_a_conduit.md, found by its entry point."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.python_path import python_path


@pytest.fixture
def installed(root: Path, tmp_path: Path) -> Callable[..., str]:
    """Run Python where the example is as good as installed, and return what it prints."""
    source = root / "docs" / "examples" / "cups"
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / f"conduit_cups-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
            for group, entries in project["entry-points"].items()
        )
    )
    environment = {
        **os.environ,
        "PYTHONPATH": python_path(tmp_path, source),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }

    def run(*args: str) -> str:
        done = subprocess.run(
            [sys.executable, *args],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_it_loses_and_repairs(installed: Callable[..., str]) -> None:
    program = """
import trio, conduit
async def main(ep):
    answers = []
    def ask(token, payload, number): token.reply_medium(answer, bytes(payload), number)
    def answer(token, payload, number): answers.append((number, len(payload)))
    await ep.attach(ask, answer)
    for number in range(40):
        await ep.request_medium(1 - ep.rank, ask, bytes(number), number)
    await ep.block_until(lambda: len(answers) == 40)
    return sorted(answers)
async def deaf(ep):
    def ask(token): pass
    await ep.attach(ask)
    if ep.rank == 1:
        await trio.sleep_forever()
    await ep.request_short(1, ask)
    await ep.block_until(lambda: False)
for seed in range(3):
    first, second = conduit.run(main, conduit='cups', seed=seed).values
    assert first == second == [(number, number) for number in range(40)]
    try:
        conduit.run(deaf, conduit='cups', seed=seed)
    except conduit.Deadlock as error:
        print('does not poll' in str(error))
"""
    assert installed("-c", program).split() == ["True"] * 3


@pytest.mark.slow
def test_it_passes_checks_of_the_suite(installed: Callable[..., str]) -> None:
    chosen, parts = "3ranks and default", ["conduit.conformance.test_replies", "conduit.conformance.test_payload"]
    suite = ["-p", "conduit.conformance.plugin", "-p", "no:cacheprovider", "--pyargs", *parts]
    printed = installed("-m", "pytest", "-q", "-c", os.devnull, *suite, "--conduit", "cups", "-k", chosen)
    assert " passed" in printed
    assert "failed" not in printed


def test_it_is_short(root: Path) -> None:
    lines = (root / "docs" / "examples" / "cups" / "conduit_cups.py").read_text(encoding="utf-8").splitlines()
    assert sum(bool(line.strip()) for line in lines if not line.startswith(("import", "from", '"'))) < 60
