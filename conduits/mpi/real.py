"""Real MPI, through mpi4py: who was started together, by whom, and where.

mpi4py.MPI is imported in `join` alone, since that import is MPI_Init.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any, NoReturn

from conduit.errors import BadRequest, ConduitError
from conduits.mpi.gather import all_gather
from conduits.mpi.interface import PlainComm, PlainRequest

_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")  # MPICH and its kin, Open MPI
_RANKS = ("PMI_RANK", "PMIX_RANK")
_DEFAULTS = {
    "UCX_LOG_LEVEL": "error",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
_ELSEWHERE = (
    "HYDRA_HOST_FILE",
    "SLURM_JOB_ID",
    "PBS_NODEFILE",
    "LSB_HOSTS",
    "PE_HOSTFILE",
    "PRTE_MCA_prte_default_hostfile",
)
"""Where one of them is set, the launcher may start processes on other machines too."""
_PROCESS_BYTES = 32 << 20  # what a process holds for itself at the least, with Python, numpy and MPI: it was 40 MB
_NAP_S = 1e-6  # asked for; the system makes some 65 us of it
_AT_ONCE_NS = 1_000_000
_BESIDE = 1 << 10  # tag of what is sent beside gathers, which use those below


_ABORTED = re.compile(
    rb"Abort\(-?\d+\) on node \d+ \(rank \d+ in comm \d+\): "  # MPICH and its kin
    rb"|MPI_ABORT was invoked on rank \d+ in communicator "  # Open MPI
)


def tells_end(line: bytes) -> bool:
    """Return whether a line is what MPI says of a rank that aborts the job."""
    return _ABORTED.match(line) is not None


def require() -> None:
    """Raise ImportError where mpi4py is not installed; imports nothing."""
    if find_spec("mpi4py") is None:
        raise ImportError(
            "mpi4py is not installed; pip install 'conduit-am[mpich]' brings it with a whole MPI, 'conduit-am[mpi]' "
            "for an MPI that is there; in a clone of the project '.[mpich]' and '.[mpi]'"
        )


def announced() -> int | None:
    """Return how many processes a launcher announces, 0 where it does not tell, None where there is none."""
    for name in _SIZES:
        size = os.environ.get(name, "")
        if size.isdigit():
            return int(size)
    return 0 if any(name in os.environ for name in _RANKS) else None


def start_command(ranks: int, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command that starts `program` on `ranks` ranks, and the environment that it wants.

    `-m mpi4py` makes an uncaught exception the end of all processes.

    Raises:
        BadRequest: there is no launcher, or this machine cannot hold so many processes.
    """
    _check_room(ranks)
    # The one of this environment first: another MPI's would start a job of one rank for each process.
    mpiexec = shutil.which("mpiexec", path=sysconfig.get_path("scripts")) or shutil.which("mpiexec")
    if mpiexec is None:
        raise BadRequest(
            "this machine has no mpiexec, beside Python or on the PATH; pip install 'conduit-am[mpich]', in a clone of "
            "the project pip install '.[mpich]', or install an MPI"
        )
    return [mpiexec, "-n", str(ranks), sys.executable, "-m", "mpi4py", *program], dict(_DEFAULTS)


