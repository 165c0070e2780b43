"""Which rank is said to have ended first, where a launcher ends because of a process."""

import os
import subprocess
import sys

import pytest

from conduit.launch import output
from conduit.launch.starting import start

LAUNCHER = """
import os, sys
head, *processes = sys.argv[1:]
host = os.uname().nodename

def frame(rank, kind, text):
    return f"\\x1e{rank} {kind} {len(text)}\\x1f{text}"

# One process has begun and found nobody till all ranks are known: nobody looks at the first ones alone.
ids = [f"{each} {host}" for each in processes]
frames = [frame(-1, "BEGUN", ids[-1]), *(frame(rank, "PROCESS", each) for rank, each in enumerate(ids))]
sys.stdout.write("".join(frames))
print(head.format(*processes))
sys.exit(9)
""".replace("BEGUN", output.BEGUN).replace("PROCESS", output.PROCESS)

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the system has no descriptors of processes")


@pytest.fixture
def processes():
    """Three processes: two have ended, and nobody has waited for them."""
    found = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
    for each in found[:2]:
        each.kill()
        os.waitid(os.P_PID, each.pid, os.WEXITED | os.WNOWAIT)
    yield [str(each.pid) for each in found]
    for each in found:
        each.kill()
        each.wait()


@pytest.mark.parametrize(
    ("said", "which"),
    [
        ("=   PID {1} RUNNING AT host", "rank 1 has ended"),
        ("process rank 0 with PID {0} on node host exited on signal 9 (Killed).", "rank 0 has ended"),
        ("=   PID 1{1} RUNNING AT host", "one of the ranks 0, 1"),
        ("no word of it", "one of the ranks 0, 1"),
    ],
)
def test_of_several_that_have_ended_the_one_is_told_that_the_launcher_names(processes, capsys, said, which):
    outcome = start(3, [sys.executable, "-c", LAUNCHER, said, *processes], {}, {})
    assert outcome.status == 9
    err = " ".join(capsys.readouterr().err.split())
    assert f"the process of {which}" in err  # of those that nobody names there may be more, once the launcher ends
    assert " has ended without an error of Python's, as by a signal" in err
