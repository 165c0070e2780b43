"""The conduit of docs/writing_a_conduit.md, found by its entry point as an installed package is."""

import importlib
import os
import re
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
    source = root / "docs" / "examples" / "bus"
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = tmp_path / f"conduit_bus-{project['version']}.dist-info"
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
def test_programs_run_on_it_and_take_the_time_that_its_constants_say(installed: Callable[..., str]) -> None:
    printed = installed("-m", "conduit", "testam", "--conduit", "bus", "--sections", "A", "--iterations", "4")
    assert "AMShort ping-pong roundtrip ReqRep" in printed
    program = """
import conduit
async def main(ep):
    answers = []
    def ask(token): token.reply_short(answer)
    def answer(token): answers.append(0)
    await ep.attach(ask, answer)
    if ep.rank == 0:
        start = ep.now
        await ep.request_short(1, ask)
        await ep.block_until(lambda: answers)
        return ep.now - start
print(f"{conduit.run(main, conduit='bus').values[0] * 1e6:.1f}")
"""
    # Three polls; twice: send, 16 bytes at 80 MB/s, arbitration, take.  Each end may notice up to a poll late.
    least = 3 * 0.1 + 2 * (2 + 16 / 80 + 0.3 + 3)
    assert least - 0.05 <= float(installed("-c", program)) <= least + 0.25


@pytest.mark.slow
def test_it_passes_checks_of_the_suite(installed: Callable[..., str]) -> None:
    chosen, parts = "3ranks and default", ["conduit.conformance.test_replies", "conduit.conformance.test_flow"]
    suite = ["-p", "conduit.conformance.plugin", "-p", "no:cacheprovider", "--pyargs", *parts]
    printed = installed("-m", "pytest", "-q", "-c", os.devnull, *suite, "--conduit", "bus", "-k", chosen)
    assert " passed" in printed
    assert "failed" not in printed


def test_the_parts_that_the_page_offers_are_there(root):
    page = (root / "docs" / "writing_a_conduit.md").read_text(encoding="utf-8")
    table = page.partition("Parts to build from, all in `conduit.sim`")[2].partition("\n\n")[2].partition("\n\n")[0]
    parts = re.findall(r"`([\w.]+)`", "\n".join(row.split("|")[1] for row in table.splitlines()))
    assert {"link.Link", "dma.DmaEngine", "timer.Timer"} <= set(parts)
    for part in parts:
        module, _, name = f"conduit.sim.{part}".rpartition(".")
        assert hasattr(importlib.import_module(module), name), part
