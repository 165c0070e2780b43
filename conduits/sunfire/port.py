"""The conduit proper: its options, limits and placement; the messages are `protocol`'s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import attrs

from conduit.contract import Category, Constant, JobSetup, Limits, RawTable
from conduit.errors import BadRequest
from conduit.options import SimOptions, option
from conduit.sim import Cpu
from conduit.simnet import HostModel, Path, SimulatedConduit, SimulatedPort
from conduits.rsm import Controller, Exchange, Rsm
from conduits.sunfire import constants as c
from conduits.sunfire import raw
from conduits.sunfire.driver import SunFire
from conduits.sunfire.hardware import Fabric, Fault, Machine, cluster
from conduits.sunfire.hardware.faults import FORMS, check_faults, schedule
from conduits.sunfire.protocol import DirectedPath, Layout, PoolShape, Service, Setting, SunfirePath, costs

_SIS, _Q = "sis", "q"
_at_least_1 = attrs.validators.ge(1)


@attrs.frozen
class Library:
    """How a version of the library cuts up messages.

    Attributes:
        short_limit: largest payload that goes in postboxes, bytes.
        small, large: bytes of the two kinds of blocks.
        smalls, larges: how many of each a pool has.
    """

    short_limit: int
    small: int
    large: int
    smalls: int
    larges: int


LIBRARIES: Mapping[str, Library] = {
    _SIS: Library(
        *map(c.whole, (costs.SIS_SHORT, costs.SIS_SMALL, costs.SIS_LARGE, costs.SIS_SMALLS, costs.SIS_LARGES))
    ),
    _Q: Library(c.whole(costs.Q_SHORT), c.whole(costs.Q_BLOCK), c.whole(costs.Q_BLOCK), c.whole(costs.Q_BLOCKS), 0),
}


@attrs.frozen(kw_only=True)
class SunfireOptions(SimOptions):
    """The options of `sunfire`."""

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
    poll: Literal["general", "directed"] = option(
        "general", "a poll looks at every connection, or at the one that is waited for"
    )
    outstanding: int = option(
        c.whole(costs.OUTSTANDING),
        "requests from one rank to another without their reply; space for as many replies is set aside",
        validator=[_at_least_1, attrs.validators.le(64)],
        conformance=(c.whole(costs.OUTSTANDING), 1),
    )
    fault: Literal["none"] | tuple[str, ...] = option(
        "none",
        "what fails and comes back, and when",
        allowed=FORMS + "; joined by +; or none",
        conformance=("none", ("ni0.0~700us/300us", "links%1e-6")),
    )

    def __attrs_post_init__(self) -> None:
        """Check that what is to fail is there."""
        check_faults(self.faults, self.machine(c.whole(c.DIRECT_HOSTS)))

    @property
    def faults(self) -> tuple[str, ...]:
        """The entries of the schedule of faults."""
        return () if isinstance(self.fault, str) else self.fault

    def machine(self, hosts: int) -> Machine:
        """Return the cluster for a job on so many hosts."""
        return cluster(self.config, nis=self.nis, switched=self.wiring == "switched", hosts=hosts)


class Sunfire(SimulatedConduit):
    """Active Messages over Sun Fire Link, on a simulated cluster.

    Source: the memory areas, postboxes, pools and acknowledgements are those of Sun MPI (Sistare and Jackson 2002,
    section 3; the Queen's University evaluation, section IV); see README.md beside this file.
    """

    name = "sunfire"
    summary = "Sun Fire Link: lines of 64 bytes stored by CPUs, striped over links that may fail; after Sun MPI"
    Options: ClassVar[type] = SunfireOptions
    constants: ClassVar[tuple[Constant, ...]] = (*c.CONSTANTS, *costs.CONSTANTS)

    def __init__(self, options: SunfireOptions, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        weak, careful = options.order == "weak", bool(options.faults)
        machine = options.machine(max(setup.hosts) + 1)
        self.fabric = Fabric(
            self.kernel,
            machine,
            stripes=options.stripes,
            weak=weak,
            careful=careful,
            piece=options.piece,
        )
        if careful:
            schedule(self.fabric, _faults(options, machine))
        self._exchange = Exchange()
        hosts = range(max(setup.hosts) + 1)
        self._first = tuple(setup.hosts.index(host) for host in hosts)
        self._readers: dict[int, dict[int, SunfirePath]] = {host: {} for host in hosts}
        layout = layout_of(options, max(map(setup.hosts.count, hosts)))
        services = {host: self._service(host, layout) for host in hosts}
        self._setting = Setting(setup.hosts, self._first, layout, self.host_model, services)
        self._path = SunfirePath if options.poll == "general" else DirectedPath

    def _service(self, host: int, layout: Layout) -> Service:
        """Start a host's service process, on a CPU that no rank has."""
        process = SunFire(self.fabric, host, c.whole(c.CPUS), Cpu(self.kernel))
        return Service(self._controller(process), layout, self._readers[host])

    def _controller(self, process: SunFire) -> Controller:
        """Return the controller of all NIs, for one process, which pays for it."""
        rsm = Rsm(process, self._exchange)
        topology = rsm.get_topology()
        controller = rsm.get_controller(topology.controllers[0].name)
        rsm.free_topology(topology)
        return controller

    @classmethod
    def limits(cls, options: SunfireOptions) -> Limits:
        """Return the limits, the same in both configurations."""
        longest = c.whole(costs.MAX_LONG)
        return Limits(c.whole(costs.MAX_ARGS), c.whole(costs.MEDIUM), longest, longest)

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
        return options.machine(c.whole(c.DIRECT_HOSTS)).hosts

    @classmethod
    def thresholds(cls, options: SunfireOptions) -> tuple[int, ...]:
        """Return the first payload size that does not go in postboxes, and sizes of blocks."""
        library = LIBRARIES[options.config]
        return (library.short_limit + 1, library.large, 2 * library.large)

    @classmethod
    def raw_tables(cls, options: SunfireOptions) -> Sequence[RawTable]:
        """Return RSM's benchmarks."""
        tables = raw.tables(options.machine(2), options.stripes, options.piece)
        named = {"the faults": options.faults, "the weak order": options.order == "weak"}
        without = " and ".join(what for what, is_named in named.items() if is_named)
        if not without:
            return tables
        return [attrs.evolve(table, note=f"{table.note}; without {without} of the spec") for table in tables]

    @classmethod
    def raw_time(cls, options: SunfireOptions, category: Category, nbytes: int, *, round_trip: bool) -> float | None:
        """Return what mapped stores of so many bytes take between two hosts, in seconds."""
        one_way = raw.one_way(options.machine(2), options.stripes, options.piece, nbytes)
        return 2 * one_way if round_trip else one_way

    def make_host(self) -> HostModel:
        """Return the costs of a Sun Fire 6800."""
        return host_model()

    def make_path(self, port: SimulatedPort) -> Path:
        """Return a rank's end of the network."""
        place = port.rank - self._first[port.host]
        process = SunFire(self.fabric, port.host, place, port.cpu)
        path = self._path(port, process, self._controller(process), self._setting)
        self._readers[port.host][place] = path
        return path

    def exchange_ticks(self) -> int:
        """Return the cost of an all-gather of identifiers: a round for each doubling."""
        return (self.setup.ranks - 1).bit_length() * c.ps(costs.EXCHANGE_ROUND)


def _faults(options: SunfireOptions, machine: Machine) -> tuple[Fault, ...]:
    """Read the schedule for the job's own cluster, which direct wiring makes smaller than what the options allow."""
    try:
        return check_faults(options.faults, machine)
    except ValueError as error:
        raise BadRequest(f"option 'fault' of conduit 'sunfire': {error}") from None


def layout_of(options: SunfireOptions, receivers: int) -> Layout:
    """Return how areas and pairs are laid out, with up to so many ranks on a host."""
    library = LIBRARIES[options.config]
    return Layout(
        short_limit=library.short_limit,
        max_medium=c.whole(costs.MEDIUM),
        postboxes=c.whole(costs.POSTBOXES),
        outstanding=options.outstanding,
        pool=PoolShape(library.small, library.large, library.smalls, library.larges),
        receivers=receivers,
        page=c.whole(c.MIN_SEGMENT),
    )


def host_model() -> HostModel:
    """Return the costs of a Sun Fire 6800."""
    return HostModel(
        copy_bytes_per_s=c.bytes_per_s(costs.COPY_RATE),
        copy_call_ps=c.ps(costs.COPY_START),
        flops_per_s=c.whole(c.CLOCK) * 1_000_000 * c.whole(c.FLOPS_PER_CYCLE),
        line_ps=c.ps(costs.SHARED_LINE),
        poll_ps=costs.POLL_PS + costs.HEAD_PS,
        message_ps=c.ps(costs.SHARED_MESSAGE),
    )
