"""The report of a program whose ranks are processes: one page on what all of them did, in real time."""

import json
import re
import signal
import sys

import pytest

from .conftest import MPI, PATIENCE_S

pytestmark = pytest.mark.slow

FILES = {"report.html", "time.svg", "timeline.svg", "matrix.svg", "sizes.svg"}  # and none of links

PROGRAM = """
import numpy as np

from extended import Extended

async def main(ep, count):
    got = []

    def ask(token, payload):
        token.reply_medium(answer, payload[:10])

    def answer(token, payload):
        got.append(len(payload))

    x = await Extended.attach(ep)
    await ep.attach(ask, answer)
    there = (ep.rank + 1) % ep.size
    for number in range(int(count)):
        await ep.request_medium(there, ask, bytes(100))
    await ep.block_until(lambda: len(got) == int(count), what="all answers", ranks=[there])
    await x.all_reduce(np.arange(5.0))
    await x.put(there, 0, bytes(300))
    print("rank", ep.rank, "is done")
"""
COUNT = 12


def table(page, name):
    """The rows of a table of a page that is folded under a name."""
    (text,) = re.findall(rf"<summary>{name}</summary>.*?<tbody>\n(.*?)\n</tbody>", page, re.S)
    return [tuple(re.findall(r"<td[^>]*>(.*?)</td>", row)) for row in text.splitlines()]


def check_page(folder, ranks):
    """The page of PROGRAM: what each rank sends to the next one, and the layer's messages beside it."""
    assert {path.name for path in folder.iterdir()} == FILES
    page = (folder / "report.html").read_text()
    assert re.search(rf"<p>{ranks} ranks, [\d,.]+ µs of real time, .* the job ended well\.</p>", page)
    assert "Only a simulation knows what links carry, where bytes land and a digest" in page
    sizes = {(level, int(nbytes)): int(count) for level, nbytes, count, _ in table(page, "Sizes at each level")}
    assert sizes["messages", 100] == sizes["messages", 10] == ranks * COUNT
    assert sizes["collective calls", 40] == sizes["puts and gets", 300] == ranks
    pairs = {(int(one), int(other)): int(count) for one, other, count, _ in table(page, "Messages between ranks")}
    for rank in range(ranks):
        there = (rank + 1) % ranks
        assert pairs[rank, there] >= (2 if ranks == 2 else 1) * COUNT
    assert sum(pairs.values()) == sum(count for (level, _), count in sizes.items() if level == "messages")
    assert [row[0] for row in table(page, "Time of each rank")] == [str(rank) for rank in range(ranks)]
    sender = [row for row in re.findall(r"<tr><td>(.*?)</td>", page) if " in main" in row]
    assert sender
    assert "Links and engines" not in page
    return page


def test_one_page_tells_of_all_processes(run_program, shell):
    ranks = 4  # 2 below
    done = run_program(PROGRAM, COUNT, ranks=ranks, options=["--report", "out", "--stats"])
    assert (done.status, done.err) == (0, "")
    page = check_page(shell.folder / "out", ranks)
    assert re.search(r"program\.py:\d+ in main</td><td class=number>", page)
    assert f"ranks={ranks} conduit={MPI} " in done.lines[-1]  # for scripts, and so the last one
    assert done.lines.count("wrote out/report.html") == 1
    assert sum("requests_sent" in line for line in done.lines) == 1
    assert sorted(line for line in done.lines if line.endswith("is done")) == [
        f"rank {n} is done" for n in range(ranks)
    ]


def test_report_and_trace_of_several_conduits(run_program, shell):
    options = ["--conduit", "loggp", "--report", "out", "--trace", "trace.json"]
    done = run_program(PROGRAM, COUNT, ranks=2, options=options)
    assert (done.status, done.err) == (0, "wrote trace.json\n")
    real, simulated = "mpi_library=mpi4py", "loggp"
    assert {path.name for path in (shell.folder / "out").iterdir()} == {real, simulated}
    check_page(shell.folder / "out" / real, 2)
    assert "µs of virtual time" in (shell.folder / "out" / simulated / "report.html").read_text()
    assert len(json.loads((shell.folder / "trace.json").read_text())["otherData"]["jobs"]) == 2


def test_under_a_launcher_rank_0_writes_the_page(shell):
    words = ("run", shell.file(PROGRAM), "--conduit", MPI, "--report", "out", "--", COUNT)
    done = shell.mpiexec(2, "-m", "conduit", *words)
    assert (done.status, done.err) == (0, "")
    assert done.lines.count("wrote out/report.html") == 1
    check_page(shell.folder / "out", 2)


SCRIPT = """
import json
import sys

import conduit
from conduit.launch.tracing import reporting


async def main(ep):
    def hit(token, payload):
        heard.append(len(payload))

    heard = []
    await ep.attach(hit)
    await ep.request_medium(1 - ep.rank, hit, bytes(50))
    await ep.block_until(lambda: heard)


if __name__ == "__main__":
    with reporting("the script") as reports:
        conduit.run(main, conduit=sys.argv[1])
    told = json.loads(reports[0].to_json())
    times = [sum(parts.values()) for parts in told["ranks_ps"]]
    sent = [line["requests"] for line in told["lines"] if line["requests"]]
    print(told["clock"], told["traffic"], sent, times == 2 * [told["ps"]], told["links"], told["missing"])
"""


