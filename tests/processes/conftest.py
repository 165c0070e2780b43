"""Runs programs in processes, as a shell would, and makes sure that nothing of them is left."""

import fcntl
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import attrs
import pytest

MPI = "mpi:library=mpi4py"
PATIENCE_S = 180  # for all that a busy machine needs
SHARED_MEMORY = Path("/dev/shm")
SHARE = 3  # of a test with cases that start processes, for seconds each, the usual run has one in so many
_cases = Counter()


def pytest_itemcollected(item):
    """Leave the other cases to who asks for them: `pytest tests/processes -m every`."""
    if hasattr(item, "callspec") and "alone" in item.fixturenames and item.get_closest_marker("every") is None:
        name = item.nodeid.partition("[")[0]
        if _cases[name] % SHARE:
            item.add_marker("every")
        _cases[name] += 1


@attrs.frozen
class Done:
    """What a command has left behind."""

    status: int
    out: str
    err: str
    ended: float

    @property
    def lines(self):
        return self.out.splitlines()


def processes_in(folder):
    """Return the ids of processes that have a name in a folder on their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if os.fsencode(folder) in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended meanwhile
    return found


def shared_files():
    return set(os.listdir(SHARED_MEMORY)) if SHARED_MEMORY.is_dir() else set()


class Shell:
    """Starts commands in a folder, and looks at what they leave."""

    def __init__(self, folder):
        self.folder = folder
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PMI")}
        self.environment = {**environment, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
        self._shared = shared_files()

    def file(self, text, name="program.py"):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def begin(self, *command):
        return subprocess.Popen(
            [str(word) for word in command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, process):
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.terminate()  # which ends all that it has started
            out, err = process.communicate()
            pytest.fail(f"{process.args} has not ended:\n{out}\n{err}")
        return Done(process.returncode, out, err, time.time())

    def conduit(self, *words):
        """Run `conduit WORDS...`."""
        return self.end(self.begin(sys.executable, "-m", "conduit", *words))

    def mpiexec(self, ranks, *words):
        """Run a script under the launcher itself."""
        return self.end(self.launch(ranks, *words))

    def launch(self, ranks, *words):
        """Begin a script under the launcher itself."""
        from conduits.mpi.real import start_command

        command, defaults = start_command(ranks, [str(word) for word in words])
        self.environment = {**defaults, **self.environment}
        return self.begin(*command)

    def leaves_nothing(self):
        """Check that there is no process and no shared memory; jobs of others come and go meanwhile."""
        limit = time.monotonic() + 5
        while (left := processes_in(str(self.folder))) and time.monotonic() < limit:
            time.sleep(0.05)
        assert not left
        while (files := shared_files() - self._shared) and time.monotonic() < limit:
            time.sleep(0.05)
        assert not files


@pytest.fixture
def alone(tmp_path_factory, worker_id):
    """Keep the other workers of this run from starting processes at the same time: their ranks poll."""
    if worker_id == "master":
        yield
        return
    with open(tmp_path_factory.getbasetemp().parent / "processes.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture
def shell(tmp_path, alone):
    """Run commands in a folder of the test's own."""
    pytest.importorskip("mpi4py", reason="ranks that are processes need mpi4py here")
    found = Shell(tmp_path)
    yield found
    found.leaves_nothing()


@pytest.fixture
def run_program(shell):
    """Run a program on so many processes by `conduit run`."""

    def run(text, *words, ranks=4, options=()):
        return shell.conduit("run", shell.file(text), "--conduit", MPI, "--ranks", ranks, *options, "--", *words)

    return run
