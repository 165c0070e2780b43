"""A program of simulated ranks that asks mpi4py itself who is there is warned, once: it would be rank 0 of 1."""

import ast
import sys
import types

import pytest

import conduit
from conduit.launch.oversights import mpi4py_world
from conduit.launch.registry import parse_spec

INSTEAD = "write `ep.rank` and `ep.size`, or, where main takes a communicator, `from conduits.mpi import MPI`"
WARNING = (
    "{file}:{line} asks mpi4py's own COMM_WORLD, in which each process is a rank; those of 'loggp' are tasks of one "
    "process; " + INSTEAD
)


IMPORT, GUARD = "from mpi4py import MPI\n", 'if __name__ == "__main__":\n'


def warned(text, spec="loggp"):
    return mpi4py_world.warning(ast.parse(text), "prog.py", parse_spec(spec))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("from mpi4py import MPI\ncomm = MPI.COMM_WORLD\n", 2),
        ("import mpi4py.MPI\nasync def main(ep):\n    print(mpi4py.MPI.COMM_WORLD.rank)\n", 3),
        ("import mpi4py\nfrom mpi4py import MPI\nprint(mpi4py.MPI.COMM_WORLD)\n", 3),
        ("import mpi4py.MPI as m\nm.COMM_WORLD.Barrier()\nm.COMM_WORLD.Barrier()\n", 2),
        ("async def main(ep):\n    from mpi4py import MPI as M\n    M.COMM_WORLD.Get_rank()\n", 3),
        ("x = 1\nfrom mpi4py.MPI import COMM_WORLD as world\nworld.rank\n", 2),
        (f"{IMPORT}def f():\n    MPI.COMM_WORLD\nasync def main(ep):\n    f()\n", 3),
        (f"{IMPORT}def g():\n    MPI.COMM_WORLD\ndef f(h=g): h()\nasync def main(ep): f()\n", 3),
        (f"{IMPORT}class A:\n    def f(self):\n        MPI.COMM_WORLD\nasync def main(ep): A().f()\n", 4),
        (f"{IMPORT}class A:\n    def __init__(self):\n        MPI.COMM_WORLD\nasync def main(ep): A()\n", 4),
        (f"{IMPORT}class A:\n    world = MPI.COMM_WORLD\n", 3),
        (f"{IMPORT}if True:\n    def f():\n        MPI.COMM_WORLD\nasync def main(ep): f()\n", 4),
        (f"{IMPORT}async def work(ep):\n    MPI.COMM_WORLD\n{GUARD}    conduit.run(work)\n", 3),
        (f"{IMPORT}async def f(ep):\n    MPI.COMM_WORLD\ndef go(): conduit.run(partial(f, 1))\n{GUARD}    go()\n", 3),
        (f"{IMPORT}if True:\n    async def main(ep):\n        MPI.COMM_WORLD\n", 4),
        (f"{IMPORT}@known\ndef f():\n    MPI.COMM_WORLD\n", 4),
        (f"{IMPORT}async def main(ep):\n    def f(token): MPI.COMM_WORLD\n    await ep.attach(f)\n", 3),
        (f"{IMPORT}{GUARD}    pass\nelse:\n    MPI.COMM_WORLD\n", 5),
    ],
)
def test_who_asks_is_told_the_line(text, line):
    assert warned(text) == WARNING.format(file="prog.py", line=line)


def test_who_is_given_a_communicator_is_told_of_that_alone():
    said = warned('from mpi4py import MPI\napi = "mpi"\nasync def main(comm):\n    MPI.COMM_WORLD.Get_rank()\n')
    instead = "write `from conduits.mpi import MPI`, and use the communicator that main is called with"
    assert said == WARNING.format(file="prog.py", line=4).replace(INSTEAD, instead)


