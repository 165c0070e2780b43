"""What is said of a rank's process that has left its job without a word, whatever its launcher makes of that."""

import os
import sys

import pytest

from conduit.launch.printing import output
from conduit.launch.processes import exit_ways, started, starting

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no descriptors of processes")

RANKS = 3
LAUNCHER = """
import glob, os, signal

def is_kept(number):
    for path in glob.glob("/proc/{parent}/fdinfo/*"):
        try:
            if f"Pid:\\t{{number}}\\n" in open(path).read():
                return True
        except OSError:
            pass

ranks = []
for rank, way in enumerate({ways}):
    number = os.fork()
    if number == 0:
        own = f"{{os.getpid()}} {{os.uname().nodename}}".encode()
        data = b"\\x1e%d process %d\\x1f" % (rank, len(own)) + own
        if {results} and rank == 0:
            data += b"\\x1e0 result 1\\x1fx"
        os.write(2, data)
        while not is_kept(os.getpid()):
            pass
        if way == "waits":
            signal.pause()
        if way < 0:
            os.kill(os.getpid(), -way)
        os._exit(way)
    ranks.append((number, way))
for number, way in ranks:
    if way != "waits":
        os.waitpid(number, 0)
for number, way in ranks:
    if way == "waits":
        while not is_kept(number):
            pass
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)
os._exit({status})
"""
ALL = "one of the ranks 0, 1, 2"
UNKNOWN = (
    "without an error of Python's, as by a signal, a crash in compiled code or os._exit, and the job with it; of a "
    "crash Python tells where that was with PYTHONFAULTHANDLER=1 in the environment"
)


def told(capfd, ways, status=0, *, results=False):
    """Return what is said where the processes of ranks end in ways, and the launcher with a status.

    Args:
        ways: of each rank: its status, less than 0 for a signal, or "waits" of one that the launcher kills.
    """
    text = LAUNCHER.format(parent=os.getpid(), ways=ways, status=status, results=results)
    outcome = starting.start(len(ways), [sys.executable, "-S", "-c", text], {}, {})
    assert outcome.status == status
    assert not outcome.explained
    return capfd.readouterr().err


@pytest.fixture
def ways_are_told():
    """Skip where the system does not tell how a process has ended whose parent this one is not."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    descriptor = os.pidfd_open(child)
    os.waitpid(child, 0)
    way = exit_ways.status(descriptor)
    os.close(descriptor)
    if way is None:
        pytest.skip("this system does not tell how a process has ended")


@pytest.mark.parametrize("status", [0, 9])
def test_a_rank_that_leaves_well_before_the_job_has_ended_is_named(capfd, ways_are_told, status):
    assert told(capfd, ["waits", 0, "waits"], status) == (
        "the process of rank 1 has ended without an error of Python's, with status 0, as by os._exit, and the job with "
        "it\n"
    )


def test_several_that_leave_so_are_named(capfd, ways_are_told):
    assert told(capfd, [0, "waits", 0]) == (
        "the process of one of the ranks 0, 2 has ended without an error of Python's, with status 0, as by os._exit, "
        "and the job with it\n"
    )


@pytest.mark.parametrize("status", [0, 9])
def test_who_has_left_is_not_known_where_the_system_does_not_tell(capfd, monkeypatch, status):
    monkeypatch.setattr(started, "status", lambda descriptor: None)
    assert told(capfd, ["waits", 0, "waits"], status) == f"the process of {ALL} has ended {UNKNOWN}\n"


def test_another_status_may_be_what_the_end_of_others_has_made_and_each_is_told(capfd, ways_are_told):
    assert told(capfd, ["waits", 15, -9], 9) == (
        f"the process of {ALL} has ended without an error of Python's, and the job with it: rank 1 with status 15, as "
        "by os._exit; ranks 0, 2 by signal SIGKILL (a launcher ends the others by a signal)\n"
    )


def test_where_all_were_killed_nobody_knows_by_whom(capfd, ways_are_told):
    assert told(capfd, ["waits", -9, "waits"], 9) == (
        f"the process of {ALL} has ended without an error of Python's, by signal SIGKILL, and the job with it\n"
    )


def test_a_crash_goes_before_all_that(capfd, ways_are_told):
    assert told(capfd, [0, -11, "waits"], 9).startswith(
        "the process of rank 1 has ended without an error of Python's, by signal SIGSEGV, and the job with it; with "
    )


def test_nothing_is_said_of_a_job_that_has_ended_well(capfd):
    assert told(capfd, [0, 0, 0], results=True) == ""


def test_after_a_result_a_good_end_says_nothing_of_its_rank(capfd, ways_are_told):
    assert told(capfd, [0, -9, "waits"], 9, results=True) == (
        f"the process of {ALL} has ended without an error of Python's, and the job with it: rank 0 with status 0, as "
        "by os._exit; ranks 1-2 by signal SIGKILL (a launcher ends the others by a signal)\n"
    )


def test_ranks_whose_processes_cannot_be_held_are_known_all_the_same(capfd, monkeypatch):
    monkeypatch.setattr(output, "process_here", lambda data: None)  # as of another machine's
    data = b"".join(frame for rank in range(RANKS) for frame in output.frames(rank, output.PROCESS, b"1 elsewhere"))
    command = [sys.executable, "-S", "-c", f"import os; os.write(2, {data!r})"]
    starting.start(RANKS, command, {}, {})
    assert capfd.readouterr().err == f"the process of {ALL} has ended {UNKNOWN}\n"
