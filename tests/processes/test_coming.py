"""Under a launcher, processes that wait in `conduit.run` for others say once who has not come, and where they wait."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from conduit.launch.launchers import StartedTogether
from conduit.launch.processes import coming, marks
from conduit.launch.processes.started import in_shared_memory

from .conftest import MPI, PATIENCE_S, processes_in

TO_DO = (
    "every process has to run the job, as often as the others do; what one rank alone is to do belongs into main, "
    "under an `if` that asks for its rank"
)

SCRIPT = f"""
import atexit
import os
import pathlib
import sys
import time

how = sys.argv[1]
rank = int(os.environ["PMI_RANK"])


def wait_for(name):
    while not pathlib.Path(name).exists():
        time.sleep(0.05)


if rank == 2:
    atexit.register(pathlib.Path("gone").touch)  # after what is registered from here on
if how == "has begun MPI":
    from mpi4py import MPI

import conduit
from conduit.launch.processes import coming

coming.PATIENCE_S = 2.0


async def main(ep):
    await ep.attach()
    return ep.rank


def job():
    print(conduit.run(main, conduit="{MPI}").values)


if how == "a second job":
    job()
    if rank == 2:
        atexit.register(pathlib.Path("gone").touch)  # before what MPI waits for
if rank == 0:
    wait_for("gone")
    job()
if rank == 1:
    wait_for("told")
if rank == 2 and how == "late":
    pathlib.Path("gone").touch()
if rank > 0 and how == "late":
    job()
"""


def waits(shell, how):
    """Begin processes of which not all come, and wait until something is said; return them, that, and the script."""
    path = shell.file(SCRIPT, "script.py")
    process = shell.launch(3, path, how)
    bound = threading.Timer(PATIENCE_S, process.terminate)
    bound.start()
    said = process.stderr.readline()
    bound.cancel()
    return process, said, path


def end(shell, process):
    """End processes that wait for ever, with what MPI cannot remove then."""
    files = set().union(*map(in_shared_memory, processes_in(str(shell.folder))))
    process.terminate()
    shell.end(process)
    for file in files:
        Path(file).unlink(missing_ok=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such marks")
class TestProcesses:
    @pytest.mark.parametrize("how", ["ends", "has begun MPI", "a second job"])
    def test_of_processes_that_have_ended_it_is_said(self, shell, how):
        process, said, path = waits(shell, how)
        end(shell, process)
        line = SCRIPT[: SCRIPT.index("print(")].count("\n") + 1
        next_one = "next " if how == "a second job" else ""
        who = "rank 1 has not yet and rank 2 has ended without it"
        assert said == (
            f"1 of 3 processes has come to the {next_one}job and waits there for the others (rank 0 at "
            f"{path}:{line}); {who}: {TO_DO}\n"
        )

    def test_who_comes_late_is_waited_for(self, shell):
        process, said, _ = waits(shell, "late")
        (shell.folder / "told").touch()
        done = shell.end(process)
        assert done.status == 0, done.err
        assert done.lines == ["[0, 1, 2]"] * 3
        assert said.startswith("2 of 3 processes have come to the job and wait there for the others (ranks 0, 2 at ")
        assert said.endswith(f"; rank 1 has not yet; if it never does: {TO_DO}\n")
        assert not done.err


def told(monkeypatch, seen, together, number=1):
    monkeypatch.setattr(coming, "_seen", lambda variable, own: seen)
    return coming._missing(together, number, os.getpid())


def of(count, number=0, here=None):
    return StartedTogether(count, number, "RANK", here)


class TestWords:
    def test_the_lowest_that_has_come_tells(self, monkeypatch):
        seen = {0: (0, ""), 1: (1, "a.py:1"), 2: (1, "b.py:2"), 3: (1, "a.py:1")}
        assert told(monkeypatch, seen, of(4, 1, 4)) == (
            "3 of 4 processes have come to the job and wait there for the others (ranks 1, 3 at a.py:1, rank 2 at "
            f"b.py:2); rank 0 has not yet; if it never does: {TO_DO}"
        )
        assert told(monkeypatch, seen, of(4, 2, 4)) == ""

    def test_those_of_one_of_several_hosts(self, monkeypatch):
        seen = {2: (1, ""), 3: (0, "")}
        host = os.uname().nodename
        assert told(monkeypatch, seen, of(4, 2, 2)) == (
            f"1 of 2 processes of the host {host} has come to the job and waits there for the others (rank 2); "
            f"rank 3 has not yet; if it never does: {TO_DO}"
        )

    def test_those_of_other_hosts(self, monkeypatch):
        seen = {0: (1, ""), 1: (1, "")}
        assert told(monkeypatch, seen, of(4, 0, 2)) == (
            "2 of 4 processes have come to the job and wait there for the others (ranks 0-1); those of other hosts "
            f"have not yet; if they never do: {TO_DO}"
        )
        assert told(monkeypatch, {2: (1, ""), 3: (1, "")}, of(4, 2, 2)) == ""

    def test_nothing_of_those_who_have_all_come(self, monkeypatch):
        assert told(monkeypatch, {0: (1, ""), 1: (2, "")}, of(2, 0, 2)) == ""

    def test_a_program_that_is_over_comes_no_more(self, monkeypatch):
        seen = {0: (2, "a.py:9"), 1: (marks.END, "")}
        assert told(monkeypatch, seen, of(2, 0, 2), 2) == (
            "1 of 2 processes has come to the next job and waits there for the others (rank 0 at a.py:9); "
            f"rank 1 has ended without it: {TO_DO}"
        )


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such marks")
def test_a_place_that_is_too_long_for_a_mark_is_left_out():
    own = marks.OwnMark()
    own.leave(3, "/very" * 60 + ".py:1")
    try:
        assert coming._mark_of(os.getpid())[0] >= 3
        own.leave(4, "/here.py:1")
        assert coming._mark_of(os.getpid()) == (4, "/here.py:1")
    finally:
        os.close(own.mark)


BESIDE = """
import os, signal, time
from pathlib import Path

