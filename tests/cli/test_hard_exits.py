"""A program that calls `os._exit` in a simulated job ends the process of all ranks, and is told of before."""

import os

import pytest
import trio

import conduit

PLACES = {
    "main": ("if ep.rank == 1:\n        os._exit(int(status))", "rank 1", 11),
    "handler": ("await ep.request_short(0, fall, int(status))", "rank 0", 7),
    "thread": ("if ep.rank == 0:\n        await trio.to_thread.run_sync(lambda: os._exit(int(status)))", "rank 0", 11),
}
PROGRAM = """
import os, trio

async def main(ep, status):
    def fall(token, status):
        if token.rank == 1:
            os._exit(status)
    await ep.attach(fall)
    await ep.compute(1e-6 * ep.rank)
    {}
"""


@pytest.fixture
def ended(tmp_path, ran):
    """Run a program by the command, and return what is left of it."""

    def run(text, *words, conduit="loggp"):
        (tmp_path / "prog.py").write_text(text)
        return ran("conduit", "run", "prog.py", "--conduit", conduit, *words)

    return run


@pytest.mark.parametrize("status", [0, 5])
@pytest.mark.parametrize("where", ["main", "handler", "thread"])
def test_it_is_told_who_has_called_it_and_where(ended, where, status):
    call, who, line = PLACES[where]
    done = ended(PROGRAM.format(call), "--", str(status))
    name = {"main": "main", "handler": "fall", "thread": "<lambda>"}[where]
    assert done.stderr == f"{who} ended the job by os._exit({status}) at prog.py:{line} in {name}\n"
    assert done.returncode == status


def test_of_a_copy_of_the_process_nothing_is_told(ended):
    text = """
import os

async def main(ep):
    if not (child := os.fork()):
        os._exit(0)
    os.waitpid(child, 0)
"""
    done = ended(text)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_status_that_is_none_is_refused_as_ever(ended):
    done = ended("import os\n\nasync def main(ep):\n    os._exit('5')\n")
    assert done.returncode == 1
    assert "ended the job" not in done.stderr
    assert "TypeError" in done.stderr


def test_it_is_as_it_was_once_the_last_of_several_jobs_is_over():
    before, inside = os._exit, []

    async def inner(ep):
        inside.append(os._exit)

    async def main(ep):
        inside.append(os._exit)
        if ep.rank == 0:
            await trio.to_thread.run_sync(lambda: conduit.run(inner, conduit="loggp"))
        inside.append(os._exit)

    conduit.run(main, conduit="loggp")
    assert set(inside) == {inside[0]} != {before}
    assert os._exit is before
