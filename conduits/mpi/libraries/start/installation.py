"""MPI-StarT on a simulated StarT-X cluster: its options, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from conduit.contract import Constant, JobSetup
from conduit.options import option
from conduit.sim import Kernel
from conduits.mpi.engine.device import Device, Matching
from conduits.mpi.engine.software import Software
from conduits.mpi.libraries.installation import Installation
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingCosts
from conduits.mpi.libraries.rings.host import HostRings
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.start import constants as c
from conduits.mpi.libraries.start.device import StartConfig, StartDevice
from conduits.mpi.libraries.start.smp import SmpMemory
from conduits.startx import constants as startx
from conduits.startx.machine import MAX_HOSTS, StartXMachine, build, processors

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

    options: StartOptions

    def __init__(self, kernel: Kernel, setup: JobSetup, options: StartOptions) -> None:
        super().__init__(kernel, setup, options)
        self.cluster = build(kernel, setup.hosts, options)
        self.host = self.cluster.host
        self.software = Software(
            call_ps=c.ps(c.CALL), test_ps=c.ps(c.TEST), match_ps=c.ps(c.MATCH), complete_ps=c.ps(c.COMPLETE)
        )
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
            rate = c.MEMORY_RATE if self.options.host == "e5000" else c.P2_MEMORY_RATE
            memory = HostMemory(self.kernel, self.host, c.bytes_per_s(rate), f"memory {host}")
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
