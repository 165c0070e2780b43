"""The conduit proper: options, limits, placement; moves and messages are those of `conduits.globalmem`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from conduit.contract import Constant, Costs, JobSetup, Limits, RawTable
from conduit.options import option
from conduit.simnet import HardwareBarrier, HostModel, OneSidedPort, SimulatedConduit, SimulatedPort, Unit
from conduits.globalmem.mover import Mover
from conduits.globalmem.queues import QueueTransport
from conduits.globalmem.unit import MovingUnit
from conduits.t3e import constants as c
from conduits.t3e.barrier import BarrierTree
from conduits.t3e.driver import e_registers
from conduits.t3e.machine import NODES, T3eMachine, build, calls, host_model, library_costs, queue_costs, timing
from conduits.t3e.raw import tables

_MAX_LONG = (1 << 31) - 1


@attrs.frozen(kw_only=True)
class T3eOptions(T3eMachine):
    """The options of `t3e`."""

    slots: int = option(
        c.whole(c.SLOTS),
        "outstanding requests of a rank to each other rank",
        validator=[attrs.validators.ge(1), attrs.validators.le(1 << 14)],
        conformance=(c.whole(c.SLOTS), 1),
    )


class T3e(SimulatedConduit):
    """A Cray T3E-600; see README.md beside this file."""

    name: ClassVar[str] = "t3e"
    summary: ClassVar[str] = "Cray T3E-600: native puts, gets and atomics through E-registers on a 3D torus"
    Options: ClassVar[type] = T3eOptions
    constants: ClassVar[tuple[Constant, ...]] = tuple(c.CONSTANTS)

    def __init__(self, options: T3eOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        self.fabric = build(self.kernel, options)
        self._movers: list[Mover] = []
        self._transports: list[QueueTransport] = []

    @classmethod
    def limits(cls, options: T3eOptions) -> Limits:
        """Return the limits; long payloads go straight to their place."""
        return Limits(c.whole(c.MAX_ARGS), c.whole(c.MAX_MEDIUM), _MAX_LONG, _MAX_LONG)

    @classmethod
    def max_ranks_per_host(cls, options: T3eOptions) -> int | None:
        """Return the processors of a node."""
        return 1

    @classmethod
    def max_hosts(cls, options: T3eOptions) -> int | None:
        """Return the nodes of the machine."""
        return NODES

    @classmethod
    def costs(cls, options: T3eOptions) -> Costs:
        """Return what messages between neighbours cost."""
        return timing(1).costs(host_model())

    @classmethod
    def library_costs(cls, options: T3eOptions) -> Mapping[str, float]:
        """Return what calls of the vendor's libraries cost beside the machine."""
        return library_costs()

    @classmethod
    def raw_tables(cls, options: T3eOptions) -> Sequence[RawTable]:
        """Return what the native operations take on an idle machine."""
        return tables(options)

    def make_host(self) -> HostModel:
        """Return the costs of a node."""
        return host_model()

    def make_transport(self, port: SimulatedPort) -> QueueTransport:
        """Return the queues as `port.rank` sees them."""
        options: T3eOptions = self.options
        node = self.setup.hosts[port.rank]
        mover = e_registers(port.cpu, node, self.fabric, weak=options.order == "weak")
        transport = QueueTransport(
            port, mover, queue_costs(), options.slots, c.whole(c.MAX_MEDIUM), options.piece,
            self._transports.__getitem__, self.setup.hosts.__getitem__,
        )  # fmt: skip
        self._movers.append(mover)
        self._transports.append(transport)
        return transport

    def make_unit(self, port: OneSidedPort) -> Unit:
        """Return the native operations of `port.rank`."""
        ports: Any = self.ports
        nodes = self.setup.hosts.__getitem__
        return MovingUnit(port, self._movers[port.rank], calls(), self.options.piece, ports.__getitem__, nodes)

    def make_barrier(self) -> HardwareBarrier:
        """Return the barrier units."""
        return BarrierTree(self.fabric.torus, self.setup.hosts)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what memories have served, by host."""
        return {host: self.fabric.statistics(host) for host in sorted(set(self.setup.hosts))}

    def start_ticks(self) -> int:
        """Return the cost of making the queues."""
        return c.ps(c.START)

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(c.EXCHANGE_ROUND)
