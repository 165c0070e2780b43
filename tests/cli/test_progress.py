"""How far a job of `conduit run` is: a line on a terminal, elsewhere only that a program awaits nothing."""

import io
import os
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

from conduit.commands import progress
from conduit.commands.progress import JobProgress, shown
from conduit.launch.hanging import log, looks


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_line_says_how_far_the_job_is():
    job = JobProgress()
    assert job.line(3.2) == "3 s: the ranks are starting"
    for rank in range(2):
        counts = SimpleNamespace(requests_sent=10 + rank)
        job.endpoints.append(SimpleNamespace(now=0.0125 * rank, size=4, simulated=True, counts=counts))
    job.returned = 1
    assert job.line(3.7) == "4 s, virtual time 12.500 ms, 21 requests, 1 of 4 ranks have returned"
    job.endpoints[0].simulated = False
    assert job.line(3.7) == "4 s, 21 requests, 1 of 4 ranks have returned"
    for each in job.endpoints:
        each.counts.requests_sent = int(each is job.endpoints[0])
    assert job.line(3.7) == "4 s, 1 request, 1 of 4 ranks have returned"


def test_the_line_is_cut_to_the_terminal(monkeypatch):
    """One that is wrapped would stay there, and scroll at every look."""
    terminal = Terminal()
    monkeypatch.setattr(log, "TURN", 0.001)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "columns", lambda: 20)
    with shown(JobProgress(), terminal):
        while terminal.getvalue().count("the ranks") < 2:
            pass
    lines = set(terminal.getvalue().split("\r\x1b[K"))
    assert lines == {"", "0 s: the ranks are "}


@pytest.mark.parametrize("say", [print, lambda text: sys.stdout.writelines([text, "\n"])])
def test_the_line_is_taken_away_before_anything_is_printed_and_at_the_end(monkeypatch, say):
    terminal = Terminal()
    monkeypatch.setattr(log, "TURN", 0.001)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stdout", terminal)
    with shown(JobProgress(), terminal):
        while terminal.getvalue().count("the ranks are starting") < 2:
            pass
        say("a line of the program's")
    assert sys.stdout is terminal
    before, _, _ = terminal.getvalue().partition("a line of the program's\n")
    assert before.endswith("\r\x1b[K")
    assert terminal.getvalue().rpartition("\r\x1b[K")[2] in ("", "a line of the program's\n")


def test_a_short_job_shows_none():
    terminal = Terminal()
    with shown(JobProgress(), terminal):
        pass
    assert terminal.getvalue() == ""


def test_nothing_is_shown_where_there_is_no_terminal():
    before = sys.stdout
    with shown(JobProgress(), io.StringIO()):
        assert sys.stdout is before


