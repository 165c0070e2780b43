"""What a start imports: not what most programs and commands never use."""

import subprocess
import sys

import pytest

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

JOB = "import conduit\nasync def main(ep):\n    await ep.attach()\nconduit.run(main, conduit='loggp'{})"


@pytest.mark.parametrize(
    ("program", "without"),
    [
        ("import conduit", (*LOOKED_AT, *RUN, *FAILED, *SIMULATED, *REAL, *COMMANDS, "json")),
        ("import conduit; conduit.__version__", LOOKED_AT),
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
    call = f"from conduit.commands.cli import call\ncall({words})\nimport sys\nprint('imported:', *sys.modules)"
    assert _needless([sys.executable, "-c", call], without) == []


def _needless(command, without):
    """Return which of some modules and packages a process has imported in the end."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = done.stdout.rpartition("imported: ")[2].split()
    assert "conduit" in imported
    return [name for name in without if any(f"{each}.".startswith(f"{name}.") for each in imported)]
