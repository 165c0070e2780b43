"""The LogGP figures that testlogp finds on real processes predict what testam finds there in the same run.

`pytest tests/benchmarks/test_calibration.py -s`, on a machine that does nothing else, with two processors free.
"""

import json
import re
import subprocess
import sys

import pytest

MPI = "mpi:library=mpi4py"
LONG = 65536
WITHIN = 0.25


def conduit(*words):
    command = [sys.executable, "-m", "conduit", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_model_predicts_this_machine(tmp_path):
    pytest.importorskip("mpi4py")
    spec = re.search(r"loggp:\S+", conduit("testlogp", "--conduit", MPI, "--sections", "B", "--max-size", LONG))[0]
    found = tmp_path / "found.json"
    sizes = ["--min-size", LONG, "--max-size", LONG]
    conduit("testam", "--conduit", MPI, "--conduit", spec, "--sections", "AG", *sizes, "--json", found)
    real, simulated = (
        {
            (record["operation"], record["bytes"]): record["microseconds"]
            for record in run["records"]
            if record["operation"].endswith("ping-pong roundtrip ReqRep")
        }
        for run in json.loads(found.read_text())
    )
    print(f"\n{spec}")
    ratios = {key: simulated[key] / real[key] for key in real}
    for (operation, nbytes), ratio in ratios.items():
        print(f"{operation} {nbytes}: real {real[operation, nbytes]:.2f} us, simulated / real {ratio:.2f}")
    assert set(ratios) == {("AMShort ping-pong roundtrip ReqRep", 0), ("AMLong ping-pong roundtrip ReqRep", LONG)}
    assert all(abs(ratio - 1) <= WITHIN for ratio in ratios.values())