@pytest.mark.parametrize(
    ("text", "line", "instead"),
    [
        (f"{IMPORT}async def main(ep):\n    print(MPI.Wtime())\n", 3, "`ep.now`"),
        ("from mpi4py.MPI import Wtime as t\nasync def main(ep):\n    t()\n", 1, "`ep.now`"),
        (f'{IMPORT}api = "mpi"\nasync def main(comm):\n    MPI.Wtime()\n', 4, "`from conduits.mpi import MPI`"),
    ],
)
def test_who_reads_its_clock_is_told_what_shows_virtual_time(text, line, instead):
    assert warned(text) == (
        f"prog.py:{line} asks mpi4py's own Wtime, the clock of this machine; time on 'loggp' is virtual; write "
        f"{instead}"
    )


def test_its_clock_is_that_of_a_script_which_times_the_job():
    assert not warned(f"{IMPORT}async def main(ep): pass\n{GUARD}    MPI.Wtime()\n    conduit.run(main)\n")
    assert not warned(f"{IMPORT}MPI.Wtime()\n", "mpi:library=mpi4py")


@pytest.mark.parametrize(
    "text",
    [
        "from conduits.mpi import MPI\nMPI.COMM_WORLD.rank\n",
        "from mpi4py import MPI\nprint(MPI.DOUBLE)\n",
        "from mpi4py import MPI\ndef f(x):\n    return x.COMM_WORLD\n",
        "try:\n    from mpi4py import MPI\nexcept ImportError:\n    from conduits.mpi import MPI\nMPI.COMM_WORLD\n",
        "import mpi4py\nmpi4py.COMM_WORLD\n",
        f"{IMPORT}def f():\n    MPI.COMM_WORLD\nasync def main(ep): pass\n",
        f"{IMPORT}async def main(ep): pass\n{GUARD}    if MPI.COMM_WORLD.rank == 0: conduit.run(main)\n",
        f"{IMPORT}def f():\n    return MPI.COMM_WORLD\nasync def main(ep): pass\n{GUARD}    f()\n",
        f"{IMPORT}async def f(ep): pass\ndef main():\n    MPI.COMM_WORLD\n    conduit.run(f)\n{GUARD}    main()\n",
        f"{IMPORT}class A:\n    def f(self): MPI.COMM_WORLD\nasync def main(ep): pass\n{GUARD}    A().f()\n",
        f"from mpi4py.MPI import COMM_WORLD\nasync def main(ep): pass\n{GUARD}    COMM_WORLD.rank\n",
    ],
)
def test_nobody_else_is_nor_where_no_rank_comes(text):
    assert warned(text) == ""


def test_ranks_that_are_processes_may_ask():
    assert warned("from mpi4py import MPI\nMPI.COMM_WORLD\n", "mpi:library=mpi4py") == ""


PROGRAM = """
from mpi4py import MPI

import conduit


async def main(ep):
    print(MPI.COMM_WORLD.rank)


if __name__ == "__main__":
    for _ in range(2):
        conduit.run(main, conduit="loggp")
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    package, module = types.ModuleType("mpi4py"), types.ModuleType("mpi4py.MPI")
    module.COMM_WORLD, package.MPI = types.SimpleNamespace(rank=0), module  # to import the real one begins MPI
    monkeypatch.setitem(sys.modules, "mpi4py", package)
    monkeypatch.setitem(sys.modules, "mpi4py.MPI", module)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "prog.py"
    path.write_text(PROGRAM)
    return path


def test_a_script_is_warned_once(program, recwarn):
    exec(compile(PROGRAM, str(program), "exec"), {"__name__": "__main__", "__file__": str(program)})
    (only,) = recwarn
    assert only.category is conduit.ConduitWarning
    assert str(only.message) == WARNING.format(file=program, line=8)
    assert (only.filename, only.lineno) == (str(program), 13)


def test_the_command_warns_once(program, capsys):
    from conduit.commands.cli import call

    assert call(["run", "prog.py", "--conduit", "loggp", "--conduit", "loggp:slots=2"]) == 0
    assert capsys.readouterr().err == f"warning: {WARNING.format(file='prog.py', line=8)}\n"
