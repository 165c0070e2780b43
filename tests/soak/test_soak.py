"""Four processes at random work for long: no error, and memory stays flat.  `pytest tests/soak`; not part of the tests.

CONDUIT_SOAK_SECONDS says for how long, 600 by default.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.soak
@pytest.mark.slow
def test_random_work_for_long():
    pytest.importorskip("mpi4py")
    seconds = os.environ.get("CONDUIT_SOAK_SECONDS", "600")
    command = [sys.executable, "-m", "conduit", "run", Path(__file__).with_name("program.py"), "--ranks", "4"]
    command += ["--conduit", "mpi:library=mpi4py", "--segment", str(1 << 20), "--", seconds]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=2 * float(seconds) + 300)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "memory has grown" in done.stdout
