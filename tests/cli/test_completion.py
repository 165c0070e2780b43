"""`conduit completion`: what shells complete."""

import io
import re
import shutil
import subprocess
from contextlib import redirect_stdout

import pytest

from conduit.commands.cli import call
from conduit.launch.registry import CONDUITS, installed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_in_it(command, shell):
    status, out, err = command("completion", shell)
    assert (status, err) == (0, "")
    for word in ("testam", "testcoll", "completion", "ranks-per-host", "segment"):
        assert word in out


@pytest.fixture(scope="module")
def complete():
    """Return what bash completes a line to, the last word of which is being typed."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash here")
    out = io.StringIO()
    with redirect_stdout(out):
        assert call(["completion", "bash"]) == 0

    def completed(*words):
        asked = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _conduit; printf "%s\\n" "${COMPREPLY[@]}"'
        line = [bash, "-c", f"{out.getvalue()}\n{asked}", "bash", "conduit", *words]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.split()

    return completed


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("testb", "testbarrier"),
        ("testam --min", "--min-size"),
        ("testam --conduit s", "sci startx sunfire"),
        ("testam --conduit sci --conduit l", "loggp"),
        ("testcoll --conduit t", "t3e"),
        ("run --conduit su", "sunfire"),
        ("run prog.py --conduit o", "origin"),
        ("explain --conduit u", "udp"),
        ("explain --op ", "am get put"),
        ("explain --conduit sci --op p", "put"),
        ("shmem-tests --conduit o", "origin"),
        ("mpi-coll --conduit ", "mpi"),  # no other would be accepted
        ("mpi-pingpong --conduit s", ""),
        ("list s", "sci startx sunfire"),
        ("compare --conduit sci --conduit s", "sci startx sunfire"),
        ("compare --command testl", "testlarge testlogp"),
        ("compare --command mpi-p", "mpi-patterns mpi-pingpong"),
        ("compare --command li", ""),  # list is no benchmark
        ("show s", "sci startx sunfire"),
        ("raw o", "origin"),
        ("conform l", "loggp"),
        ("completion f", "fish"),
        ("testcoll --algorithms ri", "ring"),
        ("testcoll --algorithms a", "all"),
        ("mpi-patterns --patterns tr", "transpose"),
    ],
)
def test_bash_completes(complete, words, expected):
    assert complete(*words.split(" ")) == expected.split()


def test_bash_completes_what_is_not_begun(complete):
    assert complete("run", "--conduit", "") == sorted(installed(CONDUITS))


@pytest.mark.parametrize(
    ("shell", "expected"),
    [
        ("zsh", r"--conduit\[.*\]:conduit:\(loggp mpi "),
        ("fish", "complete -c conduit .*run.* -l conduit -x -a 'loggp mpi "),
    ],
)
def test_other_shells_have_the_names_too(command, shell, expected):
    assert re.search(expected, command("completion", shell).out)


def test_names_are_for_shells_alone(command):
    """What is completed is not all that is allowed: options may follow a conduit's name."""
    assert command("show", "sci:slots=4").status == 0
    out = command("testam", "--help").out
    assert "sunfire" not in out


def test_another_shell_is_refused(command):
    status, _, err = command("completion", "tcsh")
    assert status == 2
    assert err == "conduit completion: SHELL cannot be 'tcsh'; choose bash, zsh or fish\n"
