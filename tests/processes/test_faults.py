"""Whatever happens to one rank ends the job everywhere, soon, with a status that says so, and leaves nothing behind."""

import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest

from conduit.launch.printing.phrases import named

from .conftest import MPI

pytestmark = pytest.mark.slow

SOON_S = 5.0
SHARED = Path("/dev/shm")

PROGRAM = """
import os
import posix
import signal
import sys
import time

import trio

from extended import Extended


async def main(ep, what, where):
    def hit(token):
        pass

    def fall(token):
        raise LookupError("lost by its handler")

    await ep.attach(hit, fall)
    x = await Extended.attach(ep)
    await x.barrier()
    if ep.rank == 1:
        if where == "flood":
            for _ in range(100):
                await ep.request_short(2, hit)
        else:
            await trio.sleep(0.2)
        print("falls at", repr(time.time()))
        if what == "raises":
            raise LookupError("lost")
        if what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if what == "crashed":
            os.kill(os.getpid(), signal.SIGSEGV)
        if what == "copied" and not os.fork():
            time.sleep(600)
        if what.startswith("gone"):
            os._exit(int(what[4:]))
        if what == "copied":
            posix._exit(0)  # which says nothing
        if what == "sys.exit":
            sys.exit(4)
        if what == "ep.exit":
            ep.exit(3)
        if what == "ep.exit of nothing":
            ep.exit()
        if what == "handler":
            await ep.request_short(0, fall)
    if where == "barrier":
        await x.barrier()
    while where == "flood":
        await ep.request_short((ep.rank + 1) % ep.size, hit)
    while True:
        sum(range(1000))
"""


WHERE = ["barrier", "flood", "compute"]


@pytest.fixture
def fall(run_program):
    """Run the program whose rank 1 falls, with two others, and look that the job ends soon."""

    def run(what, where):
        done = run_program(PROGRAM, what, where, ranks=3)
        ends_soon(done)
        return done

    return run


def ends_soon(done):
    fell = next(float(line.split()[-1]) for line in done.lines if line.startswith("falls at "))
    assert done.ended - fell < SOON_S


@pytest.mark.parametrize("where", WHERE)
def test_a_rank_that_raises(fall, where):
    done = fall("raises", where)
    assert done.status == 1
    assert done.err.startswith("Traceback (most recent call last):")
    assert 'in main\n    raise LookupError("lost")' in done.err.replace("            raise", "    raise")
    assert "LookupError: lost\nraised by rank 1 at " in done.err
    assert done.err.count("Traceback") == 1
    assert "MPI_Abort" not in done.err + done.out  # nothing that the traceback does not say better


@pytest.mark.parametrize("where", WHERE)
def test_a_rank_that_is_killed(fall, where):
    done = fall("killed", where)
    assert done.status not in (0, None)
    told = re.search(
        r"the process of (.*?) has ended without an error of Python's, (by signal SIGKILL|as by a signal), ", done.err
    )
    assert told
    assert told[1] == "one of the ranks 0, 1, 2"  # the launcher kills the others in the same way
    assert "TERMINAT" not in done.out  # what a launcher says of it is no output of the program


def test_a_rank_that_crashes(fall):
    done = fall("crashed", "barrier")
    assert done.status not in (0, None)
    told = re.search(r"the process of (.*) has ended without an error of Python's, (by signal SIGSEGV|as by)", done.err)
    assert told
    assert told[1] == ("rank 1" if told[2] == "by signal SIGSEGV" else "one of the ranks 0, 1, 2")


@pytest.mark.parametrize("status", [0, 5])
def test_a_process_that_leaves_by_os_exit_is_told_with_its_line(fall, status):
    done = fall(f"gone{status}", "barrier")
    assert done.status == (status or 1)
    line = PROGRAM.splitlines().index("            os._exit(int(what[4:]))") + 1
    assert re.fullmatch(rf"rank 1 ended the job by os\._exit\({status}\) at \S*program\.py:{line} in main\n", done.err)
    assert "TERMINAT" not in done.out


def test_under_a_launcher_a_process_that_leaves_by_os_exit_is_told_too(shell):
    done = shell.mpiexec(2, shell.file("import os\n\nasync def main(ep):\n    os._exit(0)\n" + SCRIPT))
    told = re.findall(
        r"^rank (\d) ended the job by os\._exit\(0\) at \S*program\.py:4 in main$", done.err, re.MULTILINE
    )
    assert set(told) <= {"0", "1"}
    assert told


def test_a_process_that_ends_while_a_copy_of_it_holds_its_connections(run_program):
    """The launcher hears of such an end by a connection that is closed: here it waits, and the others with it."""
    done = run_program(PROGRAM, "copied", "barrier", ranks=3)
    fell = next(float(line.split()[-1]) for line in done.lines if line.startswith("falls at "))
    assert done.ended - fell < 2 * SOON_S
    assert done.status == 1
    assert re.match(r"the process of rank 1 has ended without an error of Python's, (with status 0|as by)", done.err)
    assert done.err.count("\n") == 1


