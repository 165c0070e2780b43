"""A statement that names a method and does not call it does nothing: said before the job, with its line."""

import ast
import subprocess
import sys

import pytest

from conduit.launch.uncalled import uncalled

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


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        ("ep.poll", "await ep.poll()"),
        ("ep.charge", "ep.charge()"),
        ("x.barrier", "await x.barrier()"),
        ("x.get", "await x.get(...)"),
        ("self.x.all_reduce", "await self.x.all_reduce(...)"),
        ("x.lock", "x.lock(...)"),
        ("comm.Barrier", "await comm.Barrier()"),
        ("pe.barrier_all", "await pe.barrier_all()"),
        ("win.Fence", "await win.Fence()"),
        ("t.notify", "await t.notify()"),
    ],
)
def test_each_is_told_with_its_call(statement, call):
    tree = ast.parse(f"async def main(ep):\n    {statement}\n")
    assert uncalled(tree) == [(2, f"`{statement}` names the method and does not call it: `{call}`")]


@pytest.mark.parametrize(
    "source",
    [
        "ep.rank",
        "ep.now",
        "x.size",
        "h.done",
        "a.local",
        "x._barrier",
        "ep.poll()",
        "f = ep.poll",
        "x.nothing_of_that_name",
        "import numpy as np\nnp.put",
        "import a.b\na.b.poll",
        "class Mine:\n    @property\n    def poll(self): pass\nMine().poll",
        "class Mine:\n    poll: int = 0\nMine().poll",
        "mine.poll = 3\nmine.poll",
    ],
)
def test_what_is_no_method_of_this_package_or_is_used_is_not_told(source):
    assert uncalled(ast.parse(source)) == []


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
