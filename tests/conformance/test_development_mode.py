"""In Python's development mode every call of a network is looked at, in the processes that pytest-xdist starts too."""

import subprocess
import sys

import pytest

from conduit.commands.conform import PLUGIN


@pytest.mark.parametrize("development", [False, True])
def test_workers_are_in_the_mode_that_their_controller_is_in(tmp_path, monkeypatch, development):
    monkeypatch.delenv("PYTHONDEVMODE", raising=False)
    (tmp_path / "test_mode.py").write_text(
        f"import sys\n\ndef test_it():\n    assert sys.flags.dev_mode is {development}\n"
    )
    pytest_words = [
        "-m",
        "pytest",
        "-c",
        "/dev/null",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        "-n",
        "1",
        "test_mode.py",
    ]
    words = [sys.executable, *(["-X", "dev"] if development else []), *pytest_words]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