def test_a_single_process_that_just_ends_is_told_with_its_status(run_program):
    done = run_program("import posix\n\nasync def main(ep):\n    posix._exit(3)\n", ranks=1)
    assert done.status == 3
    told = re.search(
        r"the process of (.*?) has ended without an error of Python's, (.*), and the job with it", done.err
    )
    assert told[1] == "rank 0"
    assert told[2] in ("with status 3, as by os._exit", "as by a signal, a crash in compiled code or os._exit")


EXITS = {"ep.exit": 3, "ep.exit of nothing": 0, "sys.exit": 4}


@pytest.mark.parametrize(
    ("what", "where"),
    [
        # Each way once and each place once; what all of them do is tried where ranks raise.
        pytest.param(what, where, marks=[] if way == place else [pytest.mark.every])
        for way, what in enumerate(EXITS)
        for place, where in enumerate(WHERE)
    ],
)
def test_a_rank_that_exits(fall, what, where):
    done = fall(what, where)
    assert done.status == EXITS[what]
    said, _, place = done.err.rstrip("\n").partition(" at ")
    assert said == f"rank 1 ended the job with status {done.status}"
    line = PROGRAM.splitlines().index(f"            {what.split()[0]}({done.status or ''})") + 1
    assert place.endswith(f"program.py:{line} in main")


@pytest.mark.parametrize("where", ["barrier", "flood"])
def test_a_handler_that_raises(fall, where):
    done = fall("handler", where)
    assert done.status == 1
    assert "LookupError: lost by its handler\nin handler 'fall' on rank 0, for a request from rank 1\n" in done.err
    assert "raised by rank 0 at " in done.err


def test_of_errors_of_all_ranks_one_is_shown_whole(run_program):
    done = run_program("async def main(ep):\n    raise LookupError(f'rank {ep.rank}')\n", ranks=3)
    assert done.status == 1
    assert done.err.count("Traceback") == 1
    first = next(rank for rank in range(3) if f"LookupError: rank {rank}\nraised by rank {rank} at" in done.err)
    further = done.err[done.err.index("raised by rank") :].splitlines()[1:]
    others = [rank for rank in range(3) if rank != first]  # which may be too late to say so
    single = [[f"rank {rank} raised LookupError too: rank {rank}"] for rank in others]
    assert further in ([], *single, [f"{named(others)} raised the same, with other numbers"])


def test_of_ranks_that_exit_with_statuses_of_their_own_the_one_that_is_shown_is_the_commands(run_program):
    done = run_program("async def main(ep):\n    ep.exit(3 + ep.rank)\n", ranks=3)
    assert done.err.startswith(f"rank {done.status - 3} ended the job with status {done.status} at ")


EXIT_AND_ERROR = """
import sys


def leave(token):
    sys.exit(0)


async def main(ep):
    await ep.attach(leave)
    if ep.rank == 1:
        await ep.request_short(0, leave)
        raise LookupError("lost")
    await ep.block_until(lambda: False)
"""


def test_an_error_decides_over_an_exit_with_status_0_of_another_rank(run_program):
    done = run_program(EXIT_AND_ERROR)
    assert done.status == 1
    assert "LookupError: lost\nraised by rank 1 at " in done.err
    assert "ended the job with status 0" not in done.err
    further = done.err[done.err.index("raised by rank") :].splitlines()[1:]
    assert further in ([], ["rank 0 raised SystemExit too: 0"])  # which may be too late to say so


SCRIPT = """
import conduit

if __name__ == "__main__":
    conduit.run(main, conduit="mpi:library=mpi4py")
"""


def test_under_a_launcher_the_same_error_of_all_ranks_is_shown_once(shell):
    done = shell.mpiexec(2, shell.file("async def main(ep):\n    raise LookupError('lost')\n" + SCRIPT))
    assert done.status == 1
    assert done.err.count("Traceback") == done.err.count("LookupError: lost") == 1


def test_under_a_launcher_an_error_decides_over_an_exit_with_status_0_of_another_rank(shell):
    done = shell.mpiexec(2, shell.file(EXIT_AND_ERROR + SCRIPT))
    assert done.status == 1
    assert "LookupError: lost\nraised by rank 1 at " in done.err


def test_under_a_launcher_errors_that_differ_in_numbers_alone_are_shown_once(shell):
    text = "lost by rank {ep.rank}, which is said at such a length that to read it three times over is no pleasure"
    done = shell.mpiexec(2, shell.file(f"async def main(ep):\n    raise LookupError(f'{text}')\n" + SCRIPT))
    assert done.status == 1
    assert done.err.count("Traceback") == done.err.count("LookupError: lost") == 1
    if "rank 1 raised" in done.err:  # which may be told of the end before it does
        assert "\nrank 1 raised the same, with other numbers\n" in done.err


