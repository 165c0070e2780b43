"""`conduit.run` in a script: under a launcher every process calls it and gets the same; without one it says how."""

import pytest

from .conftest import MPI

pytestmark = pytest.mark.slow

SCRIPT = f'''
import sys
import threading

import conduit

SPEC = "{MPI}"


async def main(ep, factor):
    def hit(token):
        pass

    await ep.attach(hit)
    await ep.request_short((ep.rank + 1) % ep.size, hit)
    ep.warn(f"beware of {{ep.rank}}")
    return [ep.rank * factor, ep.simulated]


async def unpicklable(ep):
    return threading.Lock() if ep.rank == 1 else ep.rank


async def falls(ep):
    if ep.rank == 1:
        raise LookupError("lost")
    await ep.block_until(lambda: False)


if __name__ == "__main__":
    what = sys.argv[1]
'''


def script(shell, body):
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return shell.file(SCRIPT + lines, "script.py")


@pytest.mark.parametrize("through_mpi4py", [True, False])
def test_the_result_is_the_same_in_all_processes(shell, through_mpi4py):
    body = """
result = conduit.run(main, 10, conduit=SPEC)
again = conduit.run(main, 1, conduit=SPEC, ranks=3)
sent = [counts["requests_sent"] for counts in result.statistics]
print(result.values, result.digest, result.ranks, result.conduit, sent, result.seconds, again.values)
"""
    words = ["-m", "mpi4py"] * (not through_mpi4py)  # start_command brings them; a script may do without
    done = shell.mpiexec(3, *words, script(shell, body), "x") if through_mpi4py else plainly(shell, script(shell, body))
    assert done.status == 0, done.err
    assert len(done.lines) == 3
    assert len(set(done.lines)) == 1
    assert done.lines[0].startswith(f"[[0, False], [10, False], [20, False]] None 3 {MPI} [1, 1, 1] ")
    assert done.lines[0].endswith("[[0, False], [1, False], [2, False]]")
    assert "ConduitWarning: rank 2: beware of 2" in done.err


def plainly(shell, path):
    """Start a script without `-m mpi4py`."""
    import sys

    from conduits.mpi.real import start_command

    command, defaults = start_command(3, [])
    shell.environment = {**defaults, **shell.environment}
    return shell.end(shell.begin(*command[:3], sys.executable, path, "x"))


def test_another_number_of_ranks_is_refused(shell):
    done = shell.mpiexec(2, script(shell, "conduit.run(main, 1, conduit=SPEC, ranks=4)"), "x")
    assert done.status != 0
    assert "BadRequest: run: 4 ranks are asked for, but 2 processes were started, and each is a rank; leave" in done.err


def test_a_value_that_cannot_cross_names_its_rank(shell):
    body = """
try:
    conduit.run(unpicklable, conduit=SPEC)
except conduit.ConduitError as error:
    print(error)
"""
    done = shell.mpiexec(3, script(shell, body), "x")
    assert done.status == 0, done.err
    assert len(done.lines) == 3
    assert len(set(done.lines)) == 1
    assert "the value of rank 1 cannot be given to the other processes: TypeError: cannot pickle" in done.lines[0]


def test_an_error_is_the_own_one_where_it_was_raised_and_an_exit_elsewhere(shell):
    body = """
try:
    conduit.run(falls, conduit=SPEC)
except BaseException as error:
    print(type(error).__name__, error, *getattr(error, "__notes__", []))
    if isinstance(error, LookupError):
        try:
            conduit.run(main, 1, conduit=SPEC)
        except conduit.ConduitError as refused:
            print(refused)
"""
    done = shell.mpiexec(3, script(shell, body), "x")
    assert done.status == 1
    own = [line for line in done.lines if line.startswith("LookupError")]
    assert len(own) == 1
    assert own[0].startswith("LookupError lost raised by rank 1 at ")
    assert [line for line in done.lines if line.startswith("SystemExit")] == ["SystemExit 1"] * 2
    assert any("a job before this one was ended by rank 1" in line for line in done.lines)


def test_a_program_that_goes_on_after_an_error_is_ended(shell):
    body = """
try:
    conduit.run(falls, conduit=SPEC)
except BaseException:
    print("goes on")
while True:
    sum(range(1000))
"""
    done = shell.mpiexec(2, script(shell, body), "x")
    assert done.status == 1
    assert done.lines[0] == "goes on"


def test_without_a_launcher_it_says_how_to_start(shell):
    import sys

    done = shell.end(shell.begin(sys.executable, script(shell, "conduit.run(main, 1, conduit=SPEC)"), "x"))
    assert done.status == 1
    assert (
        "the ranks of conduit='mpi:library=mpi4py' are processes, and this is only one; start the program with"
        in done.err
    )
    assert "mpiexec -n N python -m mpi4py SCRIPT.py" in done.err


@pytest.mark.parametrize("how", ["time_limit=1", "stall_limit=-1", "ranks_per_host=7"])
def test_what_real_processes_have_not_is_refused(shell, how):
    done = shell.mpiexec(2, script(shell, f"conduit.run(main, 1, conduit=SPEC, {how})"), "x")
    assert done.status != 0
    assert f"BadRequest: run: {how.split('=')[0]}=" in done.err


def test_a_comparison_under_a_launcher_is_written_by_rank_0_alone(shell):
    pytest.importorskip("matplotlib")
    options = ["--conduit", MPI, "--sections", "A", "--iterations", "5", "--out", shell.folder / "c"]
    done = shell.mpiexec(2, "-m", "mpi4py", "-m", "conduit", "compare", *options)
    assert (done.status, done.err) == (0, "")
    assert sum(line.startswith("wrote ") for line in done.lines) == 1
    assert {"compare.html", "results.json"} < {each.name for each in (shell.folder / "c").iterdir()}
