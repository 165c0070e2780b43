"""The machine: what its options are, and how a job's cluster, and the processes on it, are built.

What stands on StarT-X takes the machine from here: this package's conduit, the benchmarks of `raw`, a library of
messages of another kind.  How it is begun, and what comes of it::

    cluster = build(kernel, hosts, StartXMachine(access="word"))    for ranks on these hosts
    process = cluster.process(rank)                                 the driver of a rank (`conduits.startx.driver`)
    cluster.lock(host)                                              of the NIU that the ranks of a host share
    cluster.host                                                    what copies and work cost on a host
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import attrs

from conduit.options import SimOptions, option
from conduit.sim import Kernel
from conduit.sim.link import OverRoutes, over_routes
from conduit.simnet import HostModel
from conduit.simnet.parts import link_counts
from conduits.startx import constants as c
from conduits.startx.driver import HIGH, LOW, SpinLock, StartXProcess
from conduits.startx.hardware import ArcticFabric, ArcticLink

MAX_HOSTS = 1024
"""Of the largest tree."""


@attrs.frozen(kw_only=True)
class StartXMachine(SimOptions):
    """What hosts, network interfaces and network are."""

    host: Literal["e5000", "pentium2"] = option(
        "e5000", "SMP: Sun E5000 with 8 processors, or a Pentium II with 2", conformance=("e5000",)
    )
    access: Literal["block", "word"] = option(
        "block", "how processors load and store: 64 bytes (ldda, stda) or 8 bytes (ldd, std)"
    )
    fifo: bool = option(True, "the network keeps the order of source, destination and priority")
    high_queue: int = option(
        c.whole(c.HIGH_QUEUE), "messages in each queue of high priority of an NIU", validator=attrs.validators.ge(1)
    )
    low_queue: int = option(
        c.whole(c.LOW_QUEUE),
        "messages in each queue of low priority of an NIU",
        validator=attrs.validators.ge(1),
        conformance=(c.whole(c.LOW_QUEUE), 16),
    )


def processors(host: str) -> int:
    """Return the processors of a host."""
    return c.whole(c.CPUS if host == "e5000" else c.P2_CPUS)


def host_model(host: str) -> HostModel:
    """Return the costs of an SMP, `e5000` or `pentium2`."""
    e5000 = host == "e5000"
    return HostModel(
        copy_bytes_per_s=c.bytes_per_s(c.COPY_RATE if e5000 else c.P2_COPY_RATE),
        copy_call_ps=c.ps(c.COPY_START),
        flops_per_s=c.whole(c.FLOPS if e5000 else c.P2_FLOPS) * 1_000_000,
        line_ps=c.ps(c.BUS if e5000 else c.P2_BUS),
        poll_ps=c.ps(c.LOOK),
        message_ps=c.ps(c.SHARED_MESSAGE if e5000 else c.P2_MESSAGE),
    )


def build(kernel: Kernel, hosts: tuple[int, ...], options: StartXMachine) -> StartXCluster:
    """Build the cluster of a job.

    Args:
        kernel: the job's time.
        hosts: host of every rank.
        options: of the machine.

    Raises:
        ValueError: a host is none of the cluster's, or has more ranks than processors.
    """
    most = processors(options.host)
    if not hosts or min(hosts) < 0 or max(hosts) >= MAX_HOSTS or max(map(hosts.count, set(hosts))) > most:
        raise ValueError(
            f"hosts={hosts}: no host for every rank; give numbers from 0 to {MAX_HOSTS - 1}, one for each rank, and "
            f"none more than {most} times"
        )
    return StartXCluster(kernel, hosts, options)


class StartXCluster:
    """The cluster of a job, and the processes on it; see `build`.

    Attributes:
        kernel, hosts, options: as given to `build`.
        first: lowest rank of each host, by host.
        fabric: the hardware.
        host: the costs of a host; all are alike.
    """

    def __init__(self, kernel: Kernel, hosts: tuple[int, ...], options: StartXMachine) -> None:
        self.kernel = kernel
        self.hosts = hosts
        self.options = options
        self.first = {host: hosts.index(host) for host in sorted(set(hosts))}
        self.host = host_model(options.host).on(kernel)
        self.fabric = ArcticFabric(
            kernel,
            fifo=options.fifo,
            weak=options.order == "weak",
            piece=options.piece,
            high_queue=options.high_queue,
            low_queue=options.low_queue,
        )
        self._processes: dict[int, StartXProcess] = {}
        self._locks: dict[int, SpinLock] = {}

    def process(self, rank: int) -> StartXProcess:
        """Return a rank's use of the NIU of its host, made when it is first asked for."""
        found = self._processes.get(rank)
        if found is None:
            found = self._processes[rank] = StartXProcess(self.fabric, self.hosts[rank], self.options.access)
        return found

    def lock(self, host: int) -> SpinLock | None:
        """Return the lock under which the ranks of a host share its NIU; None where one has it alone."""
        if self.hosts.count(host) == 1:
            return None
        found = self._locks.get(host)
        if found is None:
            found = self._locks[host] = SpinLock(self.kernel, f"lock {host}")
        return found

    def statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links, NIUs, RDMA engines and locks have counted, by host."""
        links: dict[int, list[ArcticLink]] = {host: [] for host in self.first}
        for link in self.fabric.network.links():
            if link.host in links:
                links[link.host].append(link)
        over = over_routes(self.fabric.network.links())
        return {host: self._count(host, links[host], over) for host in self.first}

    def _count(self, host: int, links: Sequence[ArcticLink], over: OverRoutes) -> Mapping[str, int]:
        return {
            **link_counts("link", [link for link in links if not link.level and link.direction == "up"], over),
            **link_counts("link_in", [link for link in links if not link.level and link.direction == "down"], over),
            **link_counts("tree_link", [link for link in links if link.level], over),
            **self._niu_counts(host),
            **self._lock_counts(host),
        }

    def _niu_counts(self, host: int) -> Mapping[str, int]:
        niu = self.fabric.niu(host)
        sent, received = niu.rdma_out.statistics(), niu.rdma_in.statistics()
        counts = {
            "dma_transfers": sent.transfers,
            "dma_bytes": sent.nbytes,
            "dma_pieces": sent.pieces,
            "dma_in_transfers": received.transfers,
            "dma_in_bytes": received.nbytes,
            "dma_in_pieces": received.pieces,
        }
        for name, priority in (("low", LOW), ("high", HIGH)):
            queues = niu.statistics(priority)
            counts[f"niu_{name}_sent"] = queues.sent
            counts[f"niu_{name}_received"] = queues.received
            counts[f"niu_{name}_held"] = queues.held
            counts[f"niu_{name}_most_sent"] = queues.most_sent
            counts[f"niu_{name}_most_received"] = queues.most_received
        return counts

    def _lock_counts(self, host: int) -> Mapping[str, int]:
        lock = self._locks.get(host) or SpinLock(self.kernel)
        found = lock.statistics()
        return {
            "lock_taken": found.taken,
            "lock_waits": found.waited,
            "lock_waited_ns": round(found.wait_ps / 1000),
        }
