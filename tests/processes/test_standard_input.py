"""Rank 0 of processes reads the command's standard input, and the others find its end."""

import subprocess
import sys

import pytest

from .conftest import MPI

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="Linux alone shows a process the files of another"),
]

READS = """
import sys


async def main(ep):
    await ep.attach()
    if ep.rank == 0:
        print(ep.rank, repr(sys.stdin.read(6)), len(sys.stdin.read()))
    else:
        assert sys.stdin.read() == ""
"""


def begin(shell, text, source):
    return subprocess.Popen(
        [sys.executable, "-m", "conduit", "run", shell.file(text), "--conduit", MPI, "--ranks", "2"],
        cwd=shell.folder, env=shell.environment, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def test_a_file_is_read_from_where_it_stands(shell):
    lines = "".join(f"{number}\n" for number in range(1, 200_001))  # more than launchers hold
    (shell.folder / "lines").write_text(lines)
    with open(shell.folder / "lines", "rb", buffering=0) as source:
        source.read(2)
        done = shell.end(begin(shell, READS, source))
    assert done.err == ""
    assert done.lines[0] == f"0 '2\\n3\\n4\\n' {len(lines) - 8}"


def test_a_pipe(shell):
    with subprocess.Popen(["printf", r"1\n2\n3\n45"], stdout=subprocess.PIPE) as source:
        done = shell.end(begin(shell, READS, source.stdout))
    assert (done.err, done.lines[0]) == ("", "0 '1\\n2\\n3\\n' 2")


def test_a_program_that_reads_nothing_leaves_it_to_others(shell):
    with subprocess.Popen(["printf", r"1\n2\n"], stdout=subprocess.PIPE) as source:
        done = shell.end(begin(shell, "async def main(ep):\n    await ep.attach()\n", source.stdout))
        assert (done.status, done.err) == (0, "")
        assert source.stdout.read() == b"1\n2\n"


@pytest.mark.parametrize("piped", [True, False])
def test_a_program_that_is_standard_input_is_refused(shell, piped):
    path = shell.file("async def main(ep): print(ep.rank)")
    with open(path) as file, subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as pipe:
        begun = subprocess.Popen(
            [sys.executable, "-m", "conduit", "run", "/dev/stdin", "--conduit", MPI], cwd=shell.folder,
            env=shell.environment, stdin=pipe.stdout if piped else file, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        done = shell.end(begun)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"conduit run: the program /dev/stdin is no file that every process can read, as ranks of '{MPI}' have to; "
        "write it to a file, and give that\n"
    )
