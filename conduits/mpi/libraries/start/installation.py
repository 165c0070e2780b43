"""MPI-StarT on a simulated StarT-X cluster: its options, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from conduit.contract import Constant, JobSetup
from conduit.options import option
from conduit.sim import Kernel
from conduit.sim.units import seconds
from conduit.simnet import HostModel
from conduits.mpi.engine.device import Device, Matching
from conduits.mpi.engine.software import Software
from conduits.mpi.libraries.costs import PairTimes
from conduits.mpi.libraries.installation import Installation
from conduits.mpi.libraries.layer import LayerCosts
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingCosts
from conduits.mpi.libraries.rings.host import HostRings
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.times import ring_times, within_host
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.start import constants as c
from conduits.mpi.libraries.start import wire
from conduits.mpi.libraries.start.device import StartConfig, StartDevice
from conduits.mpi.libraries.start.smp import SmpMemory
from conduits.mpi.wire import BARE
from conduits.startx import constants as startx
from conduits.startx.driver import access_cost
from conduits.startx.machine import MAX_HOSTS, StartXMachine, build, host_model, processors

_LARGEST = c.whole(c.BUFFER)
_UNIT = c.whole(startx.RDMA_UNIT)
_COSTS = RingCosts(
    build_ps=c.ps(c.LAYERS), take_ps=c.ps(c.LAYERS), buffer_ps=0, piece_ps=c.ps(c.PIECE_ENTRY)
)  # fmt: skip


@attrs.frozen(kw_only=True)
class StartOptions(StartXMachine):
    """The machine's options, and the sizes of MPI-StarT."""

    crossover: int = option(
        c.whole(c.CROSSOVER), "between hosts, bytes of the largest message that goes by PIO; longer ones go by RDMA",
        validator=[attrs.validators.ge(0), attrs.validators.le(1 << 16)], conformance=(c.whole(c.CROSSOVER), 128),
    )  # fmt: skip
    crossover_shared: int = option(
        c.whole(c.CROSSOVER_SHARED), "within a host, bytes of the largest message that goes as a control message",
        validator=[attrs.validators.ge(0), attrs.validators.le(1 << 16)],
        conformance=(c.whole(c.CROSSOVER_SHARED), 128),
    )  # fmt: skip
    pool: int = option(
        c.whole(c.POOL), "bytes of short messages that a rank keeps of one on another host before they are wanted",
        validator=[attrs.validators.ge(0), attrs.validators.le(1 << 24)], conformance=(c.whole(c.POOL), 256),
    )  # fmt: skip
    buffer: int = option(
        c.whole(c.BUFFER), "bytes of each of a host's two system buffers, and of the largest RDMA; a multiple of 8",
        validator=[attrs.validators.ge(_UNIT), attrs.validators.le(_LARGEST)],
        conformance=(c.whole(c.BUFFER), 4096),
    )  # fmt: skip
    inbox: int = option(
        c.whole(c.INBOX), "network messages of a rank that others of its host may have loaded for it",
        validator=[attrs.validators.ge(1), attrs.validators.le(1 << 16)], conformance=(c.whole(c.INBOX), 1),
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        """Check that RDMA can move whole buffers."""
        if self.buffer % _UNIT:
            raise ValueError(f"buffer={self.buffer} is no multiple of {_UNIT}, as RDMA needs it; round it down")

    def layout(self) -> RingLayout:
        """Return the sizes within a host: control messages in a ring, large ones in pieces."""
        entries = c.whole(c.ENTRIES)
        return RingLayout(
            entries=entries, inline=self.crossover_shared, inline_pool=entries * self.crossover_shared,
            eager_buffers=0, eager=0, pieces=c.whole(c.PIECES), piece=c.whole(c.PIECE),
        )  # fmt: skip


class Start(Installation):
    """MPI-StarT on one job's cluster."""

    name: ClassVar[str] = "start"
    summary: ClassVar[str] = (
        "MPI-StarT on StarT-X: control messages by PIO, RDMA by rendezvous, shared memory in an SMP"
    )
    collectives: ClassVar[str] = "broadcast"
    Options: ClassVar[type] = StartOptions
    constants: ClassVar[tuple[Constant, ...]] = (*c.CONSTANTS, *startx.CONSTANTS)

    software: ClassVar[Software] = Software.of(c.CALL, c.TEST, c.MATCH, c.COMPLETE)
    layer: ClassVar[LayerCosts] = LayerCosts(
        request=c.ps(c.AM_BUILD), reply=c.ps(c.AM_BUILD), receive=c.ps(c.AM_DISPATCH)
    )

    options: StartOptions

    def __init__(self, kernel: Kernel, setup: JobSetup, options: StartOptions) -> None:
        super().__init__(kernel, setup, options)
        self.cluster = build(kernel, setup.hosts, options)
        self.host = self.cluster.host
        self._layout = options.layout()
        self._places = _places(setup.hosts)
        self._shares: dict[int, tuple[SmpMemory, HostMemory, SharedRegions]] = {}

    def device(self, engine: Matching) -> Device:
        """Return how the messages of one rank travel."""
        smp, memory, regions = self._share(engine.hosts[engine.rank])
        rings = HostRings(engine, self._layout, _COSTS, memory, regions)
        config = StartConfig(
            places=self._places, crossover=self.options.crossover, pool=self.options.pool, layers_ps=c.ps(c.LAYERS),
            file_ps=c.ps(startx.FILE), line_ps=self.host.line_ps, right_ps=c.ps(c.RIGHT), rest_ps=c.ps(c.REST),
            miss_ps=c.ps(c.POLL) + (len(smp.inboxes) - 1) * c.ps(c.POLL_PEER),
        )  # fmt: skip
        return StartDevice(engine, config, smp, memory, rings, self.cluster.process(engine.rank))

    def _share(self, host: int) -> tuple[SmpMemory, HostMemory, SharedRegions]:
        """Return what the processes of a host share."""
        found = self._shares.get(host)
        if found is None:
            memory = HostMemory(self.kernel, self.host, c.bytes_per_s(_memory_rate(self.options)), f"memory {host}")
            smp = SmpMemory(self.cluster, host, self.options.buffer, self.options.inbox)
            found = self._shares[host] = smp, memory, SharedRegions(self.kernel, memory, self.host, self._layout)
        return found

    def start_ticks(self, rank: int) -> int:
        """Return the cost of opening the NIU and pinning the buffers."""
        return c.ps(startx.START)

    def allgather_ticks(self, ranks: int) -> int:
        """Return the cost of an all-gather of identifiers: a round for each doubling."""
        return (ranks - 1).bit_length() * c.ps(startx.EXCHANGE_ROUND)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links, NIUs, RDMA engines and locks have counted, by host."""
        return self.cluster.statistics()

    @classmethod
    def max_ranks_per_host(cls, options: StartOptions) -> int | None:
        """Return the processors of a host."""
        return processors(options.host)

    @classmethod
    def max_hosts(cls, options: StartOptions) -> int | None:
        """Return the hosts that the largest tree has."""
        return MAX_HOSTS

    @classmethod
    def host_model(cls, options: StartOptions) -> HostModel:
        """Return the costs of a processor of an SMP."""
        return host_model(options.host)

    @classmethod
    def times(cls, options: StartOptions) -> tuple[PairTimes | None, PairTimes | None]:
        """Return the sums of docs/models/start.md."""
        host, look = host_model(options.host), c.ps(c.POLL) + c.ps(startx.POLL)
        memory = within_host(host, c.bytes_per_s(_memory_rate(options)))
        on_host = ring_times(look + c.ps(c.POLL_PEER), _COSTS, options.layout(), host, memory)
        return _between_hosts(options, host, look), on_host

    @classmethod
    def thresholds(cls, options: StartOptions) -> tuple[int, ...]:
        """Return the largest message by PIO, the largest control message within a host, the largest transfer."""
        return options.crossover, options.crossover_shared, options.buffer


def _places(hosts: tuple[int, ...]) -> tuple[int, ...]:
    """Return of every rank how many lower ones share its host."""
    seen: dict[int, int] = {}
    places = []
    for host in hosts:
        places.append(seen.get(host, 0))
        seen[host] = places[-1] + 1
    return tuple(places)


def _memory_rate(options: StartOptions) -> Constant:
    """Return what the memory of a host gives."""
    return c.MEMORY_RATE if options.host == "e5000" else c.P2_MEMORY_RATE


def _between_hosts(options: StartOptions, host: HostModel, look: int) -> PairTimes | None:
    """Return what messages between hosts take; None where bare ones are no control messages with their data."""
    if min(options.crossover, options.pool) < BARE:
        return None
    whole, rest = divmod(wire.HEADER + BARE, wire.ROOM)
    before = c.whole(startx.HEADER) + wire.LARGEST - wire.ROOM  # of a packet
    full, last, single = (access_cost(options.access, before + nbytes) for nbytes in (wire.ROOM, rest, wire.HEADER))
    way = c.ps(startx.NIU_OUT) + c.ps(startx.STAGE) + c.ps(startx.NIU_IN)
    layers, right, piece = c.ps(c.LAYERS), c.ps(c.RIGHT), host.copy_ticks(options.piece)
    part = right + single.send + piece + way + piece  # the first into the system buffer, the last out of it
    return PairTimes(
        poll=look,
        send=layers + whole * full.send + last.send,
        way=way,
        take=whole * full.receive + last.receive + layers + host.copy_ticks(BARE),
        medium_byte=seconds(max(full.send, full.receive)) / wire.ROOM + 1 / host.copy_bytes_per_s,
        answer=2 * (single.receive + layers) + layers + single.send + way,
        large=part,
        large_byte=1 / c.bytes_per_s(startx.RDMA_RATE) + seconds(part) / options.buffer,
    )
