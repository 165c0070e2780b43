"""A job that does not move says where its ranks are, and goes on waiting unless it is told not to."""

import re
import signal
import sys
import time

import pytest

from .conftest import MPI

pytestmark = pytest.mark.slow

STUCK = """
async def main(ep, moves=""):
    answers = []

    def ask(token, number):
        if moves:
            token.reply_short(answer, number)

    def answer(token, number):
        answers.append(number)

    await ep.attach(ask, answer)
    if ep.rank == 0:
        await ep.request_short(1, ask, 7)
        await ep.block_until(lambda: answers, what="an answer", ranks=[1])  # it waits here
    while ep.rank == 2:
        sum(range(1000))  # it computes here
"""


def test_a_limit_ends_a_job_that_stands_still(run_program):
    done = run_program(STUCK, ranks=2, options=("--stall-limit", "2s"))
    assert done.status == 1
    assert "there has been no progress for some time (no rank has sent or handled a message for 2 s)" in done.err
    assert "program.py:15 in main: waits for an answer, which rank 1 must bring about" in done.err
    assert "rank 1: its main has returned: waits for the other ranks to return" in done.err
    assert "nothing may stand still for 2 s (stall_limit)" in done.err


def test_a_report_comes_by_itself_and_the_job_goes_on(run_program):
    done = run_program(
        """
import trio

from conduit.launch.processes import watch

watch.STALL_S = 1.0  # of its 5: the same report, sooner


async def main(ep):
    came = []

    def come(token):
        came.append(token.rank)

    await ep.attach(come)
    if ep.rank == 1:
        await trio.sleep(8)  # longer than nothing is said, on a busy machine too
        await ep.request_short(0, come)
    else:
        await ep.block_until(lambda: came, what="news", ranks=[1])
    print("done")
""",
        ranks=2,
    )
    assert done.status == 0
    assert done.lines.count("done") == 2
    assert done.err.count("no rank has sent or handled a message for") == 1
    assert done.err.endswith("the job goes on waiting\n")
    assert "waits for news, which rank 1 must bring about" in done.err
    assert "program.py:17 in main: is in a wait of Trio's own" in done.err


POLLS = """
import time

from conduit.launch.processes import watch

watch.STALL_S, watch.COMPUTING_S = 1.0, 5.0  # of 5 and 30: the same reports, sooner


async def main(ep, seconds):
    await ep.attach()
    until = time.monotonic() + float(seconds)
    while time.monotonic() < until:
        sum(range(10000))  # its work
        await ep.poll()
"""


def test_ranks_that_poll_in_what_they_compute_stand_still_no_sooner_than_ranks_that_do_not(run_program):
    done = run_program(POLLS, "4", ranks=2)
    assert (done.status, done.err) == (0, "")


def test_ranks_that_do_nothing_else_than_poll_are_told_in_the_end(run_program):
    done = run_program(POLLS, "12", ranks=2)
    assert done.status == 0
    assert done.err.count("no rank has sent or handled a message for") == 1
    assert re.search(r"\nranks 0-1, each: \S*program\.py:1[45] in main: is in (ep\.poll|code of its own)\n", done.err)


def test_a_rank_that_computes_is_named_as_such(run_program):
    done = run_program(STUCK, ranks=3, options=("--stall-limit", "3"))
    assert done.status == 1
    assert "in main: is in code of its own\n    does not poll\n" in done.err
    assert (
        "\nthe loop at program.py:16 has no `await`, and without one no handler runs: write `await ep.poll()` in it, "
        "or `await ep.block_until(predicate)` in its place\nended, because nothing may stand still for 3 s "
        "(stall_limit)\n"
    ) in done.err


