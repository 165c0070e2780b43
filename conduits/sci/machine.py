"""The machine without a conduit: its options, and a cluster of hosts with their cards and drivers.

Whatever stands on SCI begins here: the conduit, RSM, the driver's benchmarks, another library.

    cluster = build(kernel, hosts=(0, 0, 1), options=SciMachine())
    driver = cluster.process(2)          # of rank 2, on host 1
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from conduit.options import SimOptions, option
from conduit.sim import Kernel
from conduit.sim.link import OverRoutes, over_routes
from conduit.sim.topology import Torus, near_cubic
from conduit.simnet import HostModel
from conduit.simnet.parts import dma_counts, link_counts
from conduits.sci import constants as c
from conduits.sci.driver import Sisci, segment_limit
from conduits.sci.hardware import SciFabric

CPUS = c.whole(c.CPUS)
"""Of a host: as many processes run on one at most."""
_BED = (4, 2)
_MAX_HOSTS = c.whole(c.MAX_NODES)


def _check_torus(_: object, __: object, torus: str | tuple[int, ...]) -> None:
    if isinstance(torus, str):
        return
    hosts = 1
    for side in torus:
        hosts *= side
    if not 1 <= len(torus) <= 3 or min(torus) < 1 or hosts > _MAX_HOSTS:
        raise ValueError(f"a torus has 1 to 3 sides of at least 1 and at most {_MAX_HOSTS} hosts")


@attrs.frozen(kw_only=True)
class SciMachine(SimOptions):
    """What the hardware and its driver are, whatever is above them; each default is the paper's."""

    torus: Literal["auto"] | tuple[int, ...] = option(
        "auto",
        "hosts along each dimension; auto: 4x2 up to 8 hosts, else the smallest near-cubic one",
        validator=_check_torus,
        allowed="auto, or 1 to 3 sides such as 8, 4x2, 4x4x2",
        conformance=("auto", (2, 2, 4)),
    )
    patched: bool = option(False, "a kernel patched for large contiguous memory: segments over 2 MiB")

    @property
    def max_hosts(self) -> int:
        """The hosts of the torus, or what SCI can address."""
        return _MAX_HOSTS if self.torus == "auto" else Torus(self.torus).nodes

    @property
    def max_segment(self) -> int:
        """Bytes of the largest segment: the contiguous memory that a host gives."""
        return segment_limit(patched=self.patched)

    def shape(self, hosts: int) -> tuple[int, ...]:
        """Return the sides of the torus for a job of `hosts` hosts."""
        if self.torus != "auto":
            return self.torus
        return _BED if hosts <= _BED[0] * _BED[1] else near_cubic(hosts)


class SciCluster:
    """Hosts with their cards, and the driver as each process of a job uses it; made by `build`.

    Attributes:
        kernel: the job's time.
        hosts: host of every rank.
        options: of the machine.
        fabric: cards, buses and links.
        host: what copying, computing and polling cost on a host.
    """

    def __init__(self, kernel: Kernel, hosts: tuple[int, ...], options: SciMachine) -> None:
        self.kernel = kernel
        self.hosts = hosts
        self.options = options
        torus = Torus(options.shape(max(hosts) + 1))
        self.fabric = SciFabric(kernel, torus, weak=options.order == "weak", piece=options.piece)
        self.host = host_model().on(kernel)
        self._processes: dict[int, Sisci] = {}

    def process(self, rank: int) -> Sisci:
        """Return the driver of the process `rank`."""
        found = self._processes.get(rank)
        if found is None:
            found = Sisci(self.fabric, self.hosts[rank], rank, patched=self.options.patched)
            self._processes[rank] = found
        return found

    def statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return by host what its card, its bus and the links that leave it have done so far."""
        over = over_routes(self.fabric.links())
        return {host: self._counts(host, over) for host in sorted(set(self.hosts))}

    def _counts(self, host: int, over: OverRoutes) -> Mapping[str, int]:
        adapter = self.fabric.adapter(host)
        stores, packets, stalled = adapter.statistics()
        return {
            "pio_stores": stores,
            "pio_packets": packets,
            "pio_stalled_ns": round(stalled / 1000),
            **dma_counts("dma", [adapter.dma]),
            **link_counts("bus", [adapter.bus], over),
            **link_counts("link", self.fabric.links_of(host), over),
        }


def build(kernel: Kernel, hosts: tuple[int, ...], options: SciMachine) -> SciCluster:
    """Return a cluster without a conduit, on which processes use the driver.

    Args:
        kernel: its clock and events.
        hosts: host of every rank.
        options: the machine's.

    Raises:
        ValueError: a host is none of the machine's.
    """
    if not hosts or min(hosts) < 0 or max(hosts) >= options.max_hosts:
        raise ValueError(
            f"hosts={hosts}: no host for every rank; give numbers from 0 to {options.max_hosts - 1}, one for each rank"
        )
    return SciCluster(kernel, hosts, options)


def host_model() -> HostModel:
    """Return the costs of a dual Xeon node."""
    return HostModel(
        copy_bytes_per_s=c.bytes_per_s(c.COPY_RATE),
        copy_call_ps=c.ps(c.COPY_START),
        flops_per_s=c.whole(c.CLOCK) * 1_000_000 * c.whole(c.FLOPS_PER_CYCLE),
        line_ps=c.ps(c.SHARED_LINE),
        poll_ps=c.ps(c.POLL_MISS),
        message_ps=c.ps(c.SHARED_MESSAGE),
    )
