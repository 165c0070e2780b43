"""The machine: what its options are, and how a job's cluster, and the processes on it, are built.

What stands on Sun Fire Link takes the machine from here: this package's conduit, the benchmarks of `raw`, a library of
messages of another kind.  How it is begun, and what comes of it::

    cluster = build(kernel, hosts, SunfireMachine(stripes=2))     for ranks on these hosts; faults are scheduled
    process = cluster.process(rank, cpu)                          the driver of a rank (`conduits.sunfire.driver`)
    controller = cluster.controller(process)                      RSM over all NIs of its host, slow calls
    mapping = controller.import_connect(host, number).map()       the hot path, without RSM
    cluster.host                                                  what copies and work cost on a host
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

from conduit.errors import BadRequest
from conduit.options import SimOptions, option
from conduit.sim import Cpu, Kernel
from conduit.sim.link import Link, OverRoutes, over_routes
from conduit.sim.observed import engine_cpu
from conduit.simnet import HostModel
from conduit.simnet.parts import link_counts
from conduits.rsm import Controller, Rsm, SegmentDirectory
from conduits.sunfire import constants as c
from conduits.sunfire.driver import NAME, SunfireProcess
from conduits.sunfire.hardware import TOPOLOGIES, ClusterTopology, Fault, FireLinkFabric, check_faults, schedule
from conduits.sunfire.hardware.faults import FORMS

_at_least_1 = attrs.validators.ge(1)


@attrs.frozen(kw_only=True)
class SunfireMachine(SimOptions):
    """What the hardware and its system software are."""

    config: Literal["sis", "q"] = option(
        "sis", "cluster and library: sis, 8 hosts and blocks of 2 and 4 KB; q, 4 hosts and blocks of 1 KB"
    )
    nis: int = option(
        c.whole(c.SIS_NIS),
        "network interfaces of each host, with two links each",
        validator=[_at_least_1, attrs.validators.le(c.whole(c.NI_MAX))],
    )
    wiring: Literal["switched", "direct"] = option(
        "switched", "links go through switches, or straight from host to host: then two or three hosts"
    )
    stripes: Literal[1, 2, 4] = option(4, "links that the traffic between two hosts is spread over")
    fault: Literal["none"] | tuple[str, ...] = option(
        "none",
        "what fails and comes back, and when",
        allowed=FORMS + "; joined by +; or none",
        conformance=("none", ("ni0.0~700us/300us", "links%1e-6")),
    )

    def __attrs_post_init__(self) -> None:
        """Check that what is to fail is there."""
        check_faults(self.faults, self.topology(c.whole(c.DIRECT_HOSTS)))

    @property
    def faults(self) -> tuple[str, ...]:
        """The entries of the schedule of faults."""
        return () if isinstance(self.fault, str) else self.fault

    def topology(self, hosts: int) -> ClusterTopology:
        """Return the hosts and wiring for a job on that many hosts; direct wiring leaves out those not needed."""
        found = TOPOLOGIES[self.config]
        switched = self.wiring == "switched"
        return ClusterTopology(found.hosts if switched else max(2, hosts), self.nis, switched)

    @property
    def max_hosts(self) -> int:
        """How many hosts a job may have."""
        return self.topology(c.whole(c.DIRECT_HOSTS)).hosts


def host_model() -> HostModel:
    """Return the costs of a Sun Fire 6800."""
    return HostModel(
        copy_bytes_per_s=c.bytes_per_s(c.COPY_RATE),
        copy_call_ps=c.ps(c.COPY_START),
        flops_per_s=c.whole(c.CLOCK) * 1_000_000 * c.whole(c.FLOPS_PER_CYCLE),
        line_ps=c.ps(c.SHARED_LINE),
        poll_ps=c.POLL_PS + c.HEAD_PS,
        message_ps=c.ps(c.SHARED_MESSAGE),
    )


def build(kernel: Kernel, hosts: tuple[int, ...], options: SunfireMachine) -> SunfireCluster:
    """Build the cluster of a job.

    Args:
        kernel: the job's time.
        hosts: host of every rank.
        options: of the machine.

    Raises:
        ValueError: a host is none of the cluster's, or has more ranks than CPUs.
        BadRequest: what is to fail is not there.
    """
    most, cpus = options.max_hosts, c.whole(c.CPUS)
    if not hosts or min(hosts) < 0 or max(hosts) >= most or max(map(hosts.count, set(hosts))) > cpus:
        raise ValueError(
            f"hosts={hosts}: no host for every rank; give numbers from 0 to {most - 1}, one for each rank, and none "
            f"more than {cpus} times"
        )
    return SunfireCluster(kernel, hosts, options)


class SunfireCluster:
    """The cluster of a job, and the processes on it; see `build`.

    Attributes:
        kernel, hosts, options: as given to `build`.
        first: lowest rank of each host, by host.
        fabric: the hardware.
        directory: where processes find one another's exports.
        host: the costs of a host; all are alike.
    """

    def __init__(self, kernel: Kernel, hosts: tuple[int, ...], options: SunfireMachine) -> None:
        self.kernel = kernel
        self.hosts = hosts
        self.options = options
        self.first = {host: hosts.index(host) for host in sorted(set(hosts))}
        self.directory = SegmentDirectory()
        self.host = host_model().on(kernel)
        topology = options.topology(max(hosts) + 1)
        self.fabric = FireLinkFabric(
            kernel,
            topology,
            stripes=options.stripes,
            weak=options.order == "weak",
            may_fail=bool(options.faults),
            piece=options.piece,
        )
        if options.faults:
            schedule(self.fabric, _faults(options, topology))
        self._processes: dict[int, SunfireProcess] = {}

    def place(self, rank: int) -> int:
        """Return a rank's place among those of its host, which is the number of its CPU."""
        return rank - self.first[self.hosts[rank]]

    def process(self, rank: int, cpu: Cpu | None = None) -> SunfireProcess:
        """Return a rank's use of the NIs, made when it is first asked for.

        Args:
            rank: which.
            cpu: what its time is taken of; None: of a CPU of its own, or of what was given before.

        Raises:
            ValueError: its process is on another CPU already.
        """
        found = self._processes.get(rank)
        if found is None:
            cpu = Cpu(self.kernel, rank) if cpu is None else cpu
            found = self._processes[rank] = SunfireProcess(self.fabric, self.hosts[rank], self.place(rank), cpu)
        if cpu is not None and cpu is not found.cpu:
            raise ValueError(f"rank {rank} has a process on another CPU already; leave cpu out, or give the same")
        return found

    def service(self, host: int) -> SunfireProcess:
        """Return a new process of the host itself, on a CPU that no rank has."""
        return SunfireProcess(self.fabric, host, c.whole(c.CPUS), engine_cpu(self.kernel, f"service {host}"))

    def controller(self, process: SunfireProcess) -> Controller:
        """Return the controller of all NIs for a process, which pays for it."""
        rsm = Rsm(process, self.directory)
        topology = rsm.get_topology()
        controller = rsm.get_controller(NAME)
        rsm.free_topology(topology)
        return controller

    def statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links, data paths and NIs have counted, by host."""
        inventory = self.fabric.inventory
        links: list[Link] = [interface.path for host in self.first for interface in inventory.interfaces_of(host)]
        links += [half for host in self.first for out in (True, False) for half in inventory.halves(host, outward=out)]
        over = over_routes(links)
        return {host: self._count(host, over) for host in self.first}

    def _count(self, host: int, over: OverRoutes) -> Mapping[str, int]:
        inventory = self.fabric.inventory
        interfaces = inventory.interfaces_of(host)
        counters = [interface.counters() for interface in interfaces]
        return {
            **link_counts("link", inventory.halves(host, outward=True), over),
            **link_counts("link_in", inventory.halves(host, outward=False), over),
            **link_counts("ni_path", [interface.path for interface in interfaces], over),
            "ni_lines_out": sum(each.lines_out for each in counters),
            "ni_lines_in": sum(each.lines_in for each in counters),
            "ni_lines_read": sum(each.reads for each in counters),
            "ni_interrupts": sum(each.interrupts for each in counters),
            "ni_barriers": sum(each.barriers for each in counters),
            "ni_line_errors": sum(each.errors for each in counters),
        }


def _faults(options: SunfireMachine, topology: ClusterTopology) -> tuple[Fault, ...]:
    """Read the schedule for the job's own cluster, which direct wiring makes smaller than what the options allow."""
    try:
        return check_faults(options.faults, topology)
    except ValueError as error:
        raise BadRequest(f"option 'fault' of sunfire: {error}") from None
