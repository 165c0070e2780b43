"""How far a job of `conduit run` is: a line on a terminal, nothing anywhere else."""

import io
import sys
from types import SimpleNamespace

from conduit.commands import progress
from conduit.commands.progress import JobProgress, shown


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


def test_the_line_is_taken_away_before_anything_is_printed_and_at_the_end(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(progress, "TURN", 0.001)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stdout", terminal)
    with shown(JobProgress(), terminal):
        while terminal.getvalue().count("the ranks are starting") < 2:
            pass
        print("a line of the program's")
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
