"""What several ranks print: whole lines, however long, in pieces or at once; tables and last lines once."""

import contextlib
import fcntl
import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import termios
from types import SimpleNamespace

import pytest

from conduit.launch.errors.complaints import complain
from conduit.launch.printing import output
from conduit.launch.processes import starting
from conduit.launch.processes.reader import OutputReader
from tests.python_path import python_path

from .conftest import MPI, PATIENCE_S

CHATTER = """
import sys


async def main(ep, times):
    await ep.attach()
    for turn in range(int(times)):
        print(ep.rank, "x" * 10, flush=True, end=" ")
        sys.stdout.write("y" * (9000 if turn % 10 == 0 else 50))
        print("", turn)
        print("error of", ep.rank, "z" * 20, file=sys.stderr)
    print("no end of line", end="")
"""


@pytest.mark.slow
def test_lines_of_ranks_never_mix(run_program):
    done = run_program(CHATTER, "300", ranks=4)
    assert done.status == 0
    assert done.lines.count("no end of line") == 4
    seen = {rank: [] for rank in range(4)}
    for line in done.lines:
        if found := re.fullmatch(r"(\d) x{10} (y+) (\d+)", line):
            turn = int(found[3])
            assert len(found[2]) == (9000 if turn % 10 == 0 else 50)
            seen[int(found[1])].append(turn)
        else:
            assert line == "no end of line" or line.startswith("ranks=4 conduit=")
    assert seen == {rank: list(range(300)) for rank in range(4)}
    assert sorted(done.err.splitlines()) == sorted(
        f"error of {rank} {'z' * 20}" for rank in range(4) for _ in range(300)
    )


@pytest.mark.slow
def test_the_last_line_and_statistics_come_once(run_program):
    done = run_program("async def main(ep):\n    ep.warn('beware')\n", ranks=3, options=("--stats",))
    assert done.status == 0
    last = [line for line in done.lines if line.startswith("ranks=")]
    assert len(last) == 1
    assert re.fullmatch(rf"ranks=3 conduit={MPI} seconds=\d+\.\d+(e-\d+)? digest=none", last[0])
    assert sum("requests_sent" in line for line in done.lines) == 1
    assert done.err.splitlines() == ["warning from ranks 0-2: beware"]


@pytest.mark.slow
def test_a_wrong_program_is_told_once(run_program, shell):
    done = run_program("async def main(ep, needed):\n    pass\n", ranks=3)
    assert (done.status, done.out) == (2, "")
    assert done.err.count("does not take the arguments given") == 1
    assert shell.conduit("run", "absent.py", "--conduit", MPI).status == 2


