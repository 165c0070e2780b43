"""`conduit completion`: what shells complete."""

import contextlib
import io
import os
import pty
import re
import shutil
import subprocess
from contextlib import redirect_stdout

import pytest

from conduit.commands.cli import call
from conduit.launch.entry_points import CONDUITS, installed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_in_it(command, shell):
    status, out, err = command("completion", shell)
    assert (status, err) == (0, "")
    for word in ("testam", "testcoll", "completion", "ranks-per-host", "segment"):
        assert word in out


@pytest.fixture(scope="module")
def bash():
    """Return where bash is, and the script that makes it complete."""
    found = shutil.which("bash")
    if found is None:
        pytest.skip("there is no bash here")
    out = io.StringIO()
    with redirect_stdout(out):
        assert call(["completion", "bash"]) == 0
    return found, out.getvalue()


@pytest.fixture(scope="module")
def complete(bash):
    """Return what bash completes a line to, the last word of which is being typed."""
    path, script = bash

    def completed(*words):
        asked = 'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _conduit; printf "%s\\n" "${COMPREPLY[@]}"'
        line = [path, "-c", f"{script}\n{asked}", "bash", "conduit", *words]
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


@pytest.fixture(scope="module")
def typed(bash, tmp_path_factory):
    """Return the words that a command gets of what is typed to an interactive bash, tabs and all."""
    path, completing = bash
    folder = tmp_path_factory.mktemp("files")
    (folder / "programs").mkdir()
    for name in ("my prog.py", "programs/heat.py", "results.json", "ring.py"):
        (folder / name).touch()
    script = tmp_path_factory.mktemp("bash") / "completion"
    script.write_text(completing + """conduit() { printf '<%s>' "$@"; exit; }\nPS1='ready'\n""")

    def words(line):
        outer, inner = pty.openpty()
        with os.fdopen(outer, "r+b", buffering=0) as terminal:
            shell = subprocess.Popen(
                [path, "--noprofile", "--rcfile", str(script), "-i"],
                stdin=inner, stdout=inner, stderr=inner, start_new_session=True, cwd=folder,
                env={**os.environ, "TERM": "dumb"},
            )  # fmt: skip
            os.close(inner)
            shown = b""
            while b"ready" not in shown:
                shown += terminal.read(1000)
            terminal.write(line.encode() + b"\x04\x04")  # which ends one that waits for a closing quote
            with contextlib.suppress(OSError):  # the end of a terminal
                while more := terminal.read(1000):
                    shown += more
            assert shell.wait(60) == 0
        return re.findall("<([^>]*)>", shown.decode())

    return words


@pytest.mark.parametrize(
    ("typing", "expected"),
    [
        ("run prog.py --conduit sci:inl\t\n", ["run", "prog.py", "--conduit", "sci:inline="]),
        ("run prog.py --conduit sci:inl\ty\t\n", ["run", "prog.py", "--conduit", "sci:inline=yes"]),
        ("run --conduit=sci:inl\ty\t\n", ["run", "--conduit=sci:inline=yes"]),
        ("show sci:order=st\t\n", ["show", "sci:order=strict"]),
        ("show sci:order=strict,inl\tn\t x\n", ["show", "sci:order=strict,inline=no", "x"]),
        ("show mpi:lib\tmp\t\n", ["show", "mpi:library=mpi4py"]),
        ("show mpi:library=mpi4py,cr\t\n", ["show", "mpi:library=mpi4py,credits="]),
        ("show mpi:library=mpi4py,to\t\n", ["show", "mpi:library=mpi4py,to"]),  # of another library
        ("show mpi:library=scampi,to\t\n", ["show", "mpi:library=scampi,torus="]),
        ("show sci:no such\t\n", ["show", "sci:no", "such"]),
        ("show sci:nosuch\t\n", ["show", "sci:nosuch"]),
        ("show nosuch:inl\t\n", ["show", "nosuch:inl"]),
        ("show sunf\t\n", ["show", "sunfire"]),
        ('show "sci:order=st\t\n', ["show", "sci:order=strict"]),
        ("show 'sci:order=st\t\n", ["show", "sci:order=strict"]),
        ('show "mpi:library=mpi4py,cr\t4" "sci:inl\tno"\n', ["show", "mpi:library=mpi4py,credits=4", "sci:inline=no"]),
        ('run --conduit "sci:inl\ty\t\n', ["run", "--conduit", "sci:inline=yes"]),
        ('run --conduit="sci:order=st\t\n', ["run", "--conduit=sci:order=strict"]),
        ('run --conduit "su\t\n', ["run", "--conduit", "sunfire"]),
    ],
)
def test_bash_completes_options_in_a_spec(typed, typing, expected):
    """It takes `:` and `=` for ends of words, so that only an interactive one shows what it makes of them."""
    assert typed(f"conduit {typing}") == expected


@pytest.mark.parametrize(
    ("typing", "expected"),
    [
        ("run ri\t\n", ["run", "ring.py"]),
        ("run my\t\n", ["run", "my prog.py"]),
        ("run pro\the\t\n", ["run", "programs/heat.py"]),
        ('run "my\t\n', ["run", "my prog.py"]),
    ],
)
def test_bash_completes_files_whose_names_have_spaces_and_goes_on_into_folders(typed, typing, expected):
    assert typed(f"conduit {typing}") == expected


@pytest.mark.parametrize(
    ("typing", "expected"),
    [
        ("compare --diff ring.py res\t\n", ["compare", "--diff", "ring.py", "results.json"]),
        ("compare --diff=ring.py res\t\n", ["compare", "--diff=ring.py", "results.json"]),
        ("compare --diff ring.py ring.py res\t\n", ["compare", "--diff", "ring.py", "ring.py", "res"]),
        ("compare --diff ring.py --out ring.py res\t\n", ["compare", "--diff", "ring.py", "--out", "ring.py", "res"]),
        ("compare --from ring.py ring.py my\t\n", ["compare", "--from", "ring.py", "ring.py", "my prog.py"]),
        ("compare --from ring.py pro\the\t\n", ["compare", "--from", "ring.py", "programs/heat.py"]),
        ("compare --from ring.py --ou\t\n", ["compare", "--from", "ring.py", "--out"]),
        ("compare --from ring.py --conduit su\t\n", ["compare", "--from", "ring.py", "--conduit", "sunfire"]),
    ],
)
def test_bash_completes_the_further_values_of_an_option(typed, typing, expected):
    assert typed(f"conduit {typing}") == expected


@pytest.mark.parametrize(
    ("typing", "expected"),
    [
        ("run ring.py -- res\t\n", ["run", "ring.py", "--", "results.json"]),
        ("run ring.py -- pro\the\t\n", ["run", "ring.py", "--", "programs/heat.py"]),
        ("run ring.py --ranks 2 -- 3 my\t\n", ["run", "ring.py", "--ranks", "2", "--", "3", "my prog.py"]),
        ("run ring.py -- --con\t\n", ["run", "ring.py", "--", "--con"]),
        ("run ring.py -- --conduit s\t\n", ["run", "ring.py", "--", "--conduit", "s"]),
    ],
)
def test_bash_completes_files_for_a_program_behind_the_dashes(typed, typing, expected):
    assert typed(f"conduit {typing}") == expected


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
