"""The conduit proper: its options, limits and placement; the messages are `protocol`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs

from conduit.contract import Category, Constant, Costs, JobSetup, Limits, MessageCosts, RawTable
from conduit.options import option
from conduit.sim.units import seconds
from conduit.simnet import HostModel, SimulatedConduit, SimulatedPort, Transport
from conduits.sunfire import constants as c
from conduits.sunfire import raw, wire
from conduits.sunfire.machine import SunfireMachine, build, host_model
from conduits.sunfire.protocol import (
    LIBRARIES,
    BlockPoolShape,
    DirectedTransport,
    HostService,
    PostboxLayout,
    SunfireConfig,
    SunfireTransport,
)  # fmt: skip


@attrs.frozen(kw_only=True)
class SunfireOptions(SunfireMachine):
    """The options of `sunfire`: those of the machine, and of what the conduit does on it."""

    poll: Literal["general", "directed"] = option(
        "general", "a poll looks at every connection, or at the one that is waited for"
    )
    outstanding: int = option(
        c.whole(c.OUTSTANDING),
        "requests from one rank to another without their reply; space for as many replies is set aside",
        validator=[attrs.validators.ge(1), attrs.validators.le(64)],
        conformance=(c.whole(c.OUTSTANDING), 1),
    )


class Sunfire(SimulatedConduit):
    """Active Messages over Sun Fire Link, on a simulated cluster.

    Source: the memory areas, postboxes, pools and acknowledgements are those of Sun MPI (Sistare and Jackson 2002,
    section 3; the Queen's University evaluation, section IV); see README.md beside this file.
    """

    name = "sunfire"
    summary = "Sun Fire Link: lines of 64 bytes stored by CPUs, striped over links that may fail; after Sun MPI"
    Options: ClassVar[type] = SunfireOptions
    constants: ClassVar[tuple[Constant, ...]] = tuple(c.CONSTANTS)

    def __init__(self, options: SunfireOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        self.cluster = cluster = build(self.kernel, setup.hosts, options)
        hosts = cluster.first
        self._readers: dict[int, dict[int, SunfireTransport]] = {host: {} for host in hosts}
        layout = layout_of(options, max(map(setup.hosts.count, hosts)))
        services = {
            host: HostService(cluster.controller(cluster.service(host)), layout, self._readers[host]) for host in hosts
        }
        self._config = SunfireConfig(cluster, layout, services)
        self._transport = SunfireTransport if options.poll == "general" else DirectedTransport

    @classmethod
    def limits(cls, options: SunfireOptions) -> Limits:
        """Return the limits, the same in both configurations."""
        longest = c.whole(c.MAX_LONG)
        return Limits(c.whole(c.MAX_ARGS), c.whole(c.MEDIUM), longest, longest)

    @classmethod
    def max_segment(cls, options: SunfireOptions) -> int | None:
        """Return what a host can export."""
        return c.whole(c.EXPORT_MAX)

    @classmethod
    def max_ranks_per_host(cls, options: SunfireOptions) -> int | None:
        """Return the CPUs of a host."""
        return c.whole(c.CPUS)

    @classmethod
    def max_hosts(cls, options: SunfireOptions) -> int | None:
        """Return the hosts of the cluster."""
        return options.max_hosts

    @classmethod
    def thresholds(cls, options: SunfireOptions) -> tuple[int, ...]:
        """Return the first payload size that does not go in postboxes, and sizes of blocks."""
        library = LIBRARIES[options.config]
        return (library.short_limit + 1, library.large, 2 * library.large)

    @classmethod
    def costs(cls, options: SunfireOptions) -> Costs:
        """Return the sums of docs/models/sunfire.md."""
        host = host_model()
        copy, miss = 1 / host.copy_bytes_per_s, c.ps(c.POLL) + c.ps(c.HEAD)
        line = c.ps(c.STORE_LINE)
        issue, way = c.ps(c.STORE_START) + line, c.ps(c.TRANSIT) + c.ps(c.WRITE)
        reclaim = c.ps(c.RECLAIM) + c.FETCH_NEXT_PS  # many in a run
        request = c.ps(c.SPACE) + reclaim  # what a reply is without
        send = c.ps(c.CHECK) + c.ps(c.BUILD) + request + issue
        receive = c.ps(c.UNPACK) + c.ps(c.DISPATCH)
        start = send - request // 2 + way + receive + 2 * miss
        off_host = MessageCosts(
            start=seconds(start),
            send=seconds(send),
            receive=seconds(receive),
            # In postboxes: stored, copied out, and their acknowledgement stored as well, and taken back.
            medium_byte=seconds(2 * line + reclaim) / wire.DATA + copy,
            long_start=seconds(start + c.ps(c.OPEN_BARRIER) + c.ps(c.CLOSE_BARRIER)),
            long_byte=seconds(line) / c.whole(c.LINE),
            medium_send_byte=seconds(line) / wire.DATA,
            medium_receive_byte=seconds(line + reclaim) / wire.DATA + copy,
            poll=seconds(miss),
        )
        return Costs(off_host=off_host, on_host=host.message_costs(miss), copy_byte=copy)

    @classmethod
    def raw_tables(cls, options: SunfireOptions) -> Sequence[RawTable]:
        """Return RSM's benchmarks."""
        tables = raw.tables(options)
        named = {"the faults": options.faults, "the weak order": options.order == "weak"}
        without = " and ".join(what for what, is_named in named.items() if is_named)
        if not without:
            return tables
        return [attrs.evolve(table, note=f"{table.note}; without {without} of the spec") for table in tables]

    @classmethod
    def raw_time(cls, options: SunfireOptions, category: Category, nbytes: int, *, round_trip: bool) -> float | None:
        """Return what mapped stores of that many bytes take between two hosts, in seconds."""
        one_way = raw.one_way(options, nbytes)
        return 2 * one_way if round_trip else one_way

    def make_host(self) -> HostModel:
        """Return the costs of a Sun Fire 6800."""
        return host_model()

    def make_transport(self, port: SimulatedPort) -> Transport:
        """Return a rank's end of the network."""
        cluster = self.cluster
        process = cluster.process(port.rank, port.cpu)
        transport = self._transport(port, process, cluster.controller(process), self._config)
        self._readers[port.host][cluster.place(port.rank)] = transport
        return transport

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what links and NIs have counted, by host."""
        return self.cluster.statistics()

    def allgather_ticks(self) -> int:
        """Return the cost of an all-gather of identifiers: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(c.EXCHANGE_ROUND)


def layout_of(options: SunfireOptions, receivers: int) -> PostboxLayout:
    """Return how areas and pairs are laid out, with up to that many ranks on a host."""
    library = LIBRARIES[options.config]
    return PostboxLayout(
        short_limit=library.short_limit,
        max_medium=c.whole(c.MEDIUM),
        postboxes=c.whole(c.POSTBOXES),
        outstanding=options.outstanding,
        pool=BlockPoolShape(library.small, library.large, library.smalls, library.larges),
        receivers=receivers,
        page=c.whole(c.MIN_SEGMENT),
    )
