"""The conduit proper: options, limits, placement; moves and messages are those of `conduits.globalmem`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from conduit.contract import Constant, Costs, JobSetup, Limits, RawTable
from conduit.options import option
from conduit.simnet import HostModel, OneSidedPort, SimulatedConduit, SimulatedPort, Unit
from conduits.globalmem.mover import Mover
from conduits.globalmem.queues import QueueTransport
from conduits.globalmem.unit import MovingUnit
from conduits.origin import constants as c
from conduits.origin.driver import loads_and_stores
from conduits.origin.machine import (
    NODES,
    OriginMachine,
    build,
    calls,
    host_model,
    library_costs,
    nodes,
    queue_costs,
    timing,
)
from conduits.origin.raw import tables

_MAX_LONG = (1 << 31) - 1


@attrs.frozen(kw_only=True)
class OriginOptions(OriginMachine):
    """The options of `origin`."""

    slots: int = option(
        c.whole(c.SLOTS),
        "outstanding requests of a rank to each other rank",
        validator=[attrs.validators.ge(1), attrs.validators.le(1 << 14)],
        conformance=(c.whole(c.SLOTS), 1),
    )


class Origin(SimulatedConduit):
    """An SGI Origin 2000; see README.md beside this file."""

    name: ClassVar[str] = "origin"
    summary: ClassVar[str] = "SGI Origin 2000: native puts, gets and atomics by loads and stores of coherent memory"
    Options: ClassVar[type] = OriginOptions
    constants: ClassVar[tuple[Constant, ...]] = tuple(c.CONSTANTS)

    def __init__(self, options: OriginOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        self.fabric = build(self.kernel, options)
        node_of_host = nodes(self.kernel, 1 + max(setup.hosts), options)
        self._nodes = [node_of_host[host] for host in setup.hosts]
        self._movers: list[Mover] = []
        self._transports: list[QueueTransport] = []

    @classmethod
    def limits(cls, options: OriginOptions) -> Limits:
        """Return the limits; long payloads go straight to their place."""
        return Limits(c.whole(c.MAX_ARGS), c.whole(c.MAX_MEDIUM), _MAX_LONG, _MAX_LONG)

    @classmethod
    def max_ranks_per_host(cls, options: OriginOptions) -> int | None:
        """Return the processors of a node."""
        return c.whole(c.PER_NODE)

    @classmethod
    def max_hosts(cls, options: OriginOptions) -> int | None:
        """Return the nodes of the machine."""
        return NODES

    @classmethod
    def costs(cls, options: OriginOptions) -> Costs:
        """Return what messages between neighbours cost."""
        return timing(1).costs(host_model())

    @classmethod
    def library_costs(cls, options: OriginOptions) -> Mapping[str, float]:
        """Return what calls of the vendor's libraries cost beside the machine."""
        return library_costs()

    @classmethod
    def raw_tables(cls, options: OriginOptions) -> Sequence[RawTable]:
        """Return what the native operations take on an idle machine."""
        return tables(options)

    def make_host(self) -> HostModel:
        """Return the costs of a node."""
        return host_model()

    def make_transport(self, port: SimulatedPort) -> QueueTransport:
        """Return the queues as `port.rank` sees them."""
        options: OriginOptions = self.options
        mover = loads_and_stores(port.cpu, self._nodes[port.rank], self.fabric)
        transport = QueueTransport(
            port, mover, queue_costs(), options.slots, c.whole(c.MAX_MEDIUM), options.piece,
            self._transports.__getitem__, self._nodes.__getitem__,
        )  # fmt: skip
        self._movers.append(mover)
        self._transports.append(transport)
        return transport

    def make_unit(self, port: OneSidedPort) -> Unit:
        """Return the native operations of `port.rank`."""
        ports: Any = self.ports
        mover, piece = self._movers[port.rank], self.options.piece
        return MovingUnit(port, mover, calls(), piece, ports.__getitem__, self._nodes.__getitem__)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what memories have served, by host."""
        places = dict(zip(self.setup.hosts, self._nodes, strict=True))
        return {host: self.fabric.statistics(node) for host, node in sorted(places.items())}

    def start_ticks(self) -> int:
        """Return the cost of making the queues."""
        return c.ps(c.START)

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(c.EXCHANGE_ROUND)
