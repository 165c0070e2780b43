"""The LogGP figures that testlogp finds on real processes predict what testam finds there in the same run.

`pytest tests/benchmarks/test_calibration.py -s`, on a machine that does nothing else, with two processors free.

What other programs take comes and goes within seconds.  So the figures and what they predict are measured in turns, and
of both sides alike the least disturbed round counts.  The ratio of each round is printed too.
"""

import json
import re
import subprocess
import sys

import pytest

MPI = "mpi:library=mpi4py"
LONG = 65536
OPERATIONS = {("AMShort ping-pong roundtrip ReqRep", 0), ("AMLong ping-pong roundtrip ReqRep", LONG)}
WITHIN = 0.25
ROUNDS = 5
TRIPS = 150  # of testam, in 15 parts: long enough for a mean, short enough for some to be undisturbed


def conduit(*words):
    command = [sys.executable, "-m", "conduit", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compared(folder, number):
    """Measure the figures, then with them what is predicted and what is real; microseconds by operation."""
    spec = re.search(r"loggp:\S+", conduit("testlogp", "--conduit", MPI, "--sections", "B", "--max-size", LONG))[0]
    found = folder / f"found{number}.json"
    sizes = ["--min-size", LONG, "--max-size", LONG]
    conduit(
        "testam",
        "--conduit",
        MPI,
        "--conduit",
        spec,
        "--sections",
        "AG",
        "--iterations",
        TRIPS,
        *sizes,
        "--json",
        found,
    )
    real, predicted = (
        {
            (record["operation"], record["bytes"]): record["microseconds"]
            for record in run["records"]
            if record["operation"].endswith("ping-pong roundtrip ReqRep")
        }
        for run in json.loads(found.read_text())
    )
    assert set(real) == set(predicted) == OPERATIONS
    return spec, real, predicted


def test_the_model_predicts_this_machine(tmp_path):
    pytest.importorskip("mpi4py")
    rounds = [compared(tmp_path, number) for number in range(ROUNDS)]
    print()
    for spec, *_ in rounds:
        print(spec)
    ratios = {}
    for key in sorted(OPERATIONS):
        real = [found[key] for _, found, _ in rounds]
        predicted = [found[key] for _, _, found in rounds]
        ratios[key] = min(predicted) / min(real)
        singly = ", ".join(f"{one / other:.2f}" for one, other in zip(predicted, real, strict=True))
        print(f"{key}: real {min(real):.2f} us, predicted / real {ratios[key]:.2f}; of each round {singly}")
    assert all(abs(ratio - 1) <= WITHIN for ratio in ratios.values())
