"""Sun MPI on a simulated Sun Fire Link cluster: its options, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

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
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.times import ring_times, within_host
from conduits.mpi.libraries.rings.wire import RingLayout as NodeLayout
from conduits.mpi.libraries.sunmpi import constants as c
from conduits.mpi.libraries.sunmpi.connections import AreaService, DeviceConfig
from conduits.mpi.libraries.sunmpi.device import SunmpiCosts, SunmpiDevice
from conduits.mpi.libraries.sunmpi.exchange import ExchangeCosts
from conduits.mpi.libraries.sunmpi.layout import AreaLayout, BufferPoolShape
from conduits.mpi.libraries.sunmpi.node import SunmpiNode
from conduits.mpi.libraries.sunmpi.shared_buffers import BufferLayout, SharedBuffers
from conduits.mpi.libraries.sunmpi.wire import LINE, POINTER, ROOM, count
from conduits.mpi.wire import BARE
from conduits.sunfire import constants as sunfire
from conduits.sunfire.machine import SunfireMachine, build, host_model

_FEWEST = count(c.whole(c.Q_SHORT))
_SMALLEST = 2 * c.whole(c.PIECE)


def _bounded(lowest: int, highest: int) -> Any:
    """Return the validator of a size that `auto` may stand for."""
    sizes = attrs.validators.and_(attrs.validators.ge(lowest), attrs.validators.le(highest))
    return attrs.validators.or_(attrs.validators.in_(("auto",)), sizes)


@attrs.frozen(kw_only=True)
class SunmpiOptions(SunfireMachine):
    """The machine's options, and what the library's users may set."""

    poll: Literal["general", "directed"] = option(
        "general", "a poll looks at every connection, or at one, those that are waited for before the others"
    )
    short: Literal["auto"] | int = option(
        "auto", "bytes of the largest message whose data are in postboxes; auto: as config has it",
        validator=_bounded(0, c.whole(c.Q_SHORT)), conformance=("auto", 0),
    )  # fmt: skip
    rendezvous: Literal["auto"] | int = option(
        "auto", "bytes of the smallest longer message that waits for its receive; auto: as config has it, in sis none",
        validator=_bounded(1, 1 << 30), conformance=("auto", 128),
    )  # fmt: skip
    postboxes: int = option(
        c.whole(c.POSTBOXES), "postboxes of a queue",
        validator=[attrs.validators.ge(_FEWEST), attrs.validators.le(4096)],
        conformance=(c.whole(c.POSTBOXES), _FEWEST),
    )  # fmt: skip
    pool: int = option(
        c.whole(c.POOL), "bytes of the blocks that a rank has on each other host for messages sent at once",
        validator=[attrs.validators.ge(_SMALLEST), attrs.validators.le(1 << 24)],
        conformance=(c.whole(c.POOL), _SMALLEST),
    )  # fmt: skip

    def layout(self, receivers: int) -> AreaLayout:
        """Return the sizes between hosts, with up to `ranks` ranks on one."""
        piece = c.whole(c.PIECE)
        if self.config == "sis":
            small, large = c.whole(c.SIS_SMALL), c.whole(c.SIS_LARGE)
            smalls = self.pool // c.whole(c.SMALL_SHARE) // small
            shape = BufferPoolShape(small, large, smalls, (self.pool - smalls * small + piece) // large)
        else:
            block = c.whole(c.Q_BLOCK)
            shape = BufferPoolShape(block, block, 0, (self.pool + piece) // block)
        return AreaLayout(
            short=self.largest_short, rendezvous=self.smallest_rendezvous, piece=piece, postboxes=self.postboxes,
            short_pool=self.postboxes * 64, pool=shape, reserve=piece, receivers=receivers,
            page=c.whole(sunfire.MIN_SEGMENT),
        )  # fmt: skip

    def node_layout(self) -> NodeLayout:
        """Return the sizes within a host."""
        short = min(c.whole(c.SHM_SHORT), self.largest_short)
        pipe, rendezvous = c.whole(c.SHM_PIPE), self.smallest_rendezvous
        eager = pipe if rendezvous is None else min(pipe, rendezvous - 1)
        return NodeLayout(
            entries=c.whole(c.SHM_POSTBOXES), inline=short, inline_pool=c.whole(c.SHM_POSTBOXES) * c.whole(c.SHM_SHORT),
            eager_buffers=c.whole(c.SHM_BUFFERS) if eager else 0, eager=eager, pieces=c.whole(c.SHM_CYCLE), piece=pipe,
        )  # fmt: skip

    @property
    def largest_short(self) -> int:
        """Bytes of the largest message whose data are in postboxes."""
        if self.short != "auto":
            return self.short
        return c.whole(c.SIS_SHORT if self.config == "sis" else c.Q_SHORT)

    @property
    def smallest_rendezvous(self) -> int | None:
        """Bytes of the smallest message that waits for its receive; None: none does for its size alone."""
        if self.rendezvous != "auto":
            return self.rendezvous
        return None if self.config == "sis" else c.whole(c.Q_RENDEZVOUS)


class Sunmpi(Installation):
    """Sun MPI on one job's cluster."""

    name: ClassVar[str] = "sunmpi"
    summary: ClassVar[str] = "Sun MPI on Sun Fire Link: postboxes and pools of blocks in remote memory"
    collectives: ClassVar[str] = "exchange"
    exchanges: ClassVar[bool] = True
    Options: ClassVar[type] = SunmpiOptions
    constants: ClassVar[tuple[Constant, ...]] = (*c.CONSTANTS, *sunfire.CONSTANTS)

    software: ClassVar[Software] = Software.of(c.CALL, c.TEST, c.MATCH, c.COMPLETE)
    layer: ClassVar[LayerCosts] = LayerCosts.of(c.AM_CHECK, c.AM_SLOT, c.AM_BUILD, c.AM_UNPACK, c.AM_DISPATCH)

    options: SunmpiOptions

    def __init__(self, kernel: Kernel, setup: JobSetup, options: SunmpiOptions) -> None:
        super().__init__(kernel, setup, options)
        self.cluster = cluster = build(kernel, setup.hosts, options)
        self.host = cluster.host
        hosts = cluster.first
        layout = options.layout(max(map(setup.hosts.count, hosts)))
        readers: dict[int, dict[int, Any]] = {host: {} for host in hosts}
        services = {
            host: AreaService(cluster.controller(cluster.service(host)), layout, readers[host]) for host in hosts
        }
        self._config = DeviceConfig(cluster, layout, services, readers)
        entry = _entry_ps(options)
        self._costs = SunmpiCosts(
            build_ps=entry, take_ps=entry + c.ps(c.LINE_MISS), space_ps=c.ps(c.SPACE), reclaim_ps=c.ps(c.RECLAIM),
            fetch_ps=sunfire.FETCH_PS, fetch_next_ps=sunfire.FETCH_NEXT_PS, poll_ps=c.ps(c.POLL),
            head_ps=c.ps(c.HEAD), directed=options.poll == "directed",
        )  # fmt: skip
        self._node_costs = RingCosts(build_ps=entry, take_ps=entry, buffer_ps=c.ps(c.SPACE))
        self._node_layout = options.node_layout()
        self._exchange_costs = ExchangeCosts(
            flag_ps=c.ps(c.SHM_FLAG), look_ps=c.ps(c.HEAD), line_ps=self.host.line_ps, calls=c.whole(c.SHM_CALLS),
            slice=c.whole(c.SHM_REDUCE),
        )  # fmt: skip
        self._memories: dict[int, HostMemory] = {}
        self._shared: dict[int, SharedRegions] = {}
        self._buffers: dict[int, SharedBuffers] = {}

    def device(self, engine: Matching) -> Device:
        """Return how the messages of one rank travel."""
        host = engine.hosts[engine.rank]
        if host not in self._memories:
            memory = HostMemory(self.kernel, self.host, c.bytes_per_s(c.MEMORY_RATE), f"memory {host}")
            self._memories[host] = memory
            self._shared[host] = SharedRegions(self.kernel, memory, self.host, self._node_layout)
            ranks = [rank for rank, its in enumerate(engine.hosts) if its == host]
            layout = BufferLayout(c.whole(c.SHM_BROADCAST_PIECES), c.whole(c.SHM_BROADCAST), len(ranks))
            self._buffers[host] = SharedBuffers(layout, ranks)
        memory = self._memories[host]
        node = SunmpiNode(
            engine, self._node_layout, self._node_costs, memory, self._shared[host], self._buffers[host],
            self._exchange_costs,
        )  # fmt: skip
        process = self.cluster.process(engine.rank, engine.cpu)
        return SunmpiDevice(engine, self._config, self._costs, memory, node, process)

    def start_ticks(self, rank: int) -> int:
        """Return 0: what a rank asks of RSM is taken of its CPU when it does, and connections are made at first use."""
        return 0

    def allgather_ticks(self, ranks: int) -> int:
        """Return the cost of an all-gather of identifiers: a round for each doubling."""
        return (ranks - 1).bit_length() * c.ps(sunfire.EXCHANGE_ROUND)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links and NIs have counted, by host."""
        return self.cluster.statistics()

    @classmethod
    def max_ranks_per_host(cls, options: SunmpiOptions) -> int | None:
        """Return the CPUs of a host."""
        return c.whole(sunfire.CPUS)

    @classmethod
    def max_hosts(cls, options: SunmpiOptions) -> int | None:
        """Return the hosts of the cluster."""
        return options.max_hosts

    @classmethod
    def host_model(cls, options: SunmpiOptions) -> HostModel:
        """Return the costs of a processor of a Sun Fire 6800."""
        return host_model()

    @classmethod
    def times(cls, options: SunmpiOptions) -> tuple[PairTimes | None, PairTimes | None]:
        """Return the sums of docs/models/sunmpi.md."""
        host, entry = host_model(), _entry_ps(options)
        poll = c.ps(c.POLL) + c.ps(c.HEAD)
        memory = within_host(host, c.bytes_per_s(c.MEMORY_RATE))
        costs = RingCosts(build_ps=entry, take_ps=entry, buffer_ps=c.ps(c.SPACE))
        return _between_hosts(options, host, poll), ring_times(poll, costs, options.node_layout(), host, memory)

    @classmethod
    def thresholds(cls, options: SunmpiOptions) -> tuple[int, ...]:
        """Return the sizes up to which a protocol goes: short, of one piece, eager."""
        layout = options.layout(1)
        eager, rendezvous = layout.pool.nbytes - layout.reserve, layout.rendezvous
        return layout.short, layout.piece, eager if rendezvous is None else min(eager, rendezvous - 1)


def _entry_ps(options: SunmpiOptions) -> int:
    """Return the software of an entry, made or taken."""
    return c.ps(c.SIS_ENTRY if options.config == "sis" else c.Q_ENTRY)


def _between_hosts(options: SunmpiOptions, host: HostModel, poll: int) -> PairTimes | None:
    """Return what messages between hosts take; None where bare ones are not in postboxes."""
    layout = options.layout(1)
    if layout.short < BARE:
        return None
    line, entry, copy = c.ps(sunfire.STORE_LINE), _entry_ps(options), 1 / host.copy_bytes_per_s

    def issue(lines: int) -> int:
        return c.ps(sunfire.STORE_START) + lines * line

    blocks = -(-layout.piece // layout.pool.large)
    fill = c.ps(c.SPACE) + c.ps(sunfire.OPEN_BARRIER) + c.ps(sunfire.CLOSE_BARRIER)
    fill += blocks * c.ps(sunfire.STORE_START) + layout.piece // LINE * line
    piece = fill + entry + issue(count(POINTER * blocks)) + poll
    way = c.ps(sunfire.TRANSIT) + c.ps(sunfire.WRITE)
    reclaim = c.ps(c.RECLAIM) + sunfire.FETCH_NEXT_PS  # many in a run
    takes, postboxes = entry + c.ps(c.LINE_MISS), count(BARE)
    return PairTimes(
        poll=poll,
        send=entry + issue(postboxes) + postboxes * reclaim,
        way=way,
        take=takes + host.copy_ticks(BARE) + issue(postboxes),
        medium_byte=seconds(2 * line + reclaim) / ROOM + copy,  # stored and acknowledged, and taken back
        answer=2 * (takes + issue(1)) + entry + issue(1) + way,
        large=way + takes + host.copy_ticks(layout.piece),
        large_byte=seconds(piece) / layout.piece,
    )
