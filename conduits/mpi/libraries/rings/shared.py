"""The regions that the ranks of one host have in the memory that they share."""

from __future__ import annotations

from typing import Protocol

from conduit.sim import Kernel, Memory, Store
from conduit.simnet import HostModel
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.rings.writer import SharedWriter


class RingReader(Protocol):
    """Who looks at regions: a `conduits.mpi.libraries.rings.device.RingDevice`."""

    def landed(self, peer: int, region: Store) -> None:
        """Take note that something has landed in the region of `peer`."""


class SharedRegions:
    """What the ranks of one host write for one another.

    Args:
        kernel: the job's time.
        memory: what copies on the host pass through.
        host: the costs of a processor.
        layout: of a region.
    """

    def __init__(self, kernel: Kernel, memory: HostMemory, host: HostModel, layout: RingLayout) -> None:
        self._kernel = kernel
        self._memory = memory
        self._host = host
        self._layout = layout
        self._readers: dict[int, RingReader] = {}

    def join(self, rank: int, reader: RingReader) -> None:
        """Let a rank of the host take part."""
        self._readers[rank] = reader

    def writer(self, rank: int, peer: int) -> SharedWriter:
        """Return how `rank` stores into its region at `peer`, which is made now."""
        region = Memory(self._layout.nbytes, self._layout.entry)
        reader = self._readers[peer]
        return SharedWriter(self._kernel, region, self._memory, self._host, lambda: reader.landed(rank, region))