def test_a_stream_that_was_closed_before_stays_none(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with shown(JobProgress(), Terminal()):
        assert sys.stdout is None
        print("to nobody")
    assert sys.stdout is None


def test_what_hangs_is_said_on_a_line_that_stays(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(log, "TURN", 0.001)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "Hanging", lambda job, thread: SimpleNamespace(look=lambda: "rank 0 hangs"))
    with shown(JobProgress(), terminal):
        while terminal.getvalue().count("the ranks are starting") < 2:
            pass
    assert terminal.getvalue().startswith("\r\x1b[Krank 0 hangs\n\r\x1b[K0 s: the ranks are starting")


def test_what_a_program_prints_within_a_line_stays(monkeypatch):
    terminal, looked, hangs = Terminal(), [], []
    monkeypatch.setattr(log, "TURN", 0.001)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stdout", terminal)

    def look():
        looked.append(None)
        return "rank 0 hangs" if hangs else ""

    monkeypatch.setattr(progress, "Hanging", lambda job, thread: SimpleNamespace(look=look))
    with shown(JobProgress(), terminal):
        print("working...", end="")
        seen = len(looked)
        while len(looked) < seen + 4:
            pass
        assert terminal.getvalue().endswith("working...")
        hangs.append(None)
        while "rank 0 hangs\n" not in terminal.getvalue():
            pass
    assert "working...\nrank 0 hangs\n\r\x1b[K0 s: the ranks are starting" in terminal.getvalue()


@pytest.fixture
def clock(monkeypatch):
    """Put a clock that programs set in the place of that which who hangs is looked for by; it counts the looks."""

    class Clock(SimpleNamespace):
        def monotonic(self):
            self.looks += 1
            return self.now

    found = Clock(now=0.0, looks=0)
    monkeypatch.setattr(looks, "time", found)
    monkeypatch.setattr(log, "TURN", 0.001)
    return found


@pytest.mark.parametrize("network", ["loggp", "sci"])
def test_an_endless_loop_without_an_await_is_told_once_in_a_log(command, tmp_path, monkeypatch, clock, network):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(
        """
import sys
from conduit.launch.hanging import log, looks

async def main(ep):
    await ep.attach()
    while ep.rank == 1 and not sys.stderr.getvalue():
        looks.time.now += 20
"""
    )
    outcome = command("run", "prog.py", "--conduit", network)
    assert outcome.status == 0
    told = (
        "rank 1 is at prog.py:{} in main and has not awaited anything for 10 s: nothing else runs meanwhile, and only "
        "a poll runs handlers: wait with `await ep.block_until(predicate)`, or call `await ep.poll()`\n"
    )
    assert outcome.err in [told.format(line) for line in (7, 8)]


def test_who_awaits_something_again_and_again_is_not_told_in_a_log(command, tmp_path, clock):
    (tmp_path / "prog.py").write_text(
        """
import trio
from conduit.launch.hanging import log, looks

async def main(ep):
    def f(token):
        pass

    await ep.attach(f)
    if ep.rank == 1:
        await ep.request_short(0, f)
    while looks.time.looks < 20:
        looks.time.now += 1
        await (ep.poll() if ep.rank else trio.sleep(1e-6))
"""
    )
    outcome = command("run", str(tmp_path / "prog.py"), "--conduit", "loggp")
    assert (outcome.status, outcome.err) == (0, "")


PRINTS = "async def main(ep):\n    print('a line')\n"


@pytest.mark.parametrize("buffering", [1, 0])
def test_a_program_whose_output_is_not_read_any_more_ends_quietly(command, tmp_path, monkeypatch, buffering):
    (tmp_path / "prog.py").write_text(PRINTS)
    monkeypatch.setattr(sys, "stderr", Terminal())
    reader, writer = os.pipe()
    os.close(reader)
    with _stream(writer, buffering) as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        outcome = command("run", str(tmp_path / "prog.py"), "--conduit", "loggp")
    assert outcome.status == 1
    assert sys.stderr.getvalue() == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_an_error_of_standard_output_ends_at_the_programs_line(command, tmp_path, monkeypatch):
    (tmp_path / "prog.py").write_text(PRINTS)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with _stream("/dev/full", 0) as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stream)
        outcome = command("run", str(tmp_path / "prog.py"), "--conduit", "loggp")
    assert outcome.status == 1
    text = sys.stderr.getvalue()
    assert re.findall(r'File "(.*)", line (\d+)', text) == [(str(tmp_path / "prog.py"), "2")]
    assert "OSError: [Errno 28] No space left on device\nraised by rank 0 at " in text


def _stream(file, buffering):
    """Open a file for text, also without a buffer, as standard output is with `python -u`."""
    return open(file, "w", buffering=1) if buffering else io.TextIOWrapper(open(file, "wb", 0), write_through=True)


SCRIPT = """
import io
import sys
import threading
from types import SimpleNamespace

import conduit
from conduit.launch.hanging import log, looks

clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
looks.time = clock
log.TURN = 0.001


async def main(ep):
    await ep.attach()
    while ep.rank == 1 and not sys.stderr.getvalue():
        clock.now += 20


sys.stderr, shown = io.StringIO(), sys.stderr
conduit.run(main, conduit="{network}", ranks=3)
print(sys.stderr.getvalue(), end="", file=shown)
print(threading.active_count())
"""


@pytest.mark.parametrize("network", ["loggp", "sci", "mpi"])
def test_a_script_is_told_of_an_endless_loop_too(tmp_path, network):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.replace("{network}", network))
    ended = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    told = (
        f"rank 1 is at {path}:{{}} in main and has not awaited anything for 10 s: nothing else runs meanwhile, and "
        "only a poll runs handlers: wait with `await ep.block_until(predicate)`, or call `await ep.poll()`\n"
    )
    assert (ended.stdout, ended.returncode) == ("1\n", 0), ended.stderr
    assert ended.stderr in [told.format(line) for line in (17, 18)]


def test_in_a_script_nobody_looks_where_a_command_does_or_others_show_its_warnings():
    looked = []
    job = SimpleNamespace(watched=lambda: looked.append("looked"))
    with warnings.catch_warnings(record=True), log.logged_in_script(job):
        assert looked == []
    with log.watched(), log.logged_in_script(job):
        assert looked == []
