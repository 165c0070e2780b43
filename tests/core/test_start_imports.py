"""What a start imports: not what most programs and commands never use."""

import subprocess
import sys

import pytest

from conduit.launch.entry_points import commands

LOOKED_AT = ("conduit.seeing", "html", "statistics", "matplotlib", "pandas")
"""What people look at, and what that alone needs."""
RUN = (
    "conduit.launch.jobs.process",
    "conduit.launch.jobs.simulated",
    "conduit.launch.jobs.real",
    "conduit.launch.processes.starting",
)
FAILED = (
    "conduit.launch.reports",
    "conduit.launch.errors.at_end",
    "conduit.launch.hints.of_errors",
    "conduit.launch.processes.stall",
)
"""What tells of a job that has failed."""
SIMULATED = ("conduit.sim", "conduit.simnet", "conduits.mpi.engine.engine", "conduits.mpi.libraries")
REAL = ("conduit.wall", "conduit.launch.processes.watch", "conduit.launch.processes.coming", "mpi4py")
COMMANDS = ("conduit.benchmarks", "conduit.commands", "conduit.commandline", "conduit.conformance", "cyclopts", "rich")

NUMBERS = ("numpy", "trio", "conduit.contract", "conduit.core", "conduit.launch.registry", "conduit.public")
"""What sends and computes, and what the public names stand for: it takes longer to import than all the rest."""

JOB = "import conduit\nasync def main(ep):\n    await ep.attach()\nconduit.run(main, conduit='loggp'{})"


CALL = "from conduit.commands.cli import call\ncall({})\nimport sys\nprint('imported:', *sys.modules)"


@pytest.mark.parametrize(
    ("program", "without"),
    [
        ("import conduit; dir(conduit)", (*NUMBERS, *LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS, "json")),
        ("import conduit; conduit.__version__", (*NUMBERS, *LOOKED_AT)),
        ("import conduit; conduit.run", (*LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS, "json")),
        ("import extended", (*LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS, "json")),
        ("import extended.upc", (*LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS)),
        ("import extended.shmem", (*LOOKED_AT[:1], *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS)),
        ("import extended.windows", (*LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS)),
        ("from conduits.mpi import MPI", (*LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS)),
        (JOB.format(""), (*LOOKED_AT, *REAL, *COMMANDS, *RUN[2:], RUN[0])),
        (JOB.format(", trace=True"), ("conduit.seeing.report", *LOOKED_AT[2:], *REAL, *COMMANDS)),
    ],
)
def test_a_start_imports_nothing_that_it_does_not_need(program, without):
    assert _needless([sys.executable, "-c", f"{program}\nimport sys\nprint('imported:', *sys.modules)"], without) == []


@pytest.mark.parametrize(
    ("words", "without"),
    [
        (["list"], (*LOOKED_AT, *RUN, *FAILED, "conduit.benchmarks")),
        (
            ["run", "prog.py", "--conduit", "loggp"],
            (*LOOKED_AT, *REAL, "conduit.benchmarks", "rich", "conduit.launch.tracing"),
        ),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_need(tmp_path, monkeypatch, words, without):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prog.py").write_text("async def main(ep):\n    await ep.attach()\n")
    assert _needless([sys.executable, "-c", CALL.format(words)], without) == []


@pytest.mark.parametrize(
    ("words", "command", "most"),
    [
        ([], None, 36),
        (["--help"], None, 36),
        (["--version"], None, 35),
        (["tetsam"], None, 35),
        (["run", "--help"], "run", 39),
        (["run", "--ranks", "many"], "run", 38),
        (["new", "--help"], "new", 37),
    ],
)
def test_what_explains_a_call_imports_the_command_alone(words, command, most):
    """No other one, and neither numbers nor tasks: of this project no more modules than these."""
    imported = _imported([sys.executable, "-c", CALL.format(words)])
    targets = {name: target.partition(":")[0] for name, target in commands().items()}
    assert [name for name, module in targets.items() if module in imported] == [command] * (command is not None)
    assert sorted(imported & {*NUMBERS, *LOOKED_AT}) == []
    own = [name for name in imported if name.partition(".")[0] in ("conduit", "conduits", "extended")]
    assert len(own) <= most


@pytest.mark.parametrize(
    "program",
    [
        "conduit.Token\nassert {*conduit.__all__} <= vars(conduit).keys()",
        "conduit.contract\nassert {*conduit.__all__} <= vars(conduit).keys()",
        "from conduit import *\nassert all(globals()[name] is getattr(conduit, name) for name in conduit.__all__)",
        "conduit.run = 'of a test'\nconduit.Token\nassert conduit.run == 'of a test'",
        "from conduit.sim import run\nassert conduit.trio_private.trio",  # whose module asks this package for another
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as threads:\n"
        "    found = [*threads.map(lambda name: getattr(conduit, name), conduit.__all__)]\n"
        "assert found == [vars(conduit)[name] for name in conduit.__all__]",
    ],
)
def test_who_asks_for_one_public_name_finds_all_and_changes_none(program):
    done = subprocess.run([sys.executable, "-c", f"import conduit\n{program}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def _needless(command, without):
    """Return which of some modules and packages a process has imported in the end."""
    imported = _imported(command)
    return [name for name in without if any(f"{each}.".startswith(f"{name}.") for each in imported)]


def _imported(command):
    """Return the modules that a process has imported in the end."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = {*done.stdout.rpartition("imported: ")[2].split()}
    assert "conduit" in imported
    return imported
