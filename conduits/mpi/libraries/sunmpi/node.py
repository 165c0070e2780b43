"""What the ranks of a host do with one another: messages through rings, and the exchange in shared buffers."""

from __future__ import annotations

from conduits.mpi.engine.device import LAST, MORE, NOTHING, Matching
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingCosts
from conduits.mpi.libraries.rings.host import HostRings
from conduits.mpi.libraries.rings.pair import RingPair
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.sunmpi.exchange import ExchangeCosts, LocalExchange
from conduits.mpi.libraries.sunmpi.shared_buffers import SharedBuffers


class SunmpiNode(HostRings):
    """One rank's end of both.

    Args:
        engine: the rank's.
        layout: of the rings.
        costs: what the protocol of messages takes.
        memory: what copies on the host pass through.
        shared: the regions of the rings on the host.
        buffers: those that one rank writes and others read.
        exchange_costs: what their use takes.

    Attributes:
        exchange: the rank's use of the buffers.
    """

    exchange: LocalExchange

    def __init__(
        self, engine: Matching, layout: RingLayout, costs: RingCosts, memory: HostMemory, shared: SharedRegions,
        buffers: SharedBuffers, exchange_costs: ExchangeCosts,
    ) -> None:  # fmt: skip
        super().__init__(engine, layout, costs, memory, shared)
        self.exchange = LocalExchange(engine, exchange_costs, memory, buffers, self.ready)

    def progress(self, most: int = 1) -> int:
        """Do one thing for what is next: a pair of ranks, or a part of the exchange."""
        ready = self.ready
        if not ready:
            return NOTHING
        item = next(iter(ready))
        if isinstance(item, RingPair):
            return super().progress(most)
        del ready[item]
        return MORE if self.exchange.go_on(item) or ready else LAST

    def quiet(self) -> bool:
        """Return whether nothing waits to be sent or to be written."""
        return super().quiet() and self.exchange.quiet()

    def slots_in_use(self) -> list[str]:
        """Describe what waits for room."""
        return [*super().slots_in_use(), *self.exchange.slots_in_use()]

    def statistics(self) -> dict[str, int]:
        """Return how many messages went in which way, and what was exchanged."""
        return {**super().statistics(), **self.exchange.statistics()}
