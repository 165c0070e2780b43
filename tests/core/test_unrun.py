"""A script that defines main(ep) and runs nothing says so when Python ends; no other script does."""

import subprocess
import sys

import pytest

MAIN = "import conduit\nasync def main(ep): pass\n"


@pytest.fixture
def end_of(tmp_path, ran):
    """Run a script and return what it shows on standard error; in a fresh process where it does not import conduit."""

    def run(source, *words):
        (tmp_path / "prog.py").write_text(source)
        if "import" in source and not words:
            return ran("prog.py").stderr
        return subprocess.run(
            [sys.executable, *words, "prog.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
        ).stderr

    return run


@pytest.mark.parametrize(
    ("source", "first"),
    [
        (MAIN, ""),
        (
            "from conduit import BadRequest\nimport numpy as np\nN = 3\nasync def main(ep, *args): pass\n"
            "class A: pass\n",
            "`import conduit`, then ",
        ),
    ],
)
def test_a_script_that_runs_nothing_is_told(end_of, tmp_path, source, first):
    said = end_of(source)
    there = tmp_path / "prog.py" if str(tmp_path) in said else "prog.py"
    assert said == (
        f"{there} defines main(ep), and nothing has run it: `conduit run {there}`, or {first}`conduit.run(main)` at "
        "its end\n"
    )


@pytest.mark.parametrize(
    ("source", "given", "run"),
    [
        ("from extended import Extended", "ep", "`import conduit`, then `conduit.run(main)`"),
        ("from extended import upc", "t", "`upc.run(main, threads=2)`"),
        ("from extended import shmem", "pe", "`shmem.run(main, pes=2)`"),
        ("from conduits.mpi import MPI", "comm", "`MPI.run(main, ranks=2)`"),
    ],
)
@pytest.mark.parametrize("api", [False, True])
def test_a_script_of_a_layer_is_told(end_of, tmp_path, source, given, run, api):
    front = source.split()[-1].lower()
    api = api and front != "extended"
    said = end_of(f"{source}\n{f'api = {front!r}' if api else ''}\nasync def main({given}): pass\n")
    there = tmp_path / "prog.py" if str(tmp_path) in said else "prog.py"
    command = f"`conduit run {there}`, or " if api or given == "ep" else ""
    assert said == f"{there} defines main({given}), and nothing has run it: {command}{run} at its end\n"


@pytest.mark.parametrize(
    ("source", "line", "call", "write"),
    [
        (MAIN + "main('sci')\n", 3, "main('sci')", "conduit.run(main)"),
        (MAIN + "if __name__ == '__main__':\n    main('sci')\n", 4, "main('sci')", "conduit.run(main)"),
        (MAIN + "conduit.run_async(main)\n", 3, "conduit.run_async(main)", "conduit.run(main)"),
        (
            "import conduit\nasync def prog(ep, n): pass\nprint(end='')\nconduit.run_async(prog, 3, ranks=2)\n",
            4,
            "conduit.run_async(prog, 3, ranks=2)",
            "conduit.run(prog, 3, ranks=2)",
        ),
        ("from extended import upc\nasync def main(t): pass\nmain(3)\n", 3, "main(3)", "upc.run(main, threads=2)"),
        (
            "from extended import upc\nasync def main(t): pass\nupc.run_async(main)\n",
            3,
            "upc.run_async(main)",
            "upc.run(main)",
        ),
    ],
)
def test_a_call_that_is_thrown_away_is_told_what_runs_the_program(end_of, tmp_path, source, line, call, write):
    said = end_of(source).splitlines()
    there = tmp_path / "prog.py" if str(tmp_path) in said[-1] else "prog.py"
    assert said[-1] == f"{there}:{line}: `{call}` runs nothing by itself: write `{write}` in its place"


@pytest.mark.parametrize(
    "source",
    [
        MAIN + "main(3)\nconduit.run(main)\n",
        "import conduit\ndef kept(f): return print\n@kept\nasync def main(ep): pass\nmain(end='')\n",
        MAIN + "import trio\nasync def all(): await conduit.run_async(main)\ntrio.run(all)\n",
        MAIN + "if not main:\n    main(3)\n",
    ],
)
def test_a_program_that_was_run_otherwise_is_not_told(end_of, source):
    assert "runs nothing" not in end_of(source)


@pytest.mark.parametrize(
    "source",
    [
        MAIN + "conduit.run(main)\n",
        MAIN + "if __name__ == '__main__':\n    conduit.run(main)\n",
        MAIN + "run = conduit.run\nkept = run(main)\n",
        MAIN + "import sys\nsys.exit(0)\n",
        "import conduit\nasync def main(comm): pass\n",
        "from conduits.mpi import MPI\nasync def main(t): pass\n",
        "from extended import upc\nasync def main(t): pass\nupc.run(main)\n",
        "import conduit\ndef main(ep): pass\n",
        "import conduit\nimport rich\nasync def main(ep): pass\n",
        "import conduit\ndef kept(f): return f\n@kept\nasync def main(ep): pass\n",
        "async def main(ep): pass\n",
    ],
)
def test_others_are_not(end_of, source):
    assert end_of(source) == ""


def test_a_script_that_fails_says_no_more_than_its_error(end_of):
    assert "nothing has run it" not in end_of(MAIN + "A = 1 / 0\n")


def test_a_program_that_the_command_runs_is_not(end_of):
    assert end_of(MAIN, "-m", "conduit", "run") == ""