from conduit.launch.processes import coming


def children():
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, parent, *_ = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if int(parent) == os.getpid():
            found.add(stat.parent.name)
    return found

"""
"""What the following run: in processes of their own, since what they look at are the children of all a process does."""

ENDS = """
begun = time.monotonic()
coming._beside(lambda: os._exit(1))()
assert time.monotonic() - begun < coming.PATIENCE_S
assert not children()
"""

HEARS_NOTHING = """
heard = []


def hear(*_):
    try:
        heard.append(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:  # it may be told twice of one
        pass


signal.signal(signal.SIGCHLD, hear)
end = coming._beside(lambda: os._exit(1))
assert not children()
end()
assert not heard
with coming._deaf_to_children():
    if not (own := os.fork()):
        os._exit(0)
    os.waitid(os.P_PID, own, os.WEXITED | os.WNOWAIT)
    assert not heard
assert (own, 0) in heard
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has them")
@pytest.mark.parametrize("lines", [ENDS, HEARS_NOTHING], ids=["ends with the wait", "is nothing to hear of"])
def test_a_process_beside(lines):
    command = [sys.executable, "-c", BESIDE + lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
class TestWatch:
    def test_one_thread_looks_after_all_waits(self):
        watch = coming._Watch()
        watch.begin(lambda: None)()
        first = watch.thread
        watch.begin(lambda: None)()
        assert watch.thread is first
        assert first.daemon
        assert not watch.waits
        watch.stop()
        assert not first.is_alive()

    def test_what_lasts_is_told_once_and_what_has_ended_is_not(self, monkeypatch):
        monkeypatch.setattr(coming, "PATIENCE_S", 0.01)
        watch, told, done = coming._Watch(), [], threading.Event()
        watch.begin(lambda: told.append("ended"))()
        watch.begin(lambda: told.append("first"))
        watch.begin(done.set)
        assert done.wait(PATIENCE_S)
        watch.stop()
        assert told == ["first"]

    def test_it_stops_while_the_program_forks(self):
        end = coming._WATCH.begin(lambda: None)
        before = coming._WATCH.thread
        if not (child := os.fork()):
            os._exit(bool(coming._WATCH.thread or coming._WATCH.waits))
        assert os.waitpid(child, 0)[1] == 0
        assert not before.is_alive()
        assert coming._WATCH.thread.is_alive()  # as a wait lasts
        end()
        coming._WATCH.stop()