def test_ranks_that_wait_may_clean_up(run_program):
    done = run_program(
        """
async def main(ep):
    await ep.attach()
    if ep.rank == 0:
        raise LookupError
    try:
        await ep.block_until(lambda: False)
    finally:
        print("cleaned up", ep.rank)
""",
        ranks=3,
    )
    assert done.status == 1
    # A rank may come to its wait after the end, and then is refused it.
    assert set(done.lines) <= {"cleaned up 1", "cleaned up 2"}
    assert done.lines


INTERRUPTED = """
import os


async def main(ep):
    await ep.attach()
    print("ready", os.getpid())
    while ep.rank == 0:
        sum(range(100))
    await ep.block_until(lambda: False, what="a miracle", ranks=[0])
"""


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_is_interrupted(shell, number, status):
    process = shell.begin(
        sys.executable, "-m", "conduit", "run", shell.file(INTERRUPTED), "--conduit", MPI, "--ranks", 3
    )
    for _ in range(3):
        assert process.stdout.readline().startswith("ready")
    began = time.time()
    process.send_signal(number)
    done = shell.end(process)
    assert done.ended - began < SOON_S
    assert done.status == status
    assert done.err.count("interrupted") == 1
    assert "interrupted: where the ranks were" in done.err
    assert "in main: waits for a miracle, which rank 0 must bring about" in done.err
    assert "it polls and has handled all that came" not in done.err  # of a rank that computes
    assert done.err.endswith(
        "the loop at program.py:8 has no `await`, and without one no handler runs: write `await ep.poll()` in it, or "
        "`await ep.block_until(predicate)` in its place\n"
    )
    assert "Traceback" not in done.err


COMES_LATE = """
import os
import time

import conduit


async def main(ep):
    await ep.attach()


if os.environ.get("PMI_RANK", os.environ.get("PMIX_RANK")) == "1":
    print("late", os.getpid(), flush=True)
    time.sleep(600)
print("first", os.getpid(), flush=True)
if __name__ == "__main__":
    conduit.run(main, conduit="mpi:library=mpi4py")
"""


def caught(number, which):
    """Say whether a process has a handler of its own for a signal."""
    with open(f"/proc/{number}/status") as status:
        (mask,) = (line.split()[1] for line in status if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (which - 1) & 1)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of handlers")
def test_ctrl_c_while_a_process_waits_in_mpi_s_begin_ends_it(shell):
    """MPI's own call would wait for ever for the process that has left."""
    before = set(SHARED.glob("*"))
    process = shell.launch(2, shell.file(COMES_LATE))
    numbers = dict(process.stdout.readline().split() for _ in range(2))
    until = time.time() + 30
    while caught(int(numbers["first"]), signal.SIGINT):
        assert time.time() < until
        time.sleep(0.05)
    for number in numbers.values():
        os.kill(int(number), signal.SIGINT)
    done = shell.end(process)
    for made in ("ucx_shm_posix_*", "mpich_shm_*"):  # by MPI, which was broken off before it could
        for left in set(SHARED.glob(made)) - before:
            left.unlink(missing_ok=True)
    assert done.status != 0
    assert done.ended < until


PRESSED_LATE = """
import atexit
import signal


def press():
    signal.signal(signal.SIGALRM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)


async def main(ep):
    await ep.attach()
    if ep.rank == 1:
        atexit.register(press)  # the last to be registered is called first
        raise LookupError("lost")
"""


@pytest.mark.parametrize("how", ["command", "launcher"])
def test_ctrl_c_in_a_process_that_ends_a_job_changes_nothing(shell, how):
    words = ["-m", "conduit", "run", shell.file(PRESSED_LATE), "--conduit", MPI]
    process = shell.launch(2, *words) if how == "launcher" else shell.begin(sys.executable, *words, "--ranks", 2)
    done = shell.end(process)
    assert done.status == 1
    assert "LookupError: lost" in done.err
    assert "atexit" not in done.err
    assert "KeyboardInterrupt" not in done.err


@pytest.mark.parametrize("how", ["command", "script"])
def test_under_a_launcher_rank_0_tells_alone_where_all_were(shell, how):
    path = shell.file(INTERRUPTED + SCRIPT)
    words = ["-m", "conduit", "run", path, "--conduit", MPI] if how == "command" else [path]
    process = shell.launch(3, *words)
    for _ in range(3):
        assert process.stdout.readline().startswith("ready")
    process.send_signal(signal.SIGINT)
    done = shell.end(process)
    assert done.status == 130
    assert done.err.count("interrupted: where the ranks were") == 1
    # The others may not have come to their wait yet, and then are told together with it.
    assert re.search(r"^ranks? 0\b.*: ran ", done.err, re.M)
    assert "did not say" not in done.err
    assert done.err.count("Traceback") == done.err.count("KeyboardInterrupt") == (how == "script")