@pytest.mark.slow
def test_a_benchmark_starts_its_own_ranks_beside_a_simulated_one(shell):
    done = shell.conduit(
        "testam", "--conduit", "loggp", "--conduit", MPI, "--iterations", 5, "--sections", "A", "--json", "found.json"
    )
    assert done.status == 0, done.err
    assert sum("AMShort ping-pong roundtrip ReqRep" in line for line in done.lines) == 1
    found = json.loads((shell.folder / "found.json").read_text())
    assert [(each["conduit"], each["clock"], each["ranks"]) for each in found] == [
        ("loggp", "virtual", 2),
        (MPI, "wall", 2),
    ]
    assert all(record["microseconds"] > 0 for record in found[1]["records"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["testsmall", "testlarge", "testbarrier", "testcoll", "testlogp"])
def test_every_benchmark_runs_on_processes(shell, name):
    sizes = ["--max-size", 256] * (name != "testbarrier")
    done = shell.conduit(name, "--conduit", MPI, "--ranks", 2, "--iterations", 3, "--sections", "A", *sizes)
    assert done.status == 0, done.err
    assert len(re.findall(r"^ A  ", done.out, re.M)) >= 1


@pytest.mark.slow
def test_a_benchmark_joins_the_processes_of_a_launcher(shell):
    done = shell.mpiexec(2, "-m", "conduit", "testam", "--conduit", MPI, "--iterations", 3, "--sections", "A")
    assert done.status == 0, done.err
    assert sum("AMShort flood one-way Req" in line for line in done.lines) == 1
    assert sum("2 ranks, wall time" in line for line in done.lines) == 1


TELLS_HOW_FAR = """
import os

from conduit.benchmarks import progress

progress.TOLD_S = float("inf")  # how slow this machine is just now is not told
if os.environ.get("PMI_RANK") == "0":
    advance = progress.Progress.advance

    def telling(self, doing=""):
        advance(self, doing)
        print("begins a row", flush=True)  # the launcher has heard by then how far that is

    progress.Progress.advance = telling
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "ended"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_prints_the_rows_that_processes_have_measured_so_far(shell, number, ended):
    shell.file(TELLS_HOW_FAR, "sitecustomize.py")
    shell.environment["PYTHONPATH"] = python_path(shell.folder)
    words = ["--conduit", MPI, "--iterations", "200", "--json", "found.json", "--conduit", "sci"]
    process = shell.begin(sys.executable, "-m", "conduit", "testam", *words)
    begun = 0
    while begun < 3:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        begun += line == "begins a row\n"
    process.send_signal(number)
    done = shell.end(process)
    assert (done.status, done.err) == (ended, "wrote found.json\ninterrupted\n")
    rows = sum("AMShort" in line for line in done.lines)
    assert rows >= 2
    (found,) = json.loads((shell.folder / "found.json").read_text())  # on sci it has not begun
    assert (found["conduit"], found["interrupted"], found["clock"]) == (MPI, True, "wall")
    assert len([record for record in found["records"] if record["operation"].startswith("AMShort")]) == rows


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_prints_the_rows_and_writes_both_files(shell):
    shell.file(TELLS_HOW_FAR, "sitecustomize.py")
    shell.environment |= {"PYTHONPATH": python_path(shell.folder), "TERM": "xterm"}
    ours, terminal = os.openpty()
    words = ["--conduit", MPI, "--iterations", "200", "--json", "found.json", "--csv", "found.csv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "conduit", "testam", *words],
        cwd=shell.folder, env=shell.environment, stdin=terminal, stdout=terminal, stderr=terminal,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    with open(ours, "r+b", 0) as screen, contextlib.suppress(OSError):  # which is how a terminal's end reads
        while piece := screen.read(4096):
            before = shown.count(b"begins a row")
            shown += piece
            if before < 4 <= shown.count(b"begins a row"):
                screen.write(b"\x03")
    assert process.wait(PATIENCE_S) == 130, shown
    assert b"interrupted\r\n" in shown
    (found,) = json.loads((shell.folder / "found.json").read_text())
    assert (found["conduit"], found["interrupted"]) == (MPI, True)
    assert len(found["records"]) >= 3
    assert all(record["operation"].encode() in shown.partition(b"total s")[2] for record in found["records"])
    assert len((shell.folder / "found.csv").read_text().splitlines()) == 1 + len(found["records"])


@pytest.mark.slow
def test_ctrl_c_under_a_launcher_prints_the_rows_so_far(shell):
    shell.file(TELLS_HOW_FAR, "sitecustomize.py")
    shell.environment["PYTHONPATH"] = python_path(shell.folder)
    words = ["--conduit", MPI, "--sections", "A", "--iterations", "20"]
    process = shell.launch(2, "-m", "conduit", "testsmall", *words)
    begun = 0
    while begun < 3:
        line = process.stdout.readline()
        assert line, process.stderr.read()
        begun += line == "begins a row\n"
    process.send_signal(signal.SIGINT)
    done = shell.end(process)
    assert done.status == 130
    assert "Traceback" not in done.err
    assert [line for line in done.err.splitlines() if line == "interrupted"] == ["interrupted"]
    assert sum("PutBlocking latency" in line for line in done.lines) == 1
    assert "total s" in done.out


@pytest.mark.slow
def test_ctrl_c_before_the_first_row_says_where_the_ranks_were(shell):
    shell.file(TELLS_HOW_FAR, "sitecustomize.py")
    shell.environment["PYTHONPATH"] = python_path(shell.folder)
    process = shell.begin(
        sys.executable, "-m", "conduit", "testam", "--conduit", MPI, "--sections", "A", "--iterations", 10**8
    )
    while process.stdout.readline() not in ("begins a row\n", ""):
        pass
    process.send_signal(signal.SIGINT)
    done = shell.end(process)
    assert done.status == 130
    where = "step 1 of 4, AMShort ping-pong roundtrip ReqRep"  # and no line of this package, which has no bug
    assert done.err == f"interrupted before the first row was complete, in {where}\n"
    assert "AMShort" not in done.out


@pytest.mark.slow
def test_json_is_printed_alone_where_ranks_are_processes(run_program):
    program = "async def main(ep):\n    print('rank', ep.rank)\n    ep.warn('beware')\n"
    done = run_program(program, ranks=3, options=("--json", "-", "--stats"))
    assert done.status == 0, done.err
    (found,) = json.loads(done.out)
    assert (found["conduit"], found["ranks"], found["clock"], found["digest"]) == (MPI, 3, "wall", None)
    assert [counts["requests_sent"] for counts in found["statistics"]] == [0, 0, 0]
    assert found["warnings"] == [{"of": "ranks 0-2", "text": "beware"}]
    said = done.err.splitlines()
    assert sorted(line for line in said if line.startswith("rank ")) == ["rank 0", "rank 1", "rank 2"]
    assert said.count("warning from ranks 0-2: beware") == 1
    assert sum(line.startswith(f"ranks=3 conduit={MPI} seconds=") for line in said) == 1
    assert any(line.split()[:1] == ["requests_sent"] for line in said)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        ("'no\\nmore'", 1, "exit with status 1: no"),
        ("3", 3, "exit with status 3"),
    ],
)
def test_json_has_the_text_of_an_exit_as_in_simulation(shell, code, status, said):
    program = shell.file(f"import sys\nasync def main(ep):\n    await ep.attach()\n    sys.exit({code})")
    for conduit in ("loggp", MPI):
        done = shell.conduit("run", program, "--conduit", conduit, "--json", "found.json")
        (found,) = json.loads((shell.folder / "found.json").read_text())
        assert (done.status, found["error"]) == (status, said), done.err


@pytest.mark.slow
def test_json_is_printed_alone_under_a_launcher(shell):
    program = shell.file("async def main(ep):\n    print('rank', ep.rank)\n")
    done = shell.mpiexec(2, "-m", "conduit", "run", program, "--conduit", MPI, "--json", "-")
    assert done.status == 0, done.err
    (found,) = json.loads(done.out)
    assert (found["conduit"], found["ranks"]) == (MPI, 2)
    assert sorted(line for line in done.err.splitlines() if line.startswith("rank ")) == ["rank 0", "rank 1"]


def test_too_few_ranks_are_refused_before_any_process_starts(shell):
    done = shell.conduit("testlogp", "--conduit", MPI, "--ranks", 1)
    assert done.status == 2
    assert "--ranks 1 is too few for testlogp; give at least 2" in done.err


# -- the parts by themselves ----------------------------------------------------------------------


def test_lines_are_written_when_they_are_whole():
    there, here = os.pipe()
    with open(here, "w") as file, open(there, "rb", 0) as read:
        lines = output.WholeLines(file, 3, framed=False)
        lines.write("one")
        lines.write(" line\nand a")
        assert read.read(100) == b"one line\n"
        lines.finish()
        assert read.read(100) == b"and a\n"


def test_bytes_and_text_make_up_lines_together():
    there, here = os.pipe()
    with open(here, "w") as file, open(there, "rb", 0) as read:
        lines = output.WholeLines(file, 3, framed=False)
        lines.write("text, ")
        assert lines.buffer.write(memoryview(b"bytes \xff\nh")) == 9
        lines.buffer.flush()
        assert read.read(100) == b"text, bytes \xff\n"
        lines.buffer.write("\u00e9".encode()[:1])
        lines.buffer.write("\u00e9".encode()[1:])
        lines.write("!\n")
        assert read.read(100).decode() == "h\u00e9!\n"
        with pytest.raises(TypeError, match=r"^write\(\) argument must be str, not bytes$"):
            lines.write(b"")
        assert lines.buffer.fileno() == lines.fileno() == here


def test_a_stream_of_lines_has_what_programs_ask_of_one():
    with open(os.devnull, "w") as file:
        lines = output.WholeLines(file, 3, framed=True)
        lines.reconfigure(encoding="latin-1", errors="strict", newline="", line_buffering=False, write_through=True)
        found = lines.encoding, lines.errors, lines.line_buffering, lines.write_through, lines.name, lines.mode
        assert found == ("utf-8", "backslashreplace", True, False, os.devnull, "w")
        with pytest.raises(TypeError, match="unexpected keyword argument 'buffering'"):
            lines.reconfigure(buffering=1)


@pytest.mark.slow
def test_programs_may_write_bytes_and_set_up_their_output(run_program):
    done = run_program(
        "import sys\n"
        "async def main(ep):\n"
        "    sys.stdout.reconfigure(line_buffering=True)\n"
        "    sys.stdout.buffer.write(b'rank %d\\n' % ep.rank)\n",
        ranks=2,
    )
    assert (done.status, done.err) == (0, "")
    assert sorted(done.lines)[:2] == ["rank 0", "rank 1"]


@pytest.mark.parametrize("cut", [1, 7, 100, 5000])
def test_what_is_framed_is_put_together_however_it_is_cut(cut):
    long = b"q" * 10_000 + b"\n"
    stream = b"plain\n" + b"".join(
        [
            *output.frames(1, output.LINES, b"short\n"),
            *[
                x
                for pair in zip(output.frames(1, output.LINES, long), output.frames(2, output.LINES, long), strict=True)
                for x in pair
            ],
            b"half \x1e no head ",
            *output.frames(0, output.ERROR, b"wrong\n"),
            b"of a line\n",
        ]
    )
    framed, plain = [], []

    class Fed(OutputReader):
        def __init__(self):
            self._frame = lambda reader, rank, kind, data: framed.append((rank, kind, data))
            self._plain = lambda reader, data: plain.append(data)
            self._parts, self._line, self._sink = {}, b"", io.StringIO()

    reader, rest = Fed(), b""
    for at in range(0, len(stream), cut):
        rest = reader._take(rest + stream[at : at + cut])
    assert rest == b""
    assert framed == [
        (1, output.LINES, b"short\n"), (1, output.LINES, long), (2, output.LINES, long), (0, output.ERROR, b"wrong\n"),
    ]  # fmt: skip
    assert b"".join(plain) == b"plain\nhalf \x1e no head of a line\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [("'some words'", ["some words"]), ("[1, 2]", ["[1, 2]"]), ("''", [""]), ("256", []), ("True", [])],
)
def test_what_several_ranks_exit_with_is_printed_once(shell, code, words):
    program = shell.file(f"import sys\nasync def main(ep):\n    await ep.attach()\n    sys.exit({code})")
    done = shell.conduit("run", program, "--ranks", "3", "--conduit", MPI)
    assert (done.status, done.out) == (1, "")
    first, *rest = done.err.splitlines()
    assert re.fullmatch(rf"rank \d ended the job with status 1 at {re.escape(program)}:4 in main", first)
    assert rest[: len(words)] == words
    assert all(re.fullmatch(r"ranks? [\d, -]+ raised the same", line) for line in rest[len(words) :])


def outcome(*said, status=1):
    """Return what has become of processes that have sent frames: rank, kind and bytes of each."""
    data = b"".join(frame for each in said for frame in output.frames(*each))
    command = [sys.executable, "-S", "-c", f"import os, sys; os.write(2, {data!r}); sys.exit({status})"]
    return starting.start(4, command, {}, {})


def ended(capfd, *said):
    """Return what is shown of processes that have sent frames: rank, kind and bytes of each."""
    assert outcome(*said).status == 1
    return capfd.readouterr().err.splitlines()


def failed(rank, error):
    text = f"{type(error).__name__}: {error}\nraised by rank {rank}\n"
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "speech", lambda: SimpleNamespace(rank=rank, framed=True, error=told.append))
        complain(text, error)
    return rank, output.ERROR, pickle.dumps(told[0])


def test_an_error_of_several_ranks_is_told_once(capfd):
    errors = [ValueError("first"), KeyError("a"), ValueError("first"), KeyError("a"), ValueError("first")]
    said = [failed(rank, error) for rank, error in enumerate(errors)]
    assert ended(capfd, said[2], *said[::-1]) == [
        "ValueError: first",
        "raised by rank 2",
        "ranks 0, 4 raised the same",
        "ranks 1, 3 raised KeyError too: 'a'",
    ]


@pytest.mark.parametrize(
    ("errors", "launcher", "status"),
    [
        ([SystemExit(4), SystemExit(3), SystemExit(5)], 5, 4),
        ([SystemExit(4), SystemExit(3), SystemExit(5)], 7, 4),  # the bits of all, as some launchers have it
        ([SystemExit(-1), SystemExit(3)], 3, 255),
        ([SystemExit(256 + 7), SystemExit(3)], 3, 7),
        ([SystemExit("in words"), SystemExit(3)], 3, 1),
        ([SystemExit(True), SystemExit(3)], 3, 1),
        ([LookupError("lost"), SystemExit(3)], 3, 1),
        ([SystemExit(3), LookupError("lost")], 1, 3),
        ([LookupError("lost"), KeyError("lost")], 2, 2),  # it may be a wrong call
        ([SystemExit(0)], 1, 1),
        ([SystemExit("3")], 1, 1),  # a text, which Python prints
        ([SystemExit("5"), SystemExit(3)], 3, 1),
        ([SystemExit("0"), SystemExit(3)], 3, 1),
        ([SystemExit(""), SystemExit(3)], 3, 1),
        ([SystemExit("False"), SystemExit(3)], 3, 1),
        ([SystemExit(2.0), SystemExit(3)], 3, 1),  # of which Python prints the words
    ],
)
def test_the_status_of_the_whole_is_that_of_the_rank_which_is_shown(capfd, errors, launcher, status):
    found = outcome(*(failed(rank, error) for rank, error in enumerate(errors, 2)), status=launcher)
    assert found.status == status
    assert capfd.readouterr().err.startswith(f"{type(errors[0]).__name__}: {errors[0]}\nraised by rank 2\n")
    code = errors[0].args[0]
    assert found.last_words == (str(code) if isinstance(errors[0], SystemExit) and not isinstance(code, int) else "")


@pytest.mark.parametrize("good", [0, None, False])
@pytest.mark.parametrize(
    ("error", "launcher", "status"),
    [
        (LookupError("lost"), 1, 1),
        (LookupError("lost"), 0, 1),
        (SystemExit(3), 0, 3),
        (SystemExit("in words"), 0, 1),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_a_failure_decides_over_an_exit_with_status_0(capfd, good, error, launcher, status, first):
    said = [failed(0, SystemExit() if good is None else SystemExit(good)), failed(1, error)]
    found = outcome(said[first], said[1 - first], status=launcher)
    assert (found.status, found.kind, found.said) == (status, type(error).__name__, str(error))
    assert capfd.readouterr().err.splitlines() == [
        f"{type(error).__name__}: {error}",
        "raised by rank 1",
        "rank 0 raised SystemExit too" + ("" if good is None else f": {good}"),
    ]


def test_exits_with_status_0_are_shown_where_nothing_failed(capfd):
    found = outcome(failed(1, SystemExit(0)), failed(0, SystemExit(0)), status=0)
    assert (found.status, found.kind, found.explained) == (0, "SystemExit", True)
    assert capfd.readouterr().err.splitlines() == [
        "SystemExit: 0",
        "raised by rank 1",
        "rank 0 raised the same",
    ]


def test_errors_that_differ_in_numbers_alone_are_told_once(capfd):
    told = "collective call 1: rank 0 called all_reduce at a.py:5, but rank {} called broadcast at a.py:7; all must"
    errors = [ValueError(told.format(2)), ValueError(told.format(1)), KeyError(3), KeyError(4)]
    assert ended(capfd, *(failed(rank, error) for rank, error in enumerate(errors))) == [
        f"ValueError: {told.format(2)}",
        "raised by rank 0",
        "rank 1 raised the same, with other numbers",
        "ranks 2-3 raised KeyError too: #",
    ]
    assert ended(capfd, *(failed(rank, LookupError(f"of rank {rank}")) for rank in (2, 0, 1)))[2:] == [
        "ranks 0-1 raised the same, with other numbers",
    ]
    lines = [LookupError(text) for text in ("at a.py:7", "at a.py:8", "at a.py:9", "#")]  # which are no numbers
    assert ended(capfd, *(failed(rank, error) for rank, error in enumerate(lines)))[2:] == [
        "rank 1 raised LookupError too: at a.py:8",
        "rank 2 raised LookupError too: at a.py:9",
        "rank 3 raised LookupError too: #",
    ]


def test_of_a_group_of_errors_it_is_told_what_is_in_it(capfd):
    group = ExceptionGroup(
        "Exceptions from Trio nursery", [ValueError("one\ntwo"), ExceptionGroup("g", [OSError("b")])]
    )
    assert ended(capfd, failed(1, LookupError("a")), failed(0, group), failed(2, LookupError())) == [
        "LookupError: a",
        "raised by rank 1",
        "rank 0 raised ExceptionGroup too: ValueError: one; OSError: b",
        "rank 2 raised LookupError too",
    ]


def test_what_users_are_to_know_of_several_ranks_is_told_once(capfd):
    said = [(rank, output.NOTES, pickle.dumps(("beware", f"of {rank // 2}"))) for rank in (1, 3, 0)]
    assert ended(capfd, *said, failed(3, ValueError("a"))) == [
        "ValueError: a", "raised by rank 3",
        "warning of ranks 0-1, 3: beware", "warning of ranks 0-1: of 0", "warning of rank 3: of 1",
    ]  # fmt: skip


def test_a_warning_of_several_ranks_is_told_once(capfd):
    others, own = b"prog.py:3: UserWarning: beware\n  go()\n", b"prog.py:4: UserWarning: alone\n  stay()\n"
    said = [(rank, output.WARNING, others) for rank in (2, 0, 3)]
    assert ended(capfd, *said, (1, output.WARNING, own)) == [
        "rank 2: prog.py:3: UserWarning: beware", "  go()",
        "rank 1: prog.py:4: UserWarning: alone", "  stay()",
        "ranks 0, 3: as rank 2, prog.py:3: UserWarning: beware",
    ]  # fmt: skip


ENDLESS = """
async def main(ep):
    await ep.attach()
    while True:
        print("a line of rank", ep.rank)
        await ep.poll()
"""


def test_a_program_ends_where_nobody_reads_what_it_prints(shell):
    words = ["run", shell.file(ENDLESS), "--conduit", MPI, "--ranks", "2", "--json", "counts.json"]
    process = shell.begin(sys.executable, "-m", "conduit", *words)
    assert process.stdout.readline().startswith("a line of rank ")
    process.stdout.close()
    process.stdout = None
    done = shell.end(process)
    assert (done.status, done.err) == (1, "wrote counts.json\n")
    (only,) = json.loads((shell.folder / "counts.json").read_text())
    assert only["error"] == "BrokenPipeError"


def test_what_the_encoding_of_the_output_has_nothing_for_is_shown_as_escapes(shell):
    shell.environment["PYTHONIOENCODING"] = "ascii"
    done = shell.conduit("run", shell.file('async def main(ep): print("ä \u20ac")'), "--conduit", MPI, "--ranks", "1")
    assert (done.status, done.lines[0]) == (0, r"\xe4 \u20ac")


def test_whether_what_a_rank_has_written_lies_in_a_pipe_unread(monkeypatch, tmp_path):
    reads, writes = os.pipe()
    with open(reads, "rb", buffering=0) as source, open(writes, "w") as sink:
        monkeypatch.setattr(sys, "__stderr__", sink)
        monkeypatch.setattr(sys, "stderr", sink)
        speech = output.Speech(1)
        assert not speech.is_unread()
        print("last words", file=sys.stderr)
        assert speech.is_unread()
        source.read(100)
        assert not speech.is_unread()
        print("last words", file=sys.stderr)
        source.close()  # nobody will
        assert not speech.is_unread()
    with open(tmp_path / "file", "w") as sink:
        monkeypatch.setattr(sys, "__stderr__", sink)
        monkeypatch.setattr(sys, "stderr", sink)
        speech = output.Speech(1)
        print("last words", file=sys.stderr)
        assert not speech.is_unread()
