"""A statement that names a method and does not call it does nothing: said before the job, with its line."""

import ast
import subprocess
import sys

import pytest

from conduit.launch.oversights.uncalled import uncalled

SCRIPT = """\
import conduit
from extended import Extended

async def main(ep):
    x = await Extended.attach(ep)
    x.barrier
    ep.rank

if __name__ == "__main__":
    conduit.run(main, conduit="loggp")
    conduit.run(main, conduit="loggp")
"""


PROGRAM = """\
import conduit
from extended import Extended, shmem, upc
from extended.shmem import PE

async def main(ep):
    x = await Extended.attach(ep)
    pe = await shmem.attach(ep)
    t = await upc.attach(ep)
    {}

def helper(pe: PE, other: conduit.Endpoint, df):
    {}

async def own(t):
    {}

upc.run(own)
conduit.run(main)
"""


@pytest.mark.parametrize(
    ("where", "statement", "call"),
    [
        (0, "ep.poll", "await ep.poll()"),
        (0, "ep.charge", "ep.charge()"),
        (0, "x.barrier", "await x.barrier()"),
        (0, "x.get", "await x.get(...)"),
        (0, "x.lock", "x.lock(...)"),
        (0, "pe.barrier_all", "await pe.barrier_all()"),
        (1, "pe.barrier_all", "await pe.barrier_all()"),
        (1, "other.poll", "await other.poll()"),
        (2, "t.notify", "await t.notify()"),
    ],
)
def test_each_is_told_with_its_call(where, statement, call):
    source = PROGRAM.format(*(statement if place == where else "pass" for place in range(3)))
    line = source.splitlines().index(f"    {statement}") + 1
    assert uncalled(ast.parse(source)) == [(line, f"`{statement}` names the method and does not call it: `{call}`")]


def test_a_program_that_conduit_run_starts():
    tree = ast.parse("async def main(ep):\n    ep.poll\n")
    assert uncalled(tree) == [(2, "`ep.poll` names the method and does not call it: `await ep.poll()`")]


@pytest.mark.parametrize(
    "statement",
    [
        "ep.rank",
        "ep.now",
        "x.size",
        "x._barrier",
        "ep.poll()",
        "f = ep.poll",
        "x.nothing_of_that_name",
        "grid.split",
        "Op.put",
        "self.x.barrier",
        "try: x.barrier\n    except AttributeError: pass",
        "with pytest.raises(AttributeError): ep.poll",
        "with suppress(AttributeError): ep.poll",
        "for x in grids: x.split",
        "with grid as x: x.split",
        "x.barrier = 3; x.barrier",
        "f = lambda x: x; x.barrier",
    ],
)
def test_what_is_not_seen_to_be_a_method_of_this_package_or_is_used_is_not_told(statement):
    assert uncalled(ast.parse(PROGRAM.format(statement, "df.empty", "pass"))) == []


def test_names_of_other_functions_and_cells_are_not_told():
    assert uncalled(ast.parse("async def main(df):\n    df.empty\n")) == []
    assert uncalled(ast.parse("async def other(ep):\n    ep.poll\n")) == []


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "prog.py"
    path.write_text(SCRIPT)
    return path


def test_conduit_run_warns_of_it(script):
    words = [sys.executable, "-m", "conduit", "run", script, "--conduit", "loggp", "--conduit", "sci"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        0,
        f"warning: {script}:6: `x.barrier` names the method and does not call it: `await x.barrier()`\n",
    )


def test_a_script_warns_of_it_once(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()) == (
        0,
        [
            f"{script}:6: ConduitWarning: `x.barrier` names the method and does not call it: `await x.barrier()`",
            "  x.barrier",
        ],
    )
