"""What a simulated MPI library is to the conduit and to jobs: its options, its machine, and a device for each rank."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from conduit.contract import Constant, Costs, JobSetup
from conduit.sim import Kernel
from conduit.simnet import HostModel
from conduits.mpi.engine.device import Device, Matching
from conduits.mpi.engine.software import Software
from conduits.mpi.libraries.costs import PairTimes, message_costs
from conduits.mpi.libraries.layer import LayerCosts


class Installation(ABC):
    """One MPI library on the cluster of one job.

    Args:
        kernel: the job's time.
        setup: the job.
        options: an instance of `Options`.

    Attributes:
        host: what a host's copies and computations cost.
    """

    name: ClassVar[str]
    """As in `library=`."""
    summary: ClassVar[str]
    """One line for `conduit list`."""
    Options: ClassVar[type]
    """An attrs class: the machine's options and the library's own."""
    constants: ClassVar[tuple[Constant, ...]] = ()
    collectives: ClassVar[str] = "flat"
    """The usual algorithms of its collectives: one of `STYLES` of `conduits.mpi.collectives.algorithms`."""
    exchanges: ClassVar[bool] = False
    """Whether its devices have an `exchange`, which the style "exchange" needs."""

    software: ClassVar[Software]
    """What the library's calls take."""
    layer: ClassVar[LayerCosts]
    """What Active Messages take beside them."""

    host: HostModel

    def __init__(self, kernel: Kernel, setup: JobSetup, options: Any) -> None:
        self.kernel = kernel
        self.setup = setup
        self.options = options

    @abstractmethod
    def device(self, engine: Matching) -> Device:
        """Return how the messages of one rank travel."""

    @abstractmethod
    def start_ticks(self, rank: int) -> int:
        """Return what MPI_Init costs a rank, picoseconds."""

    def allgather_ticks(self, ranks: int) -> int:
        """Return what an all-gather of `ranks` ranks costs at start-up, picoseconds."""
        return 0

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return by host what its shared parts have done; asked once, at the job's end."""
        return {}

    @classmethod
    def max_ranks_per_host(cls, options: Any) -> int | None:
        """Return how many ranks one host holds, None where any number does."""
        return None

    @classmethod
    def max_hosts(cls, options: Any) -> int | None:
        """Return how many hosts the network can have, None where any number."""
        return None

    @classmethod
    @abstractmethod
    def thresholds(cls, options: Any) -> tuple[int, ...]:
        """Return the sizes of messages up to which a protocol goes, so that one byte more takes another."""

    @classmethod
    def costs(cls, options: Any) -> Costs:
        """Return what Active Messages on the library cost, as far as it says, between two ranks of a job of two."""
        off_host, on_host = cls.times(options)
        copy = 1 / cls.host_model(options).copy_bytes_per_s
        return Costs(
            off_host=None if off_host is None else message_costs(cls.software, cls.layer, off_host, copy),
            on_host=None if on_host is None else message_costs(cls.software, cls.layer, on_host, copy),
            copy_byte=copy,
        )

    @classmethod
    @abstractmethod
    def host_model(cls, options: Any) -> HostModel:
        """Return the costs of a processor."""

    @classmethod
    @abstractmethod
    def times(cls, options: Any) -> tuple[PairTimes | None, PairTimes | None]:
        """Return what messages take between hosts, and within one; None where the library does not know."""
