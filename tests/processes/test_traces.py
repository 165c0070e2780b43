"""The trace of a job whose ranks are processes: one file of what all of them did, on one line of time."""

import re
from decimal import Decimal
from itertools import pairwise

import pytest

from tests.timeline.chrome_format import Loaded

from .conftest import MPI

pytestmark = pytest.mark.slow

PROGRAM = """
async def main(ep, count):
    count = int(count)
    got = []

    def ask(token, number):
        token.reply_short(answer, number)

    def send(token, payload):
        token.reply_medium(receive, payload)

    def put(token, payload):
        pass  # its requester gets a bare answer

    def answer(token, number):
        got.append(number)

    def receive(token, payload):
        got.append(len(payload))

    await ep.attach(ask, send, put, answer, receive)
    there = (ep.rank + 1) % ep.size
    for number in range(count):
        await ep.request_short(there, ask, number)
        await ep.request_medium(there, send, bytes(100))
        await ep.request_long(there, put, bytes(20000), 0)
        await ep.request_short(ep.rank, ask, number)
        sum(range(1000))
    await ep.block_until(lambda: len(got) == 3 * count, what="all answers", ranks=[there])
"""
COUNT = 12
REQUESTS, REPLIES = 4 * COUNT, 3 * COUNT  # of each rank


def check_linked(loaded, ranks):
    """Each message leads from its send, on a track of its sender, to its handler on one of its receiver."""
    assert len(loaded.flows) == ranks * (REQUESTS + REPLIES)
    told = set()
    for begin, end in loaded.flows.values():
        assert end is not None
        assert begin["args"]["message"] == end["args"]["message"]
        assert begin["args"]["bytes"] == end["args"]["bytes"]
        source, dest, _ = map(int, begin["args"]["message"].split("-"))
        assert dest in (source, (source + 1) % ranks)
        if begin["name"].startswith("reply"):
            source, dest = dest, source
        assert loaded.processes[begin["pid"]] == f"rank {source}"
        assert loaded.processes[end["pid"]] == f"rank {dest}"
        told.add((begin["args"]["message"], begin["name"].split()[0], begin["name"].split()[1]))
        # Of one host, whose clock is one: `Loaded` checks the times of the flow itself.
        assert end["ts"] + end["dur"] >= begin["ts"]
    assert len(told) == len(loaded.flows)
    assert len({message for message, _, _ in told}) == ranks * REQUESTS


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_trace_of_processes_links_every_message(run_program, shell, ranks):
    done = run_program(PROGRAM, str(COUNT), ranks=ranks, options=["--trace", "trace.json"])
    assert (done.status, done.err) == (0, "wrote trace.json\n")
    loaded = Loaded(shell.folder / "trace.json")
    check_linked(loaded, ranks)
    (job,) = loaded.other["jobs"]
    seconds = Decimal(re.search(r" seconds=(\S+)", done.out)[1])  # of one rank, from its own begin
    assert job["length_ps"] > seconds * 10**12 - 1000  # times are whole nanoseconds there
    assert (job["conduit"], job["failed"], job["hosts"], job["missing"]) == (MPI, False, [0] * ranks, [])
    assert job["clock_errors_ps"] == [0] * ranks
    assert all(sum(told.values()) == job["length_ps"] for told in job["ranks_ps"])
    for rank in range(ranks):
        cpu = loaded.track(f"rank {rank}", "CPU")
        assert all(one["ts"] + one["dur"] <= two["ts"] for one, two in pairwise(cpu))
        assert cpu[0]["name"] == "start"
        assert cpu[0]["ts"] < 10**6
        assert {"compute", "polling", "send", "receive", "handler", "reply"} <= {each["name"] for each in cpu}
        waits = {each["name"] for each in loaded.track(f"rank {rank}", "waits of task 0")}
        assert {"every rank to come to attach", "all answers", "the other ranks to return"} <= waits
        handled = loaded.track(f"rank {rank}", "handlers")
        assert all(each["ts"] + each["dur"] <= Decimal(job["length_ps"]) / 10**6 for each in handled)


