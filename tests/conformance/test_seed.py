"""The seed of a run: drawn once, printed, the same in all workers, and good for a repetition."""

import re
import subprocess
import sys

import pytest


def conform(folder, *words):
    chosen = [] if "-k" in words else ["-k", "test_segments"]
    command = [sys.executable, "-m", "conduit", "conform", "loggp:order=strict", *chosen, "--ranks", "2"]
    return subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.slow
def test_a_run_prints_its_seed_and_its_number_of_checks_before_the_first_of_them(tmp_path):
    shown = conform(tmp_path)
    [seed] = re.findall(r"repeat with --conformance-seed (\d+)", shown)
    [count] = re.findall(r"^conformance: (\d+) checks will run$", shown, re.MULTILINE)
    passed, skipped = re.search(r"={5,} (\d+) passed(?:, (\d+) skipped)?", shown).groups()
    assert int(passed) + int(skipped or 0) == int(count), shown  # workers that disagree about the cases end the run
    assert shown.index("checks will run") < shown.index("[100%]")
    again = conform(tmp_path, "--seed", seed)
    assert f"repeat with --conformance-seed {seed}" in again
    assert f"{count} checks will run" in again


@pytest.mark.slow
def test_runs_draw_different_seeds(tmp_path):
    seeds = {re.search(r"--conformance-seed (\d+)", conform(tmp_path, "-k", "no such check"))[1] for _ in range(3)}
    assert len(seeds) > 1
