"""ScaMPI on a simulated SCI cluster: its options, and what it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from conduit.contract import Constant, JobSetup
from conduit.options import option
from conduit.sim import Kernel
from conduit.sim.units import duration
from conduit.simnet import HostModel
from conduits.mpi.engine.device import Device, Matching
from conduits.mpi.engine.software import Software
from conduits.mpi.libraries.costs import PairTimes
from conduits.mpi.libraries.installation import Installation
from conduits.mpi.libraries.layer import LayerCosts
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingCosts
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.times import RingWay, ring_times, within_host
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.scampi import constants as c
from conduits.mpi.libraries.scampi.device import ScampiDevice
from conduits.sci import constants as sci
from conduits.sci.driver import MAP_PS
from conduits.sci.machine import CPUS, SciMachine, build, host_model

_COSTS = RingCosts(build_ps=c.ps(c.BUILD), take_ps=c.ps(c.TAKE), buffer_ps=c.ps(c.BUFFER))


@attrs.frozen(kw_only=True)
class ScampiOptions(SciMachine):
    """The machine's options, and the sizes that ScaMPI's users may set."""

    channel_entries: int = option(
        c.whole(c.ENTRIES), "entries of the ring of each pair of ranks",
        validator=[attrs.validators.ge(2), attrs.validators.le(4096)], conformance=(c.whole(c.ENTRIES), 2),
    )  # fmt: skip
    channel_inline_threshold: int = option(
        c.whole(c.INLINE), "bytes of the largest message whose data are in its entry",
        validator=[attrs.validators.ge(0), attrs.validators.le(4096)], conformance=(c.whole(c.INLINE), 0),
    )  # fmt: skip
    eager_count: int = option(
        c.whole(c.EAGER_BUFFERS), "eager buffers of each pair of ranks",
        validator=[attrs.validators.ge(0), attrs.validators.le(255)], conformance=(c.whole(c.EAGER_BUFFERS), 1),
    )  # fmt: skip
    eager_size: int = option(
        c.whole(c.EAGER), "bytes of an eager buffer, and of the largest message that is sent at once",
        validator=[attrs.validators.ge(0), attrs.validators.le(1 << 20)],
    )  # fmt: skip
    transporter_count: int = option(
        c.whole(c.PIECES), "buffers of each pair of ranks through which large messages go",
        validator=[attrs.validators.ge(1), attrs.validators.le(64)], conformance=(c.whole(c.PIECES), 1),
    )  # fmt: skip
    transporter_size: int = option(
        c.whole(c.PIECE), "bytes of such a buffer",
        validator=[attrs.validators.ge(64), attrs.validators.le(1 << 20)],
    )  # fmt: skip

    def layout(self) -> RingLayout:
        """Return the sizes of a region."""
        return RingLayout(
            entries=self.channel_entries,
            inline=self.channel_inline_threshold,
            inline_pool=c.whole(c.INLINE_POOL),
            eager_buffers=self.eager_count,
            eager=self.eager_size,
            pieces=self.transporter_count,
            piece=self.transporter_size,
        )

    def __attrs_post_init__(self) -> None:
        """Check that the driver can give the regions."""
        size, largest = self.layout().nbytes, self.max_segment
        if size > largest:
            raise ValueError(
                f"channel_entries, channel_inline_threshold, eager_count, eager_size, transporter_count and "
                f"transporter_size need a region of {size} bytes for "
                f"each pair of ranks, the driver gives {largest}; lower one of them"
                + ("" if self.patched else ", or use patched=yes")
            )


class Scampi(Installation):
    """ScaMPI on one job's cluster."""

    name: ClassVar[str] = "scampi"
    summary: ClassVar[str] = "ScaMPI on SCI: rings in remote memory, every size by PIO"
    Options: ClassVar[type] = ScampiOptions
    constants: ClassVar[tuple[Constant, ...]] = (*c.CONSTANTS, *sci.CONSTANTS)

    software: ClassVar[Software] = Software.of(c.CALL, c.TEST, c.MATCH, c.COMPLETE)
    layer: ClassVar[LayerCosts] = LayerCosts.of(c.AM_CHECK, c.AM_SLOT, c.AM_BUILD, c.AM_UNPACK, c.AM_DISPATCH)

    options: ScampiOptions

    def __init__(self, kernel: Kernel, setup: JobSetup, options: ScampiOptions) -> None:
        super().__init__(kernel, setup, options)
        self.cluster = build(kernel, setup.hosts, options)
        self.host = self.cluster.host
        self._layout = options.layout()
        self._memories: dict[int, HostMemory] = {}
        self._shared: dict[int, SharedRegions] = {}

    def device(self, engine: Matching) -> Device:
        """Return how the messages of one rank travel."""
        host = engine.hosts[engine.rank]
        if host not in self._memories:
            memory = HostMemory(self.kernel, self.host, c.bytes_per_s(c.MEMORY_RATE), f"memory {host}")
            self._memories[host] = memory
            self._shared[host] = SharedRegions(self.kernel, memory, self.host, self._layout)
        miss = c.ps(c.POLL) + (engine.size - 1) * c.ps(c.POLL_PEER)
        return ScampiDevice(
            engine, self._layout, _COSTS, self._memories[host], self._shared[host], self.cluster.process(engine.rank),
            miss,
        )  # fmt: skip

    def start_ticks(self, rank: int) -> int:
        """Return the cost of importing the region at every rank of another host."""
        hosts = self.setup.hosts
        return (len(hosts) - hosts.count(hosts[rank])) * MAP_PS

    def allgather_ticks(self, ranks: int) -> int:
        """Return the cost of an all-gather of identifiers: a round for each doubling."""
        return (ranks - 1).bit_length() * c.ps(sci.EXCHANGE_ROUND)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what the cards, buses and links of the hosts have done."""
        return self.cluster.statistics()

    @classmethod
    def max_ranks_per_host(cls, options: ScampiOptions) -> int | None:
        """Return the CPUs of a host."""
        return CPUS

    @classmethod
    def max_hosts(cls, options: ScampiOptions) -> int | None:
        """Return the hosts of the torus, or what SCI can address."""
        return options.max_hosts

    @classmethod
    def host_model(cls, options: ScampiOptions) -> HostModel:
        """Return the costs of a processor of a dual Xeon node."""
        return host_model()

    @classmethod
    def times(cls, options: ScampiOptions) -> tuple[PairTimes | None, PairTimes | None]:
        """Return the sums of docs/models/scampi.md, for neighbours."""
        host, layout, rate = host_model(), options.layout(), sci.bytes_per_s(sci.PIO_RATE)
        poll = c.ps(c.POLL) + c.ps(c.POLL_PEER)
        card = RingWay(
            store=lambda nbytes: sci.ps(sci.PIO_START) + duration(nbytes, rate),
            way=sci.ps(sci.SEND_LATENCY) + sci.ps(sci.RECEIVE_LATENCY) + 2 * sci.ps(sci.HOP),
            byte=1 / rate,
        )
        memory = within_host(host, c.bytes_per_s(c.MEMORY_RATE))
        return ring_times(poll, _COSTS, layout, host, card), ring_times(poll, _COSTS, layout, host, memory)

    @classmethod
    def thresholds(cls, options: ScampiOptions) -> tuple[int, ...]:
        """Return the largest inline message, the largest eager one, and the largest of one piece."""
        return options.channel_inline_threshold, options.eager_size, options.transporter_size
