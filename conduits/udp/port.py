"""The conduit proper: its options, limits and placement; the messages are `protocol`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from conduit.contract import Constant, Costs, JobSetup, Limits, RawTable
from conduit.options import MOST_OPTION_SECONDS, kept_in, option
from conduit.sim.units import ps
from conduit.simnet import HostModel, SimulatedConduit, SimulatedPort
from conduits.udp import constants as c
from conduits.udp import raw
from conduits.udp.costs import off_host
from conduits.udp.machine import MAX_RANKS, UdpMachine, build, host_model
from conduits.udp.protocol import UdpConfig, UdpTransport
from conduits.udp.protocol.parts import PART
from conduits.udp.wire import MAX_WINDOW

_MAX_LONG = (1 << 31) - 1
_ge, _le = attrs.validators.ge, attrs.validators.le


@attrs.frozen(kw_only=True)
class UdpOptions(UdpMachine):
    """The options of `udp`: those of the machine, and of what the conduit does on it."""

    window: int = option(
        c.whole(c.WINDOW),
        "datagrams without acknowledgement to one rank, of requests and of replies each",
        validator=[_ge(1), _le(MAX_WINDOW)],
        conformance=(c.whole(c.WINDOW), 1),
    )
    slots: int = option(
        c.whole(c.SLOTS),
        "outstanding requests of a rank to each other rank",
        validator=[_ge(1), _le(1 << 16)],
        conformance=(c.whole(c.SLOTS), 1),
    )
    rto: float = option(
        c.ps(c.RTO) / 1e12,
        "after which a datagram is sent again, twice as long each time, s",
        validator=[_ge(1e-6), _le(MOST_OPTION_SECONDS)],
    )
    delay: float = option(
        c.ps(c.DELAY) / 1e12,
        "that an acknowledgement waits for a datagram to ride on, s",
        validator=[_ge(0), _le(MOST_OPTION_SECONDS), kept_in("picoseconds", 12)],
        conformance=(c.ps(c.DELAY) / 1e12, 0.0),
    )
    tries: int = option(
        c.whole(c.TRIES),
        "how often a datagram is sent before its receiver counts as unreachable",
        validator=[_ge(1), _le(64)],
    )
    max_medium: int = option(
        c.whole(c.MAX_MEDIUM), "largest medium payload, bytes", validator=[_ge(512), _le(1 << 20)],
        conformance=(c.whole(c.MAX_MEDIUM), 512),
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        """Refuse acknowledgements that always come too late."""
        if self.delay >= self.rto:
            raise ValueError(
                f"delay={self.delay} is not less than rto={self.rto}, so that all would be sent again before it is "
                "acknowledged; lower delay or raise rto"
            )


class Udp(SimulatedConduit):
    """Active Messages over UDP, on a simulated cluster of PCs; see README.md beside this file."""

    name: ClassVar[str] = "udp"
    summary: ClassVar[str] = "UDP on switched Ethernet: frames that are lost, doubled, reordered; sent again by timers"
    Options: ClassVar[type] = UdpOptions
    constants: ClassVar[tuple[Constant, ...]] = tuple(c.CONSTANTS)
    auxiliary: ClassVar[int] = 0  # large medium messages go as large long ones do

    def __init__(self, options: UdpOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        self.cluster = build(self.kernel, setup.hosts, options)
        self._transports: list[UdpTransport] = []
        self._config = UdpConfig(
            cluster=self.cluster,
            transports=self._transports.__getitem__,
            slots=options.slots,
            window=options.window,
            rto=ps(options.rto),
            delay=ps(options.delay),
            tries=options.tries,
        )

    @classmethod
    def limits(cls, options: UdpOptions) -> Limits:
        """Return the limits; long payloads go in as many datagrams as they need."""
        return Limits(c.whole(c.MAX_ARGS), options.max_medium, _MAX_LONG, _MAX_LONG)

    @classmethod
    def max_ranks_per_host(cls, options: UdpOptions) -> int | None:
        """Return the processors of a host."""
        return MAX_RANKS

    @classmethod
    def thresholds(cls, options: UdpOptions) -> tuple[int, ...]:
        """Return the sizes at which a message without arguments takes one datagram more, or more than a window."""
        first = PART - 16
        return (first, first + PART, first + (options.window - 1) * PART)

    @classmethod
    def costs(cls, options: UdpOptions) -> Costs:
        """Return the sums of docs/models/udp.md, without losses; of hosts apart not where all would be sent twice."""
        host = host_model()
        return Costs(
            off_host=off_host(options),
            on_host=host.message_costs(c.ps(c.POLL)),
            copy_byte=1 / host.copy_bytes_per_s,
        )

    @classmethod
    def raw_tables(cls, options: UdpOptions) -> Sequence[RawTable]:
        """Return the benchmarks of bare sockets on this machine."""
        return raw.tables(options)

    def make_host(self) -> HostModel:
        """Return the costs of a host."""
        return host_model()

    def make_transport(self, port: SimulatedPort) -> UdpTransport:
        """Return the network as `port.rank` sees it, through a socket of its own."""
        transport = UdpTransport(port, self._config)
        self._transports.append(transport)
        return transport

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links and the switch have counted, by host."""
        return self.cluster.statistics()

    def start_ticks(self) -> int:
        """Return the cost of opening the socket."""
        return c.ps(c.START)

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(c.EXCHANGE_ROUND)
