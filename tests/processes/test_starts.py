"""A process that ends before all have found one another ends the job: the others wait for it and cannot know."""

import os
import signal
import sys
import time

import pytest

from tests.python_path import python_path

from .conftest import MPI, PATIENCE_S, processes_in

pytestmark = pytest.mark.slow

SOON_S = 20  # of a busy machine; without the launcher's care it is never

LAME = """
import os
import sys
import time


class Lame:
    def find_spec(self, name, path=None, target=None):
        if name == "mpi4py.MPI" and os.environ.get("PMI_RANK") == "1":
            time.sleep(1)  # the others wait for it by now
            print("falls at", repr(time.time()), file=sys.stderr, flush=True)
            if {how!r} == "raises":
                raise ImportError("libmpi.so.12: cannot open shared object file")
            if {how!r} == "exits":
                os._exit(7)
            if {how!r} == "just ends":
                os._exit(0)
            if {how!r} == "is killed":
                os.kill(os.getpid(), 9)


sys.meta_path.insert(0, Lame())

if "PMI_RANK" not in os.environ:  # in the command itself
    from conduit.launch.processes import started, starting

    started.GRACE_S = starting.GRACE_S = 1.0  # of its 3: how long it lets the launcher end the others
"""

IDLE = "async def main(ep):\n    await ep.attach()\n"


@pytest.mark.parametrize("how", ["raises", "just ends", "is killed"])  # and "exits" under a benchmark
def test_a_rank_that_ends_before_the_processes_have_found_one_another(shell, how):
    shell.file(LAME.format(how=how), "sitecustomize.py")
    shell.environment["PYTHONPATH"] = python_path(shell.folder)
    done = shell.conduit("run", shell.file(IDLE), "--conduit", MPI, "--ranks", 3)
    fell = next(float(line.split()[-1]) for line in done.err.splitlines() if line.startswith("falls at"))
    assert done.ended - fell < SOON_S
    assert done.status not in (0, None)
    if how == "is killed":  # which the launcher sees
        return
    assert "has ended, before the processes had found one another, and the job with it" in done.err
    assert ("libmpi.so.12: cannot open shared object file" in done.err) == (how == "raises")


def test_a_command_that_all_refuse_ends_by_itself(shell):
    done = shell.conduit("run", shell.file(IDLE), "--conduit", f"{MPI},medium=513", "--ranks", 2, "--segment", "-1")
    assert done.status == 2
    assert "before the processes" not in done.err


def test_a_benchmark_ends_likewise(shell):
    shell.file(LAME.format(how="exits"), "sitecustomize.py")
    shell.environment["PYTHONPATH"] = python_path(shell.folder)
    process = shell.begin(sys.executable, "-m", "conduit", "testbarrier", "--conduit", MPI, "--ranks", 2)
    done = shell.end(process)
    assert done.status not in (0, None)
    assert done.err.count("before the processes had found one another") == 1


ENDLESS = """
import pathlib
import time


async def main(ep):
    await ep.attach()
    pathlib.Path(f"rank{ep.rank}").touch()
    while True:
        time.sleep(0.1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell of a parent's end")
def test_processes_end_when_the_command_is_killed(shell):
    command = shell.begin(sys.executable, "-m", "conduit", "run", shell.file(ENDLESS), "--conduit", MPI, "--ranks", 2)
    limit = time.monotonic() + PATIENCE_S
    while not all((shell.folder / f"rank{rank}").exists() for rank in range(2)) and time.monotonic() < limit:
        time.sleep(0.05)
    command.kill()
    assert shell.end(command).status == -9
    limit = time.monotonic() + SOON_S
    while (left := processes_in(str(shell.folder))) and time.monotonic() < limit:
        time.sleep(0.05)
    for each in left:
        os.kill(each, signal.SIGKILL)
    assert not left


PRESSED = """
import os
import signal
import subprocess

if "PMI_RANK" not in os.environ:  # in the command itself
    from pathlib import Path

    class Lock:
        '''The lock of a Popen: Ctrl-C comes when it has just been taken.'''

        def __init__(self, lock):
            self.lock, self.release = lock, lock.release

        def acquire(self, blocking=True):
            taken = self.lock.acquire(blocking)
            if taken and Path("rank0").exists() and Path("rank1").exists() and not Path("pressed").exists():
                Path("pressed").touch()
                signal.raise_signal(signal.{name})
            return taken

        def __enter__(self):
            return self.acquire()

        def __exit__(self, *error):
            self.release()

    class Pressed(subprocess.Popen):
        def __init__(self, *words, **options):
            super().__init__(*words, **options)
            self._waitpid_lock = Lock(self._waitpid_lock)

    subprocess.Popen = Pressed
"""


@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_that_comes_while_the_command_asks_after_its_launcher(shell, name, status):
    shell.file(PRESSED.replace("{name}", name), "sitecustomize.py")
    shell.environment["PYTHONPATH"] = python_path(shell.folder)
    done = shell.conduit("run", shell.file(ENDLESS), "--conduit", MPI, "--ranks", 2)
    assert (shell.folder / "pressed").exists()
    assert done.status == status, done.err
    assert "interrupted" in done.err
