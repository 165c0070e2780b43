"""A file beside the program that is imported in the place of a package: said in words, with the file."""

import subprocess
import sys

import pytest

import conduit
from conduit.launch.hidden import hiding

PROGRAM = """
import {first}
import conduit
from extended import Extended

async def main(ep):
    x = await Extended.attach(ep)

if __name__ == "__main__":
    conduit.run(main)
"""


@pytest.mark.parametrize(
    ("name", "kind"), [("trio", "package"), ("numpy", "package"), ("attr", "package"), ("random", "module")]
)
def test_a_script_beside_a_file_that_hides_what_this_package_needs(tmp_path, name, kind):
    hider = tmp_path / f"{name}.py"
    hider.write_text("x = 1\n")
    script = tmp_path / "prog.py"
    script.write_text(PROGRAM.format(first="os"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"{hider} hides the {kind} {name}: give the file another name, such as my_{name}.py"
    )


def test_a_script_that_is_called_as_a_package_which_this_one_needs(tmp_path):
    script = tmp_path / "trio.py"
    script.write_text(PROGRAM.format(first="os"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"{script} hides the package trio: give the file another name, such as my_trio.py"
    )


def test_conduit_run_beside_a_file_that_hides_what_the_program_imports(tmp_path):
    hider = tmp_path / "mpi4py.py"
    hider.write_text("x = 1\n")
    program = tmp_path / "prog.py"
    program.write_text("from mpi4py import MPI\nasync def main(ep): pass\n")
    words = [sys.executable, "-m", "conduit", "run", program, "--conduit", "loggp"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"{hider} hides the package mpi4py: give the file another name, such as my_mpi4py.py"
    )


def test_what_hides_nothing_is_not_told(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "only_here.py").write_text("x = 1\n")
    for source in (
        "from only_here import y",
        "import only_here; only_here.y",
        "from conduit import y",
        "import nowhere",
    ):
        with pytest.raises((ImportError, AttributeError)) as caught:
            exec(source)
        assert hiding(caught.value) == ""
    with pytest.raises(AttributeError) as caught:
        conduit.nothing  # noqa: B018
    assert hiding(caught.value) == ""
