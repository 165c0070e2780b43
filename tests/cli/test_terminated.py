"""SIGTERM, as schedulers send it at the limit of time, during a simulated job of `conduit run`."""

import re
import signal
import subprocess
import sys

import pytest

PROGRAM = """
async def main(ep):
    if ep.rank == 0:
        await ep.compute(1e-6)
        print(ep.rank, "begins", flush=True)
        while True:
            pass
    await ep.block_until(lambda: False)
"""
STUBBORN = """
async def main(ep):
    while True:
        try:
            print(ep.rank, "begins", flush=True)
            while True:
                pass
        except KeyboardInterrupt:
            pass
"""


def begun(tmp_path, source, **options):
    """Start a program; return its process when a rank has begun."""
    (tmp_path / "prog.py").write_text(source)
    words = [sys.executable, "-m", "conduit", "run", "prog.py", "--conduit", "loggp"]
    process = subprocess.Popen(
        words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    assert process.stdout.readline() == "0 begins\n"
    return process


@pytest.fixture
def ignoring_interrupts():
    """Let processes ignore Ctrl-C from their start, as a shell does for what a script puts in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def test_it_is_told_where_the_ranks_were(tmp_path):
    process = begun(tmp_path, PROGRAM)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    first, zero, one, *loop = err.splitlines()
    assert first.startswith("interrupted at ")
    assert re.search(r" us: where the ranks were \(what ran was prog\.py:[567] in main\)$", first)  # 5: it prints
    assert zero == "rank 0: its task ran that"
    assert one.startswith("rank 1: prog.py:8 in main: waits for a predicate ")
    if "prog.py:5" not in first:
        assert loop[0].startswith(
            "the loop at prog.py:6 has no `await`, and without one no handler runs: write `await ep.poll()`"
        )


def test_the_second_one_ends_what_goes_on_after_the_first(tmp_path):
    process = begun(tmp_path, STUBBORN)
    process.terminate()
    assert process.stdout.readline() == "0 begins\n"
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM


def test_it_ends_what_ignores_ctrl_c(tmp_path, ignoring_interrupts):
    process = begun(tmp_path, PROGRAM)
    process.terminate()
    assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == -signal.SIGTERM


LOOP = """
async def main(ep):
    got = []

    def note(token):
        got.append(1)

    await ep.attach(note)
    await ep.request_short(1 - ep.rank, note)
    await ep.compute(1e-3)  # until the other's message is there
    print(ep.rank, "begins", flush=True)
    while not got:
        await ep.compute(1e-6)
"""
OF_LOOP = (
    "the loop at prog.py:12 awaits nothing but ep.compute, which polls nothing, and only a poll runs handlers: write "
    "`await ep.block_until(predicate)` in its place, or `await ep.poll()` in it"
)


def test_a_loop_that_computes_in_the_place_of_a_wait_is_told_what_to_write(tmp_path):
    process = begun(tmp_path, LOOP)
    assert process.stdout.readline() == "1 begins\n"
    process.terminate()
    assert process.communicate(timeout=60)[1].splitlines()[-1] == OF_LOOP


def test_a_loop_in_a_predicate_is_told_to_return(tmp_path):
    source = """\
async def main(ep):
    def ready():
        print(ep.rank, "begins", flush=True)
        while True:
            pass

    await ep.block_until(ready)
"""
    process = begun(tmp_path, source)
    process.terminate()
    first, *_, last = process.communicate(timeout=60)[1].splitlines()
    if "prog.py:3" not in first:  # where it prints
        assert last == (
            "the loop at prog.py:4 is in ready, which cannot wait: let that return, and main wait for what is still "
            "missing"
        )


def test_a_loop_in_a_handler_is_told_to_return(tmp_path):
    source = """\
async def main(ep):
    def note(token):
        print(ep.rank, "begins", flush=True)
        while True:
            pass

    await ep.attach(note)
    if ep.rank == 1:
        await ep.request_short(0, note)
    await ep.block_until(lambda: False)
"""
    process = begun(tmp_path, source)
    process.terminate()
    first, *_, last = process.communicate(timeout=60)[1].splitlines()
    if "prog.py:3" not in first:  # where it prints
        assert first.endswith(" in note, of rank 0)")
        assert last == (
            "the loop at prog.py:4 is in note, which cannot wait: let that return, and main wait for what is still "
            "missing"
        )


def test_a_loop_that_computes_is_told_at_the_time_limit_too(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(LOOP)
    lines = command("run", "prog.py", "--conduit", "loggp", "--time-limit", "2ms").err.splitlines()
    assert lines[-1] == OF_LOOP


def test_a_loop_that_computes_where_nothing_has_come_is_right(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(LOOP.replace("await ep.request", "ep.size or await ep.request"))
    assert OF_LOOP not in command("run", "prog.py", "--conduit", "loggp", "--time-limit", "2ms").err


WAITED_FOR = """\
async def main(ep):
    if ep.rank == 0:
        while True:
            await ep.compute(1e-6)
    await ep.block_until(lambda: False, ranks=[0])
"""


def test_a_rank_that_only_computes_is_not_said_to_poll(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text(WAITED_FOR)
    told = command("run", "prog.py", "--conduit", "loggp", "--time-limit", "2ms").err
    assert told.splitlines()[1:4] == [
        "rank 0: prog.py:4 in main: is in ep.compute",
        "    rank 1 waits for it",
        "    does not poll",
    ]


def test_a_rank_that_computes_between_polls_is_said_neither_to_poll_nor_not_to(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    polls = WAITED_FOR.replace("await ep.compute(1e-6)", "await ep.compute(1e-6)\n            await ep.poll()")
    (tmp_path / "prog.py").write_text(polls)
    told = command("run", "prog.py", "--conduit", "loggp", "--time-limit", "2ms").err
    assert "is in ep.compute\n    rank 1 waits for it\nrank 1:" in told