def _check_room(ranks: int) -> None:
    """Refuse what would stop this machine: more processes than its memory holds, and no other machines to take them."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    most = memory // _PROCESS_BYTES
    if ranks > most and not any(name in os.environ for name in _ELSEWHERE):
        raise BadRequest(
            f"ranks={ranks} are processes of at least {_PROCESS_BYTES >> 20} MB each on this machine, whose "
            f"{memory / 1e9:.0f} GB of memory hold {most}; ask for fewer, start them on several machines by a "
            "launcher, or choose a simulated network, whose ranks are tasks"
        )


class MpiProcesses:
    """The processes of this MPI job; see `conduit.contract.Processes`.

    Attributes:
        mpi: the module mpi4py.MPI.
        comm: all processes; what uses it duplicates it.
        rank: this process.
        size: how many there are.
        hosts: the host of each.
        on_host: those of this host.
        windows: on the memory of this host's processes, to be given back as the process ends.
        at_end: to be called once, in all processes, when the job that they run has ended well.
    """

    def __init__(self) -> None:
        from mpi4py import MPI

        self.mpi: Any = MPI
        self.comm: Any = MPI.COMM_WORLD.Dup()
        self.rank: int = self.comm.Get_rank()
        self.size: int = self.comm.Get_size()
        expected = announced()
        if expected and expected != self.size:
            raise ConduitError(
                f"the launcher has announced {expected} processes, but this process's MPI knows {self.size}: the "
                "launcher belongs to another MPI than mpi4py does; use the mpiexec of the latter"
            )
        self.on_host: Any = self.comm.Split_type(MPI.COMM_TYPE_SHARED)
        self._gathering: Any = self.comm.Dup()
        self._watch: Any = self.comm.Dup()
        self._told: list[Any] = []
        lowest = bytearray(self.rank.to_bytes(4, "little"))
        self.on_host.Bcast(lowest, 0)
        leaders = [int.from_bytes(each, "little") for each in self.gather(bytes(lowest))]
        numbers = {leader: number for number, leader in enumerate(sorted(set(leaders)))}
        self.hosts: tuple[int, ...] = tuple(numbers[leader] for leader in leaders)
        self.windows: list[Any] = []
        self.at_end: list[Callable[[], object]] = []
        _unlink_shared_memory()
        atexit.register(self._give_back)  # before the watch does, which is to be over by then

    def _give_back(self) -> None:
        """Give the windows back, without which some MPIs cannot end; like that end, it waits for all of this host."""
        if self.windows and not self.mpi.Is_finalized():  # by the program
            self._wait(self.on_host.Ibarrier())
            for window in self.windows:
                window.Unlock_all()
                window.Free()

    def gather(self, data: bytes) -> list[bytes]:
        """Give `data` to all and return theirs; waits."""
        comm: PlainComm = self._gathering
        steps = all_gather(comm, data)
        while True:
            try:
                next(steps)
            except StopIteration as over:
                gathered: list[bytes] = over.value
                return gathered
            time.sleep(_NAP_S)  # noqa: TID251

    def send(self, dest: int, data: bytes) -> None:
        """Send `data` to another process's `receive`; waits until MPI has taken it."""
        self._wait(self._gathering.Isend(data, dest, _BESIDE))

    def receive(self, source: int, nbytes: int) -> bytes:
        """Return the next `nbytes` bytes that another process has sent to this one; waits."""
        data = bytearray(nbytes)
        self._wait(self._gathering.Irecv(data, source, _BESIDE))
        return bytes(data)

    @staticmethod
    def _wait(request: PlainRequest) -> None:
        """Wait for a request: politely, but at first at once, for who measures how long that takes."""
        patient = time.perf_counter_ns() + _AT_ONCE_NS  # noqa: TID251
        while not request.Test():
            if time.perf_counter_ns() < patient:  # noqa: TID251
                os.sched_yield()
            else:
                time.sleep(_NAP_S)  # noqa: TID251

    def abort(self, status: int) -> NoReturn:
        """End all processes at once."""
        self.mpi.COMM_WORLD.Abort(status)
        raise SystemExit(status)  # where MPI takes its time

    def tell(self, dest: int, data: bytes) -> None:
        """Send `data` to another process's `heard`; from any thread."""
        self._told = [each for each in self._told if not each.Test()]
        self._told.append(self._watch.Isend(data, dest))

    def heard(self) -> list[tuple[int, bytes]]:
        """Return who has told what since the last call; from any thread."""
        came: list[tuple[int, bytes]] = []
        status = self.mpi.Status()
        while (message := self._watch.Improbe(status=status)) is not None:
            data = bytearray(status.Get_count(self.mpi.BYTE))
            source = status.Get_source()
            message.Recv(data)
            came.append((source, bytes(data)))
        return came

    # -- conduits.mpi.interface.PlainLibrary --------------------------------------------------------------

    @property
    def pushes(self) -> int:
        """How often in a row to ask after a large payload: some microseconds in all."""
        return 32

    @property
    def ANY_SOURCE(self) -> int:
        """Any rank, as a source."""
        source: int = self.mpi.ANY_SOURCE
        return source

    def startall(self, requests: Sequence[PlainRequest]) -> None:
        """Begin several persistent requests."""
        self.mpi.Prequest.Startall(list(requests))


def _unlink_shared_memory() -> None:
    """Unlink the files of MPICH's shared memory, which every process has mapped by now, so that no end leaves them."""
    try:
        with open("/proc/self/maps") as maps:
            files = {line.split(maxsplit=5)[-1].strip() for line in maps if "/dev/shm/mpich_shm_" in line}
    except OSError:
        return  # no Linux
    for file in files:
        with suppress(OSError):  # another process of this host was faster
            os.unlink(file)


def is_begun() -> bool:
    """Return whether mpi4py.MPI is there, by this module or by the program: MPI_Init is over."""
    return "mpi4py.MPI" in sys.modules


@cache
def join() -> MpiProcesses:
    """Initialise MPI, once, and return the world.

    Raises:
        ConduitError: launcher and MPI do not belong together.
    """
    return MpiProcesses()