@pytest.mark.parametrize("line", ["pass", "time.sleep(1000)"])
@pytest.mark.parametrize("who", ["0", "0, 1"])
def test_a_limit_ends_a_job_whose_rank_0_computes(run_program, line, who):
    begun = time.monotonic()
    done = run_program(
        f"""
import time


async def main(ep):
    await ep.attach()
    while ep.rank in ({who},):
        {line}
    await ep.block_until(lambda: False)
""",
        ranks=2,
        options=("--stall-limit", "2"),
    )
    assert done.status == 1
    assert time.monotonic() - begun < 40
    first, *rest = done.err.splitlines()
    assert first.startswith("conduit run: stall at ")
    assert first.endswith(
        " s: there has been no progress for some time (no rank has sent or handled a message for 2 s)"
    )
    ranks = "ranks 0-1, each" if "1" in who else "rank 0"
    assert re.fullmatch(ranks + r": .*program\.py:[78] in main: is in code of its own", rest[0])
    assert rest[-1] == "ended, because nothing may stand still for 2 s (stall_limit)"
    assert len([each for each in rest if "is in code of its own" in each]) == 1
    assert "while the job ended" not in done.err


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped")
@pytest.mark.parametrize(
    ("held", "line"),
    [(1, "os.kill(os.getpid(), signal.SIGSTOP)"), (0, "re.match('(a+)+$', 'a' * 60 + 'b')")],
)
def test_a_limit_ends_a_job_with_a_process_that_is_held(run_program, held, line):
    """Its watch cannot say that it stands still; the job went on for ever, without a word."""
    done = run_program(
        f"""
import os, re, signal


async def main(ep):
    await ep.attach()
    if ep.rank == {held}:
        {line}
    await ep.block_until(lambda: False, what="a word", ranks=[{held}])
""",
        ranks=3,
        options=("--stall-limit", "2"),
    )
    assert done.status == 1
    first, state, *rest = done.err.splitlines()
    assert first.startswith("conduit run: stall at ")
    assert state == f"rank {held}: does not answer: its process is stopped, or in a call that keeps Python's lock"
    assert rest[-1] == "ended, because nothing may stand still for 2 s (stall_limit)"
    assert sum("program.py:9 in main: waits for a word" in each for each in rest) == 1


def test_a_limit_in_virtual_time_is_refused(shell):
    done = shell.conduit("run", shell.file(STUCK), "--stall-limit", "2")
    assert done.status == 2
    assert "--stall-limit 2 is for ranks that are processes, and those of --conduit sci are tasks" in done.err
    assert "a deadlock is found at once" in done.err


def test_a_limit_of_one_clock_is_left_out_for_conduits_of_the_other(shell):
    program = shell.file("async def main(ep):\n    await ep.compute(1.0)\n")
    words = ("--conduit", "loggp", "--conduit", "mpi:library=mpi4py", "--stall-limit", "60", "--time-limit", "0.5")
    done = shell.conduit("run", program, *words)
    assert done.err.startswith("on loggp:\nconduit run: time limit at 500000.000 us")
    assert "mpi:library=mpi4py" in done.out
    assert "leave it out" not in done.err


def test_who_has_not_come_to_attach_is_named_first(run_program):
    done = run_program(
        """
async def main(ep):
    if ep.rank == 1:
        await ep.block_until(lambda: False, what="Godot")
    await ep.attach()
""",
        ranks=3,
        options=("--stall-limit", "2s"),
    )
    assert done.status == 1
    first, rest = [line for line in done.err.splitlines() if "program.py" in line]
    assert first.startswith("rank 1: ")
    assert "program.py:4 in main: waits for Godot since " in first
    said = r"program\.py:5 in main: waits for every rank to come to attach, which rank 1 must bring about, since "
    assert re.fullmatch(rf"ranks 0, 2, each: {said}\d\.\d{{3}} (to \d\.\d{{3}} )?s", rest)


