"""The rings of a host alone: how a library whose network works otherwise sends between the ranks of one host."""

from __future__ import annotations

from conduits.mpi.engine.device import Matching
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingCosts, RingDevice
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.rings.writer import Writer


class HostRings(RingDevice):
    """How messages between ranks of one host travel: rings and buffers in the memory that they share.

    Args:
        engine: the rank's.
        layout: sizes.
        costs: what the protocol takes.
        memory: what copies on the host pass through.
        shared: the regions on the host.
    """

    def __init__(
        self, engine: Matching, layout: RingLayout, costs: RingCosts, memory: HostMemory, shared: SharedRegions
    ) -> None:
        super().__init__(engine, layout, costs, memory)
        self.miss_ps = 0  # polls are the other device's
        self._shared = shared
        shared.join(engine.rank, self)

    def connect(self, peer: int) -> Writer:
        """Return how this rank stores for `peer`."""
        return self._shared.writer(self.engine.rank, peer)
