"""`--trace FILE` of the commands that run jobs."""

import json

import pytest

PROGRAM = """
async def main(ep):
    def ask(token):
        token.reply_short(answer)

    def answer(token):
        got.append(1)

    got = []
    await ep.attach(ask, answer)
    await ep.request_short((ep.rank + 1) % ep.size, ask)
    await ep.block_until(lambda: got)
"""


def read(path):
    content = json.loads(path.read_text())
    assert any(event["ph"] == "X" for event in content["traceEvents"])
    return [(job["conduit"], job["failed"]) for job in content["otherData"]["jobs"]]


def test_run(command, tmp_path):
    program, trace = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(PROGRAM)
    words = ("run", str(program), "--conduit", "loggp", "--conduit", "sci")
    status, out, err = command(*words, "--trace", str(trace))
    assert (status, err) == (0, f"wrote {trace}\n")
    assert read(trace) == [("loggp", False), ("sci", False)]
    assert command(*words).out == out  # digests too


def test_run_of_a_program_that_fails(command, tmp_path):
    program, trace = tmp_path / "program.py", tmp_path / "trace.json"
    program.write_text(PROGRAM + "    1 / 0\n")
    assert command("run", str(program), "--trace", str(trace)).status == 1
    assert read(trace) == [("sci", True)]


@pytest.mark.parametrize(
    "words", [("testam", "--sections", "A"), ("testsmall", "--sections", "A"), ("testbarrier",), ("testlogp",)]
)
def test_benchmarks(command, tmp_path, words):
    trace = tmp_path / "trace.json"
    words = (*words, "--conduit", "loggp", "--iterations", "2")
    status, out, err = command(*words, "--trace", str(trace))
    assert (status, err) == (0, f"wrote {trace}\n")
    assert set(read(trace)) == {("loggp", False)}
    assert command(*words).out == out


def test_files_that_cannot_be_written_are_refused_before_the_work(command, tmp_path):
    found = command("testam", "--trace", str(tmp_path / "no" / "trace.json"))
    assert found.status == 2
    assert found.out == ""
    assert "--trace" in found.err
    assert "name a file in a folder that exists" in found.err
    found = command("testam", "--trace", "-")
    assert (found.status, found.err) == (
        2,
        "conduit testam: --trace - : standard output is for what is printed; name a file\n",
    )


def test_a_call_that_is_refused_leaves_an_earlier_trace(command, tmp_path):
    program, kept = tmp_path / "prog.py", tmp_path / "kept.json"
    program.write_text("async def main(ep): pass\n")
    kept.write_text("an earlier one")
    words = ("run", str(program), "--ranks", "4", "--ranks-per-host", "3")
    for path in (kept, tmp_path / "new.json"):
        done = command(*words, "--trace", str(path))
        assert done.status == 2
        assert "trace" not in done.err
    assert kept.read_text() == "an earlier one"
    assert not (tmp_path / "new.json").exists()