@pytest.mark.parametrize(
    ("how", "computing"),
    [
        pytest.param("command", False, marks=pytest.mark.every),
        ("command", True),
        ("launcher", False),
        pytest.param("launcher", True, marks=pytest.mark.every),
    ],
)
def test_where_one_rank_is_interrupted_the_others_say_where_they_are(shell, computing, how):
    source = INTERRUPTED.replace("os.getpid())", "os.getpid(), ep.rank)")
    if not computing:
        source = source.replace("while ep.rank == 0", "while False")
    words = ["-m", "conduit", "run", shell.file(source), "--conduit", MPI]
    process = shell.launch(3, *words) if how == "launcher" else shell.begin(sys.executable, *words, "--ranks", 3)
    numbers = {int(rank): int(number) for _, number, rank in (process.stdout.readline().split() for _ in range(3))}
    os.kill(numbers[2], signal.SIGINT)
    done = shell.end(process)
    assert done.status == 130
    assert done.err.count("interrupted: where the ranks were") == 1
    assert "did not say" not in done.err
    # Who is interrupted may not be in its wait yet, and then is told apart.
    others = r"(ranks 1-2, each|rank 1)" if computing else r"ranks 0-[12], each"
    waits = r"program\.py:10 in main: waits for a miracle, which rank 0 must bring about, since "
    assert re.search(rf"^{others}: \S*{waits}", done.err, re.M)
    assert computing == bool(re.search(r"^rank 0: \S*program\.py:[89] in main: is in code of its own$", done.err, re.M))


def test_a_rank_that_ends_the_job_with_the_status_of_ctrl_c_is_no_ctrl_c(run_program):
    done = run_program(
        """
async def main(ep):
    await ep.attach()
    if ep.rank == 1:
        ep.exit(130)
    await ep.block_until(lambda: False)
""",
        ranks=2,
    )
    assert done.status == 130
    assert "where the ranks were" not in done.err


def test_a_rank_is_killed_from_outside(shell):
    process = shell.begin(
        sys.executable, "-m", "conduit", "run", shell.file(INTERRUPTED), "--conduit", MPI, "--ranks", 3
    )
    numbers = [int(process.stdout.readline().split()[1]) for _ in range(3)]
    began = time.time()
    os.kill(numbers[1], signal.SIGKILL)
    done = shell.end(process)
    assert done.ended - began < SOON_S
    assert done.status != 0


def test_the_launcher_is_killed(shell):
    process = shell.begin(
        sys.executable, "-m", "conduit", "run", shell.file(INTERRUPTED), "--conduit", MPI, "--ranks", 3
    )
    number = int(process.stdout.readline().split()[1])
    for _ in range(2):
        process.stdout.readline()
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        (launcher,) = children.read().split()
    assert int(launcher) != number
    os.kill(int(launcher), signal.SIGKILL)
    assert shell.end(process).status == 128 + signal.SIGKILL


LATE = """
import time

from conduit.launch.errors import watches

from conduit.launch.processes import watch

watch.HEARD_S = {patience}


async def main(ep):
    await ep.attach()
    if ep.rank == 0:
        (own,) = watches.WATCHES
        while not own.{heard}:
            pass
    raise LookupError("lost")
"""


@pytest.mark.parametrize(("patience", "heard"), [(60, "end"), (0, "_shown")])
def test_under_a_launcher_the_same_error_is_shown_once_by_whom_the_other_one_comes_to(shell, patience, heard):
    """The one with the error waits until the other one has said something; what it shows without is not shown again."""
    begun = time.monotonic()
    done = shell.mpiexec(2, shell.file(LATE.format(patience=patience, heard=heard) + SCRIPT))
    assert done.status == 1
    assert done.err.count("Traceback") == done.err.count("LookupError: lost") == 1
    assert f"raised by rank {1 if heard == '_shown' else 0} at " in done.err
    assert time.monotonic() - begun < 50


def test_under_a_launcher_nobody_waits_for_those_who_have_left(shell):
    waits = "    await ep.block_until(lambda: ep.rank == 0)\n    raise"
    source = LATE.replace("if ep.rank == 0", "if False").replace("    raise", waits)
    begun = time.monotonic()
    done = shell.mpiexec(3, shell.file(source.format(patience=60, heard="end") + SCRIPT))
    assert done.status == 1
    assert "LookupError: lost\nraised by rank 0 at " in done.err
    assert time.monotonic() - begun < 50
