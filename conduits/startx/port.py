"""The conduit proper: its options, limits and placement; the messages are `protocol`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import attrs

from conduit.contract import Category, Constant, Core, Costs, JobSetup, Limits, Message, MessageCosts, RawTable
from conduit.options import option
from conduit.sim import Kernel
from conduit.sim.units import seconds
from conduit.simnet import HostModel, SharedMemoryTransport, SimulatedConduit, SimulatedPort, Transport
from conduit.simnet.waiting import Blocked
from conduits.startx import constants as c
from conduits.startx import raw, wire
from conduits.startx.driver import access_cost
from conduits.startx.hardware.niu import HEADER
from conduits.startx.hardware.pinned import REGION, UNIT
from conduits.startx.hardware.rdma import LARGEST
from conduits.startx.machine import MAX_HOSTS, StartXMachine, build, host_model, processors
from conduits.startx.protocol import Smp, StartXConfig, StartXTransport

_BUFFERS = 3  # of a rank: for requests and replies that leave, and for what comes
_MAX_LONG = (1 << 31) - 1  # assumed; the size field of the header has 32 bits (`wire`)
_ge, _le = attrs.validators.ge, attrs.validators.le


@attrs.frozen(kw_only=True)
class StartXOptions(StartXMachine):
    """The options of `startx`: those of the machine, and of what the conduit does on it."""

    slots: int = option(
        c.whole(c.SLOTS),
        "request slots of a rank, for all others together, each with room for its reply",
        validator=[_ge(1), _le(wire.MAX_SLOTS)],
        conformance=(c.whole(c.SLOTS), 1),
    )
    max_medium: int = option(c.whole(c.MAX_MEDIUM), "largest medium payload, bytes", validator=[_ge(512), _le(1 << 16)])
    crossover: int = option(
        c.whole(c.CROSSOVER),
        "between hosts, longer payloads of long messages go by RDMA, bytes",
        validator=[_ge(0), _le(1 << 16)],
        conformance=(c.whole(c.CROSSOVER), 0),
    )
    crossover_shared: int = option(
        c.whole(c.CROSSOVER_SHARED),
        "within a host, longer payloads (and all over max_medium) go straight into the segment, bytes",
        validator=_ge(0),
    )
    buffer: int = option(
        c.whole(c.BUFFER),
        "each of the three pinned buffers of a rank, bytes; longer transfers go in parts",
        validator=[_ge(64), _le(LARGEST)],
        conformance=(c.whole(c.BUFFER), 4096),
    )

    def __attrs_post_init__(self) -> None:
        """Check what depends on several options: the room that is set aside for replies exists (rule S5)."""
        largest = max(self.max_medium, self.crossover)
        packets, ranks = wire.packets(largest), processors(self.host)
        if ranks * self.slots * packets > self.high_queue:
            raise ValueError(
                f"slots={self.slots} of {ranks} ranks with replies of {largest} bytes ({packets} packets) need "
                f"{ranks * self.slots * packets} places in the receive queue of high priority, it has "
                f"high_queue={self.high_queue}; lower slots, max_medium or crossover, or raise high_queue"
            )
        if packets > self.low_queue:
            raise ValueError(
                f"a request of {largest} bytes takes {packets} packets, the transmit queue has low_queue="
                f"{self.low_queue}; lower max_medium or crossover, or raise low_queue"
            )
        if self.buffer % UNIT:
            raise ValueError(f"buffer={self.buffer} is no multiple of {UNIT}, as RDMA needs it; round it down")


def effective_crossover_shared(options: StartXOptions) -> int:
    """Return the size over which a long payload within a host cannot or must not go through a slot."""
    return min(options.crossover_shared, options.max_medium)


class StartX(SimulatedConduit):
    """GASNet's core over StarT-X network interfaces, on a simulated cluster of SMPs.

    Source: Husbands and Hoe (1998); see README.md beside this file.
    """

    name = "startx"
    summary = "StarT-X on an Arctic fat tree: packets in two priorities, RDMA by appointment, SMPs"
    Options: ClassVar[type] = StartXOptions
    constants: ClassVar[tuple[Constant, ...]] = tuple(c.CONSTANTS)

    def __init__(self, options: StartXOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        self.cluster = build(self.kernel, setup.hosts, options)
        self.config = StartXConfig(
            cluster=self.cluster,
            slots=options.slots,
            packets=wire.packets(max(options.max_medium, options.crossover)),
            crossover=options.crossover,
            buffer=options.buffer,
        )
        self._smps: dict[int, Smp] = {}

    @classmethod
    def limits(cls, options: StartXOptions) -> Limits:
        """Return the limits; long payloads go in as many parts as they need."""
        return Limits(wire.MAX_ARGS, options.max_medium, _MAX_LONG, _MAX_LONG)

    @classmethod
    def max_ranks_per_host(cls, options: StartXOptions) -> int | None:
        """Return the processors of a host, or for how many of them its pinned region has buffers."""
        return min(processors(options.host), max(1, REGION // (_BUFFERS * options.buffer)))

    @classmethod
    def max_hosts(cls, options: StartXOptions) -> int | None:
        """Return the hosts that the largest tree has."""
        return MAX_HOSTS

    @classmethod
    def thresholds(cls, options: StartXOptions) -> tuple[int, ...]:
        """Return the sizes from which payloads go by RDMA, or in one part more."""
        return (options.crossover, effective_crossover_shared(options), options.buffer)

    @classmethod
    def costs(cls, options: StartXOptions) -> Costs:
        """Return the sums of docs/models/startx.md, for neighbours."""
        host, look = host_model(options.host), c.ps(c.POLL)
        copy = 1 / host.copy_bytes_per_s
        head, full = (
            access_cost(options.access, HEADER + nbytes) for nbytes in (c.whole(c.PAYLOAD_MIN), wire.MORE_BYTES)
        )
        way = c.ps(c.NIU_OUT) + c.ps(c.STAGE) + c.ps(c.NIU_IN)
        send, receive = c.ps(c.BUILD) + head.send, head.receive + c.ps(c.DISPATCH)
        # Of a round trip: the look of the request, those in which the messages arrive, and one for more.
        start = send + way + receive + look * 3 // 2
        piece = host.copy_ticks(options.piece)  # the first into the pinned buffer, the last out of it
        off_host = MessageCosts(
            start=seconds(start),
            send=seconds(send),
            receive=seconds(receive),
            medium_byte=seconds(max(full.send, full.receive)) / wire.MORE_BYTES,
            long_start=seconds(send + way + c.ps(c.DISPATCH) + 2 * piece + look * 3 // 2),
            long_byte=1 / c.bytes_per_s(c.RDMA_RATE),
            medium_send_byte=seconds(full.send) / wire.MORE_BYTES,
            medium_receive_byte=seconds(full.receive) / wire.MORE_BYTES,
            poll=seconds(look),
        )
        return Costs(off_host=off_host, on_host=host.message_costs(look), copy_byte=copy)

    @classmethod
    def raw_tables(cls, options: StartXOptions) -> Sequence[RawTable]:
        """Return the driver's benchmarks."""
        return raw.tables(options.piece)

    @classmethod
    def raw_time(cls, options: StartXOptions, category: Category, nbytes: int, *, round_trip: bool) -> float | None:
        """Return what packets, or over the crossover RDMA, take between two hosts, in seconds."""
        by_rdma = category in (Category.LONG, Category.LONG_ASYNC) and nbytes > options.crossover
        one_way = raw.one_way(options.access, nbytes, options.piece, by_rdma=by_rdma)
        return 2 * one_way if round_trip else one_way

    def make_host(self) -> HostModel:
        """Return the costs of an SMP."""
        return host_model(self.options.host)

    def make_port(self, rank: int, core: Core) -> SimulatedPort:
        """Return a port whose long requests wait until their payload has been copied."""
        return StartXPort(self, rank, core)

    def make_transport(self, port: SimulatedPort) -> Transport:
        """Return the network as `port.rank` sees it, through the NIU of its host."""
        host = port.host
        smp = self._smps.get(host)
        if smp is None:
            smp = self._smps[host] = Smp(self.cluster, host)
        return StartXTransport(port, smp, self.config)

    def make_shared_transport(
        self, port: SimulatedPort, neighbours: dict[int, SharedMemoryTransport], size: int
    ) -> SharedMemoryTransport:
        """Return the host's memory, with a crossover of its own."""
        crossover = effective_crossover_shared(self.options)
        return SharedMemoryTransport(port, self.host_model, self.options.max_medium, neighbours, size, crossover)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links, NIUs, RDMA engines and locks have counted, by host."""
        return self.cluster.statistics()

    def start_ticks(self) -> int:
        """Return the cost of opening the NIU and pinning the buffers."""
        return c.ps(c.START)

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(c.EXCHANGE_ROUND)


class StartXPort(SimulatedPort):
    """A port whose long requests wait, polling, until their payload is in the pinned buffer."""

    __slots__ = ()

    async def request(self, dest: int, message: Message) -> None:
        """Send; see `conduit.contract.Port.request`."""
        await super().request(dest, message)
        if message.nbytes:
            transport = self.transports[0]
            assert isinstance(transport, StartXTransport)
            if message in transport.uncopied:
                await self._block(ForCopy(self.kernel, transport, message, dest))


class ForCopy(Blocked):
    """Waits until the payload of a long request has been copied; the request is under way, so it is shielded."""

    __slots__ = ("dest", "message", "transport")

    def __init__(self, kernel: Kernel, transport: StartXTransport, message: Message, dest: int) -> None:
        super().__init__(kernel, f"its turn to send a long payload to rank {dest}")
        self.shielded = True
        self.transport = transport
        self.message = message
        self.dest = dest

    def ready(self) -> bool:
        """Return whether the payload is the program's again."""
        return self.message not in self.transport.uncopied

    def peers(self) -> tuple[int, ...]:
        """Return the ranks that must poll before it is."""
        return self.transport.slot_holders(self.dest)
