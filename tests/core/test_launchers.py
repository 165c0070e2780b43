"""Copies of a job that a launcher has started are noticed, once, and nothing else is."""

import warnings
from types import SimpleNamespace

import pytest
import trio

import conduit
from conduit.launch import launchers
from conduit.launch.printing import output
from conduit.launch.processes import of_spec
from conduit.launch.registry import ImportFailure

MPICH = {"PMI_SIZE": "4", "PMI_RANK": "0"}
OPEN_MPI = {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}
SRUN = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}

SAID = "a launcher has started 4 processes, and each of them runs all ranks on '{}' by itself; "
MPI = 'choose conduit="mpi:library=mpi4py" for a rank in each process, or start it without the launcher'


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """A process that nobody has started with others, and that was warned of nothing."""
    for names in launchers._VARIABLES:
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(of_spec, "_WARNED", [])
    return monkeypatch


async def main(ep):
    pass


def warned(spec="sci"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        conduit.run(main, conduit=spec)
    assert all(each.category is conduit.ConduitWarning and each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


@pytest.mark.parametrize("variables", [MPICH, OPEN_MPI, SRUN])
@pytest.mark.parametrize("spec", ["sci", "mpi"])
def test_the_first_of_several_processes_is_warned_once(environment, variables, spec):
    pytest.importorskip("mpi4py", reason="the network that is proposed needs mpi4py")
    for name, value in variables.items():
        environment.setenv(name, value)
    assert warned(spec) == [SAID.format(spec) + MPI]
    assert warned(spec) == []


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {**MPICH, "PMI_RANK": "1"},
        {**SRUN, "SLURM_PROCID": "3"},
        {**MPICH, "PMI_SIZE": "1"},
        {**SRUN, "SLURM_STEP_NUM_TASKS": "1"},
        {**MPICH, "PMI_SIZE": "1", **SRUN},  # one of several programs in a step
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "8", "SLURM_NPROCS": "8"},  # a batch script
        {"PMI_SIZE": "many"},
    ],
)
def test_no_other_process_is_warned(environment, variables):
    for name, value in variables.items():
        environment.setenv(name, value)
    assert warned() == []


def test_inside_trio_the_line_that_awaits_the_job_is_warned(environment):
    environment.setenv("PMI_SIZE", "4")

    async def program():
        await conduit.run_async(main)

    with pytest.warns(conduit.ConduitWarning, match="4 processes") as caught:
        trio.run(program)
    assert [each.filename for each in caught] == [__file__]


def test_a_rank_of_real_processes_may_simulate_too(environment):
    environment.setenv("PMI_SIZE", "4")
    environment.setattr(output, "_SPEECH", [SimpleNamespace(rank=0)])
    assert warned() == []


def test_without_a_network_of_processes_none_is_proposed(environment):
    environment.setenv("PMI_SIZE", "4")
    failure = ImportFailure("mpi", "conduits.mpi:Mpi", ImportError("mpi4py is not installed"))
    environment.setattr(of_spec, "networks", lambda: {"mpi:library=mpi4py": failure})
    assert warned() == [SAID.format("sci") + "start it without the launcher"]


@pytest.mark.parametrize(("number", "shown"), [("0", True), ("1", False)])
def test_commands_say_it_as_they_are_called(environment, capsys, number, shown):
    pytest.importorskip("mpi4py", reason="the network that is proposed needs mpi4py")
    environment.setenv("PMI_SIZE", "4")
    environment.setenv("PMI_RANK", number)
    from conduit.commands.cli import call

    assert call(["testbarrier", "--iterations", "1", "--sections", "A"]) == 0
    words = MPI.replace('conduit="mpi:library=mpi4py"', "--conduit mpi:library=mpi4py")
    assert capsys.readouterr().err == (f"warning: {SAID.format('sci')}{words}\n" if shown else "")