def test_under_a_launcher_rank_0_writes_the_file(shell):
    words = ("run", shell.file(PROGRAM), "--conduit", MPI, "--trace", "trace.json", "--", COUNT)
    done = shell.mpiexec(2, "-m", "conduit", *words)
    assert (done.status, done.err) == (0, "wrote trace.json\n")
    check_linked(Loaded(shell.folder / "trace.json"), 2)


SCRIPT = """
import sys

import conduit


async def main(ep):
    def hit(token):
        pass

    await ep.attach(hit)
    await ep.request_short(1 - ep.rank, hit)


if __name__ == "__main__":
    result = conduit.run(main, conduit=sys.argv[1], trace=True)
    print(sorted((life.message.source, life.handler) for life in result.trace.lives()), result.trace.missing)
"""


def test_a_script_has_the_trace_in_every_process(shell):
    done = shell.mpiexec(2, shell.file(SCRIPT), MPI)
    assert (done.status, done.err) == (0, "")
    assert done.lines == ["[(0, 'hit'), (1, 'hit')] ()"] * 2


def test_a_job_that_fails_leaves_its_trace(run_program, shell):
    done = run_program(
        """
async def main(ep):
    def hit(token):
        pass

    await ep.attach(hit)
    await ep.request_short((ep.rank + 1) % 3, hit)
    if ep.rank == 1:
        raise LookupError("lost")
    await ep.block_until(lambda: False, what="Godot", ranks=[1])
""",
        ranks=3,
        options=["--trace", "trace.json"],
    )
    assert done.status == 1
    assert "LookupError: lost\nraised by rank 1 at " in done.err
    loaded = Loaded(shell.folder / "trace.json")
    (job,) = loaded.other["jobs"]
    assert (job["failed"], job["missing"]) == (True, [])
    last = loaded.track("rank 0", "waits of task 0")[-1]
    assert (last["name"], last["args"]["ranks"]) == ("Godot", [1])


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)", "os._exit(3)"])
def test_a_job_whose_rank_is_killed_first_leaves_no_trace_and_says_so(run_program, shell, end):
    """The launcher kills the others as it sees that, and nobody has told anything."""
    done = run_program(
        f"""
import os


async def main(ep):
    await ep.attach()
    if ep.rank == 1:
        {end}
    await ep.block_until(lambda: False)
""",
        ranks=2,
        options=["--trace", "trace.json"],
    )
    assert done.status
    assert "no trace in trace.json: no job has handed over what it had recorded\n" in done.err
    assert not (shell.folder / "trace.json").exists()


def test_a_rank_that_does_not_hear_of_the_end_is_missing_in_the_trace(run_program, shell):
    done = run_program(
        """
async def main(ep):
    def hit(token):
        pass

    await ep.attach(hit)
    if ep.rank == 1:
        while True:
            pass
    raise LookupError("lost")
""",
        ranks=2,
        options=["--trace", "trace.json"],
    )
    assert done.status == 1
    assert "LookupError: lost\nraised by rank 0 at " in done.err
    (job,) = Loaded(shell.folder / "trace.json").other["jobs"]
    assert (job["failed"], job["missing"]) == (True, [1])


def test_benchmarks_are_traced_too_and_several_conduits_follow_one_another(shell):
    done = shell.conduit(
        *("testam", "--conduit", "loggp", "--conduit", MPI, "--ranks", "2", "--sections", "A", "--iterations", "2"),
        *("--max-size", "64", "--trace", "trace.json"),
    )
    assert (done.status, done.err) == (0, "wrote trace.json\n")
    loaded = Loaded(shell.folder / "trace.json")
    jobs = loaded.other["jobs"]
    assert [job["conduit"] for job in jobs[:1] + jobs[-1:]] == ["loggp", MPI]
    assert ["clock_errors_ps" in job for job in jobs[:1] + jobs[-1:]] == [False, True]
    assert loaded.track(f"{MPI}: rank 1", "handlers")
