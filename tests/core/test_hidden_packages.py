"""A file beside the program that is imported in the place of a package: said in words, with the file."""

import subprocess
import sys

import pytest

import conduit
from conduit.launch.hints.hidden import hiding

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


@pytest.mark.parametrize("words", [["testam"], ["run", "trio.py"], ["run", "prog.py"]])
def test_a_command_beside_a_file_that_hides_what_this_package_needs(tmp_path, words):
    """It is imported when the command is: then it may ask this package for names that are still to come."""
    hider = tmp_path / "trio.py"
    hider.write_text(PROGRAM.format(first="os"))
    (tmp_path / "prog.py").write_text("async def main(ep): pass\n")
    command = [sys.executable, "-m", "conduit", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        f"{hider} hides the package trio: give the file another name, such as my_trio.py"
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


@pytest.mark.parametrize(
    ("files", "program"),
    [
        ({"c/queue.py": "x = 1"}, "import queue, sys\nsys.modules['queue'].psuh"),  # Python's own is there already
        ({"random.py": "x = 1"}, "import random\nrandom.sede"),
        ({"lib1/six_like.py": "a = 1", "lib2/six_like.py": "b = 1"}, "import six_like\nsix_like.b"),
        ({"grids.py": "x = 1", "lib1/grids/data.txt": ""}, "import grids\ngrids.mak"),
        ({"test.py": "import nothing_there"}, "import test"),
        ({"test.py": "import prog2", "prog2.py": "from test import x"}, "import test"),
    ],
)
def test_a_file_that_hides_nothing_of_what_is_missed_is_not_told(tmp_path, files, program):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text)
    script = tmp_path / "prog.py"
    script.write_text(
        f"import sys\nsys.path += [{str(tmp_path / 'lib1')!r}, {str(tmp_path / 'lib2')!r}]\n{HOOKED}{program}"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Error: " in done.stderr
    assert "hides the " not in done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "import trio.abc",
        "async def main(ep):\n    import grids\n    grids.mak\nconduit.run(main)",
        "from grids import mak",
        "import grids\ngrids.mak",
    ],
)
def test_it_is_told_once(tmp_path, program):
    (tmp_path / "trio.py").write_text("x = 1")
    (tmp_path / "grids.py").write_text("x = 1")
    (tmp_path / "lib1").mkdir()
    (tmp_path / "lib1/grids.py").write_text("mak = 1")
    script = tmp_path / "prog.py"
    script.write_text(f"import sys\nsys.path += [{str(tmp_path / 'lib1')!r}]\n{HOOKED}{program}")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stderr.count("hides the ") == 1


HOOKED = """\
import sys
beside = sys.path.pop(0)
import conduit, conduit.launch.jobs.simulated
for name in list(sys.modules):
    if name.partition(".")[0] in ("trio", "random"):
        del sys.modules[name]
sys.path.insert(0, beside)
"""
"""A start that imports this package whole, whatever is hidden from then on."""


def run_beside(tmp_path, source, *words):
    """Run a program beside a file that is called as this package, as the command does that finds the package first."""
    (tmp_path / "conduit.py").write_text("def helper(): pass\n")
    (tmp_path / "prog.py").write_text(source)
    words = [sys.executable, "-P", "-m", "conduit", "run", "prog.py", *words]
    return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "source",
    [
        "import conduit\nasync def main(ep): conduit.helper()",
        "from conduit import helper\nasync def main(ep): helper()",
    ],
    ids=["attribute", "import"],
)
def test_a_file_that_is_called_as_this_package_is_not_imported(tmp_path, source):
    done = run_beside(tmp_path, source)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        f"`conduit` is this package, and {tmp_path / 'conduit.py'} has helper: give the file another name, such as "
        "my_conduit.py"
    )


def test_nothing_is_said_of_it_where_it_has_nothing_that_is_missed(tmp_path):
    done = run_beside(tmp_path, "import conduit\nasync def main(ep): conduit.helping()")
    assert "my_conduit" not in done.stderr
    assert run_beside(tmp_path, "import conduit\nasync def main(ep): pass").stderr == ""


def test_processes_are_not_started_where_it_would_run_in_the_place_of_this_package(tmp_path):
    done = run_beside(tmp_path, "async def main(ep): pass", "--conduit", "mpi:library=mpi4py")
    assert done.returncode == 2
    assert done.stderr == (
        f"conduit run: {tmp_path / 'conduit.py'} hides the package conduit from the processes that are to be started "
        "here: give the file another name, such as my_conduit.py\n"
    )
