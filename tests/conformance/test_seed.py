"""The seed of a run: drawn once, printed, the same in all workers, and good for a repetition."""

import os
import re
import subprocess
import sys

import pytest

from conduit.commands.cli import call
from conduit.conformance.plugin import _seed

# All options are named: few cases, which every worker has to collect.
SPEC = "loggp:order=strict,inline=yes,slots=4,max_medium=512"


def shown_by(folder, *words):
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_a_run_prints_its_seed_and_its_number_of_checks_before_the_first_of_them(tmp_path):
    shown = shown_by(tmp_path, "conduit", "conform", SPEC, "-k", "test_segments", "--ranks", "2")
    [seed] = re.findall(r"repeat with --conformance-seed (\d+)", shown)
    [count] = re.findall(r"^conformance: (\d+) checks will run$", shown, re.MULTILINE)
    passed, skipped = re.search(r"={5,} (\d+) passed(?:, (\d+) skipped)?", shown).groups()
    assert int(passed) + int(skipped or 0) == int(count), shown  # workers that disagree about the cases end the run
    assert shown.index("checks will run") < shown.index("[100%]")
    words = ["-c", os.devnull, "--import-mode=importlib", "-p", "conduit.conformance.plugin", "--conduit", SPEC]
    words += ["--conformance-ranks=2", f"--conformance-seed={seed}", "--collect-only"]
    again = shown_by(tmp_path, "pytest", *words, "--pyargs", "conduit.conformance.test_segments")
    assert f"repeat with --conformance-seed {seed}" in again
    assert f"{count} checks will run" in again


def test_the_command_hands_on_the_seed_and_all_options_that_are_named(monkeypatch):
    """Those that are named as they are by default too: they stay so in every case."""
    seen = []
    monkeypatch.setattr(pytest, "main", lambda words, plugins: seen.extend(words) or 0)
    assert call(["conform", SPEC, "--seed", "7"]) == 0
    assert seen.count("--conformance-seed=7") == 1
    assert seen[seen.index("--conduit") + 1] == SPEC


class Run:
    """What the plugin asks of pytest's configuration, where nobody names a seed."""

    def __init__(self):
        self.stash = pytest.Stash()

    def getoption(self, name):
        return {"--conformance-seed": None}[name]

    def getini(self, name):
        return {"conformance_seed": ""}[name]


def test_runs_draw_different_seeds_and_keep_them():
    runs = [Run() for _ in range(4)]
    seeds = [_seed(run) for run in runs]
    assert len(set(seeds)) > 1
    assert [_seed(run) for run in runs] == seeds
