"""A script that defines main(ep) and runs nothing says so when Python ends; no other script does."""

import subprocess
import sys

import pytest

MAIN = "import conduit\nasync def main(ep): pass\n"


def end_of(tmp_path, source, *words):
    path = tmp_path / "prog.py"
    path.write_text(source)
    return subprocess.run(
        [sys.executable, *words, "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    ).stderr


@pytest.mark.parametrize(
    "source",
    [
        MAIN,
        "from conduit import BadRequest\nimport numpy as np\nN = 3\nasync def main(ep, *args): pass\nclass A: pass\n",
    ],
)
def test_a_script_that_runs_nothing_is_told(tmp_path, source):
    said = end_of(tmp_path, source)
    there = tmp_path / "prog.py" if str(tmp_path) in said else "prog.py"
    assert said == (
        f"{there} defines main(ep), and nothing has run it: `conduit run {there}`, or `conduit.run(main)` at its end\n"
    )


@pytest.mark.parametrize(
    "source",
    [
        MAIN + "conduit.run(main)\n",
        MAIN + "if __name__ == '__main__':\n    conduit.run(main)\n",
        MAIN + "run = conduit.run\nkept = run(main)\n",
        MAIN + "import sys\nsys.exit(0)\n",
        "import conduit\nasync def main(comm): pass\n",
        "import conduit\ndef main(ep): pass\n",
        "import conduit\nimport rich\nasync def main(ep): pass\n",
        "import conduit\ndef kept(f): return f\n@kept\nasync def main(ep): pass\n",
        "async def main(ep): pass\n",
    ],
)
def test_others_are_not(tmp_path, source):
    assert end_of(tmp_path, source) == ""


def test_a_script_that_fails_says_no_more_than_its_error(tmp_path):
    assert "nothing has run it" not in end_of(tmp_path, MAIN + "A = 1 / 0\n")


def test_a_program_that_the_command_runs_is_not(tmp_path):
    assert end_of(tmp_path, MAIN, "-m", "conduit", "run") == ""
