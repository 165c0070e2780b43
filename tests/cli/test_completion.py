"""`conduit completion`: what shells complete."""

import shutil
import subprocess

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_in_it(command, shell):
    status, out, err = command("completion", shell)
    assert (status, err) == (0, "")
    for word in ("testam", "testcoll", "completion", "ranks-per-host", "segment"):
        assert word in out


def test_bash_completes_with_it(command):
    script = command("completion", "bash").out
    asked = "COMP_WORDS=(conduit testb); COMP_CWORD=1; _conduit; echo ${COMPREPLY[@]}"
    done = subprocess.run(
        [shutil.which("bash"), "-c", f"{script}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "testbarrier\n"


def test_another_shell_is_refused(command):
    status, _, err = command("completion", "tcsh")
    assert status == 2
    assert err == "conduit completion: SHELL cannot be 'tcsh'; choose bash or zsh or fish\n"