def test_a_script_has_the_report_in_every_process(shell):
    done = shell.mpiexec(2, shell.file(SCRIPT), MPI)
    assert (done.status, done.err) == (0, "")
    traffic = [{"from": rank, "to": 1 - rank, "messages": 1, "bytes": 50} for rank in range(2)]
    assert done.lines == [f"wall {traffic} [2] True [] []"] * 2


# The file, no message, says that rank 1 computes: its last poll before could otherwise take the request.
LATE = """
import pathlib
import time

computes = pathlib.Path("computes")

def work():
    until = time.perf_counter() + 0.6
    while time.perf_counter() < until:
        pass

async def main(ep):
    got = []

    def ask(token):
        token.reply_short(answer)

    def answer(token):
        got.append(token.rank)

    await ep.attach(ask, answer)
    if ep.rank == 0:
        while not computes.exists():
            pass
        await ep.request_short(1, ask)
        await ep.block_until(lambda: got)
    else:
        computes.touch()
    work()  # which does not poll
"""


def test_a_process_that_does_not_poll_is_told_of(run_program, shell):
    done = run_program(LATE, ranks=2, options=["--report", "out"])
    page = (shell.folder / "out" / "report.html").read_text()
    assert ("that seem to have polled late" in page, "that polled late" in page) == (True, False)
    assert (done.status, done.err) == (0, "")
    assert re.match(
        r"Rank 1 seems to compute without a poll while others wait for it: for ([12],)?\d{3},\d{3}\.\d µs, ", done.out
    )
    assert done.lines[1].startswith(
        "  Run it again: where it is the same rank each time, call `await ep.poll()` in long"
    )
    assert "program.py:26 in main" in done.lines[0]


LATE_IN_UPC = """
import pathlib
import time

api = "upc"
computes = pathlib.Path("computes")

async def main(t):
    a = await t.all_alloc(2, dtype="i8", block=1)
    async with t.lock("of both"):
        a[t.MYTHREAD] = 1
    await t.barrier()
    if t.MYTHREAD == 0:
        while not computes.exists():
            pass
        await a.fetch_add(1, 1)
    else:
        computes.touch()
    until = time.perf_counter() + 0.6
    while time.perf_counter() < until:
        pass
"""


def test_the_words_of_a_front_end_come_from_its_processes(run_program):
    done = run_program(LATE_IN_UPC, ranks=2, options=["--report", "out", "--stall-limit", "60s"])
    assert (done.status, done.err) == (0, "")
    assert done.lines[0].startswith("Rank 1 seems to compute without a poll while others wait for it: ")
    assert "call `await t.ep.poll()` in long computations, or cut them into shorter ones" in done.lines[1]


OF_MPI_ALONE = """
import numpy as np

from conduits.mpi import MPI

api = "mpi"


async def main(comm):
    await comm.Sendrecv(np.zeros(comm.rank + 1), (comm.rank + 1) % comm.size, 0, np.zeros(9), MPI.ANY_SOURCE)
    await comm.Allreduce(np.zeros(5), np.zeros(5))
"""


def test_messages_of_programs_of_mpi_alone_are_there_too(run_program, shell):
    done = run_program(OF_MPI_ALONE, ranks=4, options=["--report", "out"])
    assert (done.status, done.err) == (0, "")
    page = (shell.folder / "out" / "report.html").read_text()
    assert table(page, "Messages between ranks") == [
        (str(rank), str((rank + 1) % 4), "1", str(8 * (rank + 1))) for rank in (0, 1, 2, 3)
    ]
    assert ("collective calls", "40", "4", "160") in table(page, "Sizes at each level")


FAILS = """
import os

async def main(ep, how):
    def hit(token):
        pass

    await ep.attach(hit)
    await ep.request_short((ep.rank + 1) % 3, hit)
    if ep.rank == 1:
        if how == "killed":
            os.kill(os.getpid(), 9)
        if how == "raises":
            raise LookupError("lost")
    print("waits", flush=True)
    await ep.block_until(lambda: False, what="Godot", ranks=[1])
"""


@pytest.mark.parametrize("how", ["raises", "killed"])
def test_a_job_that_fails_leaves_its_report(run_program, shell, how):
    done = run_program(FAILS, how, ranks=3, options=["--report", "out", "--trace", "trace.json"])
    assert done.status
    page = shell.folder / "out" / "report.html"
    if how == "killed" and not page.exists():  # all were ended at once, and nobody has told anything
        assert "no report in out: the ranks ended before they handed over what they had recorded\n" in done.err
        assert "no trace in trace.json: no job has handed over what it had recorded\n" in done.err
        assert not page.parent.exists()
        return
    assert done.err.count("wrote out/report.html\n") == 1
    assert "the job failed." in page.read_text()
    assert ("Nothing is known of rank" in page.read_text()) == (how == "killed")
    if how == "raises":
        assert "LookupError: lost\nraised by rank 1 at " in done.err
        assert re.search(r"program\.py:16 in main</td>", page.read_text())


def test_ctrl_c_leaves_the_report(shell):
    words = ("run", shell.file(FAILS), "--conduit", MPI, "--ranks", "3", "--report", "out", "--", "waits")
    process = shell.begin(sys.executable, "-m", "conduit", *words)
    for _ in range(3):
        assert process.stdout.readline() == "waits\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert err.count("wrote out/report.html\n") == 1
    page = (shell.folder / "out" / "report.html").read_text()
    assert "the job failed." in page
    assert re.search(r"program\.py:16 in main</td>", page)