def test_a_sendrecv_waits_for_what_is_left(run_program):
    done = run_program(
        """
import numpy as np

api = "mpi"


async def main(comm):
    if comm.rank == 0:
        await comm.Sendrecv(np.zeros(100000), 1, 3, np.zeros(4), 2, 4)
    elif comm.rank == 2:
        await comm.Send(np.zeros(4), 0, 4)
    await comm.Recv(np.zeros(4), 0, 9)
""",
        ranks=3,
        options=("--stall-limit", "2s"),
    )
    assert done.status == 1
    waits = "waits for MPI Sendrecv to rank 1, tag 3, on MPI_COMM_WORLD, which rank 1 must bring about, since "
    assert waits in done.err


def test_ranks_in_one_situation_are_told_together_also_where_one_of_them_is_in_a_cycle(run_program):
    done = run_program(
        """
from extended import Extended


async def main(ep):
    x = await Extended.attach(ep)
    if ep.rank == 0:
        await x.barrier()
    await x.all_reduce(1)
""",
        ranks=3,
        options=("--stall-limit", "2s"),
    )
    assert done.status == 1
    lines = [re.sub(r"since .*| \S*program.py:", "", line) for line in done.err.splitlines()]
    assert lines[1:4] == [
        "cycle: rank 0 waits for rank 1 waits for rank 0",
        "rank 0:8 in main: waits for a barrier, to which ranks 1-2 have not come, ",
        "ranks 1-2, each:9 in main: waits for all_reduce(op=sum, (), int64), to which rank 0 has not come, ",
    ]
    assert lines[4].startswith("rank 0 is in a barrier")


CROSSED = """
from conduit.launch.processes import watch
from extended import Extended

watch.STALL_S = 1.0  # of its 5


def seen(self, *_):
    print("all are silent", flush=True)


if {early}:
    watch.Watch._weigh = seen  # who presses Ctrl-C before there is a report


async def main(ep):
    x = await Extended.attach(ep)
    if ep.rank == 0:
        await x.barrier()
    await x.all_reduce(1)
"""
IN_ORDER = (
    "rank 0 is in a barrier at program.py:19, rank 1 is in all_reduce(op=sum, (), int64) at program.py:20: all of them "
    "must make the same calls in the same order"
)


@pytest.mark.parametrize("how", ["command", "launcher"])
@pytest.mark.parametrize("early", [True, False])
def test_ctrl_c_ends_in_what_is_to_be_done_and_tells_nothing_twice(shell, how, early):
    words = ["-m", "conduit", "run", shell.file(CROSSED.format(early=early)), "--conduit", MPI]
    process = shell.begin(sys.executable, *words, "--ranks", 2) if how == "command" else shell.launch(2, *words)
    before = []
    if early:
        assert process.stdout.readline() == "all are silent\n"
    while not early and before[-1:] != ["the job goes on waiting\n"]:
        before.append(process.stderr.readline())
    process.send_signal(signal.SIGINT)
    done = shell.end(process)
    assert done.status == 130
    lines = [line for line in "".join((*before, done.err)).splitlines() if "mpiexec" not in line]
    assert lines[4] == IN_ORDER
    assert lines.count(IN_ORDER) == 1
    if early:
        assert lines[0] == "interrupted: where the ranks were"
    else:
        still = "interrupted: the ranks are still where the report above has them"
        assert lines[5:7] == ["the job goes on waiting", still]
        assert "where the ranks were" not in done.err


CLUES = """
class Mine:
    def __init__(self, rank):
        self.kept = lambda: rank

    def advice(self, rank, waits, others):
        return f"rank {rank}: told by {sorted(others)}"


async def main(ep):
    ep.on_report(lambda told: told.clue(Mine(ep.rank)))
    await ep.block_until(lambda: False)
"""


def test_a_clue_that_cannot_come_along_loses_no_report(run_program):
    """Pickle does not carry it from rank 1 to rank 0, whose own stays where it is."""
    done = run_program(CLUES, ranks=2, options=("--stall-limit", "2"))
    assert done.status == 1
    assert "\nranks 0-1, each: " in done.err
    assert "\nrank 0: told by [0]\n" in done.err
    assert "Traceback" not in done.err
    assert "does not answer" not in done.err
