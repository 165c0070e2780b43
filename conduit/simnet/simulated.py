"""What all simulated networks have in common: the kernel, the hosts, and the allgathers at attach."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from conduit.contract import Conduit, Core, JobSetup
from conduit.contract.returned import TICKS, Returns, is_counts, look_at_returned
from conduit.errors import BadRequest, ConduitError
from conduit.sim import Kernel
from conduit.simnet.allgather import Allgather
from conduit.simnet.barrier import HardwareBarrier, Meetings
from conduit.simnet.checked import Ledger, check, check_links
from conduit.simnet.checked_unit import check_unit
from conduit.simnet.host import HostModel
from conduit.simnet.looking import is_looked_at
from conduit.simnet.observed import InFlight, observe
from conduit.simnet.onesided import Native, OneSidedPort, Unit
from conduit.simnet.port import SimulatedPort
from conduit.simnet.shm import SharedMemoryTransport
from conduit.simnet.transport import Transport
from conduit.simnet.underived import meant, meant_by
from conduit.simnet.untold import lost
from conduit.words import plain

_Made = TypeVar("_Made")
_RETURNS = {
    "start_ticks": TICKS,
    "allgather_ticks": TICKS,
    "host_statistics": Returns(
        lambda found: (
            isinstance(found, Mapping) and {int}.issuperset(map(type, found)) and all(map(is_counts, found.values()))
        ),
        'a dict by host of dicts of counts by name, whole numbers, as {0: {"x_count": 3}}',
    ),
}
MAX_RANKS = 1 << 20
"""Of a job: with 20 KB for each, what the largest machines of today have memory for."""


class SimulatedConduit(Conduit):
    """A network on simulated hardware; give it a name, options, limits, a host and a transport.

    Attributes:
        kernel: the job's virtual time.
        under_way: messages, replies and empty ones included, that ports have sent over transports and that have not
            been handled; a job ends when there are none.
        running: ranks that have not returned from main.
        ports: of the ranks, by rank.
        transports: the network as each rank sees it, by rank.
    """

    simulated: ClassVar[bool] = True
    _instead: ClassVar = dict.fromkeys(
        ("kernel", "options", "setup", "world", "host_model"),
        "call `super().__init__(options, setup, world)` first in its __init__",
    )
    auxiliary: ClassVar[int] = 1 << 20  # assumed: takes none of this machine's memory until it is used

    def __init_subclass__(cls) -> None:
        """Let what networks say of themselves be looked at as it is returned."""
        super().__init_subclass__()
        look_at_returned(cls, _RETURNS)

    def __init__(self, options: Any, setup: JobSetup, world: Any) -> None:
        super().__init__(options, setup, world)
        assert isinstance(world, Kernel)
        self.kernel = world
        self.under_way = 0
        self.running = setup.ranks
        self._over = False
        self.ports: list[SimulatedPort] = []
        self.transports: list[Any] = []
        self._ledger = Ledger()  # where it is looked at
        self._looked_at = is_looked_at()
        if self._looked_at:
            check_links(self.kernel, self._ledger, self.ports)
        self.host_model = self.make_host()
        if not isinstance(self.host_model, HostModel):
            raise ConduitError(f"{type(self).__name__}.make_host returned {self.host_model!r}; return a HostModel")
        self.host_model = self.host_model.on(self.kernel)
        self._allgathers: list[Allgather] = []
        self._in_flight = InFlight()  # where somebody listens
        self._came = [0] * setup.ranks
        self._neighbours: dict[int, dict[int, SharedMemoryTransport]] = {}
        self._on_host = Counter(setup.hosts)

    @classmethod
    def placement(cls, options: Any, ranks: int, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank; see `conduit.contract.Conduit.placement`.

        Raises:
            BadRequest: it does not fit, or is more than a machine could simulate.
        """
        if ranks > MAX_RANKS:
            raise BadRequest(
                f"ranks={ranks} is more than a simulation can have; use at most {MAX_RANKS}, and fewer where memory is "
                "short: a rank takes some 20 KB of it"
            )
        return super().placement(options, ranks, ranks_per_host)

    def make_host(self) -> HostModel:
        """Return what the hosts of this network cost; by default round figures (`conduit.simnet.host.ASSUMED`)."""
        return HostModel()

    @abstractmethod
    def make_transport(self, port: SimulatedPort) -> Transport:
        """Return the network as `port.rank` sees it."""

    def make_port(self, rank: int, core: Core) -> SimulatedPort:
        """Return the port of a rank without its transports; for networks whose calls do more than the common ones."""
        kind = OneSidedPort if getattr(self.options, "rma", "am") == "native" else SimulatedPort
        return kind(self, rank, core)

    def make_unit(self, port: OneSidedPort) -> Unit:
        """Return what does the native one-sided operations of `port.rank`; for options with `rma` alone."""
        raise ConduitError(
            f"{type(self).__name__}.make_unit is not defined; return a conduit.simnet.Unit, or derive the options from "
            "SimOptions, which have no rma"
        )

    def make_barrier(self) -> HardwareBarrier | None:
        """Return what barriers of the network's own take, None where it has none; beside a `make_unit` alone."""
        return None

    def make_shared_transport(
        self, port: SimulatedPort, neighbours: dict[int, SharedMemoryTransport], size: int
    ) -> SharedMemoryTransport | None:
        """Return the host's memory as `port.rank` sees it, with `size` ranks on the host; None: the network serves."""
        max_medium = self.limits(self.options).max_medium
        return SharedMemoryTransport(port, self.host_model, max_medium, neighbours, size)

    def start_ticks(self) -> int:
        """Return what start-up costs a rank, picoseconds."""
        return 0

    def allgather_ticks(self) -> int:
        """Return what an all-gather at attach costs, picoseconds."""
        return 0

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return by host what its shared parts have done (links, engines, locks), as `{0: {"link_busy": 3}}`.

        Asked once, at the job's end.
        """
        return {}

    @cached_property
    def shared_counts(self) -> Mapping[int, Mapping[str, int]]:
        """What `host_statistics` returns, for ports."""
        found = self.host_statistics()
        if not found.keys() <= self.lowest.keys():
            host = min(found.keys() - self.lowest.keys())
            raise ConduitError(
                f"{type(self).__name__}.host_statistics returned counts of host {host}; the hosts of this job are "
                f"0 to {len(self.lowest) - 1}: count by host, as in self.setup.hosts"
            )
        return found

    @cached_property
    def lowest(self) -> Mapping[int, int]:
        """The lowest rank of each host."""
        return {host: rank for rank, host in reversed(tuple(enumerate(self.setup.hosts)))}

    def port(self, rank: int, core: Core) -> SimulatedPort:
        """Make the port of `rank`: the network, and the host's memory where it is shared."""
        if not hasattr(self, "host_model"):
            raise ConduitError(f"{type(self).__name__}.__init__ has not called super().__init__(options, setup, world)")
        port = self.make_port(rank, core)
        if core.hooks is not None:
            observe(port, core.hooks, self._in_flight)
        if self._looked_at:
            check(port, self._ledger)
        transport = self._checked_transport(port)
        port.add_transport(transport)
        self.transports.append(transport)
        host = self.setup.hosts[rank]
        size = self._on_host[host]
        if size > 1:
            neighbours = self._neighbours.setdefault(host, {})
            shared = self.make_shared_transport(port, neighbours, size)
            if shared is not None:
                port.add_transport(shared)
        if isinstance(port, OneSidedPort):
            port.native = Native(port, self._checked_unit(port), self._meetings)
        self.ports.append(port)
        return port

    def _checked_transport(self, port: SimulatedPort) -> Transport:
        """Return the network's transport for `port`, which has what the port counts on."""
        transport: object = self._made("make_transport", lambda: self.make_transport(port), Transport)
        if not isinstance(transport, Transport):
            remedy = meant(transport, Transport) or "return a Transport"
            raise ConduitError(f"{type(self).__name__}.make_transport returned {transport!r}; {remedy}")
        name = type(transport).__name__
        self._check_port(transport, port)
        miss = getattr(transport, "miss_ps", None)
        if miss is None:
            raise ConduitError(f"{name} has no miss_ps; set it to what one poll costs that finds nothing, picoseconds")
        if not isinstance(miss, int) or miss < 0:
            raise ConduitError(
                f"{name}.miss_ps={miss} is no int of picoseconds from 0 on; use conduit.sim.units.ps(seconds) or round"
            )
        return transport

    def _checked_unit(self, port: OneSidedPort) -> Unit:
        """Return what does the native operations of `port`, where the network is looked at one that is as well."""
        unit: object = self._made("make_unit", lambda: self.make_unit(port), Unit)
        if not isinstance(unit, Unit):
            remedy = meant(unit, Unit) or "return a conduit.simnet.Unit"
            raise ConduitError(f"{type(self).__name__}.make_unit returned {unit!r}; {remedy}")
        self._check_port(unit, port)
        if self._looked_at:
            check_unit(unit)
        return unit

    @cached_property
    def _meetings(self) -> Meetings | None:
        """The network's own barriers."""
        hardware: object = self._made("make_barrier", self.make_barrier, HardwareBarrier)
        if hardware is None:
            return None
        if not isinstance(hardware, HardwareBarrier):
            remedy = meant(hardware, HardwareBarrier) or "return a conduit.simnet.HardwareBarrier, or None"
            raise ConduitError(f"{type(self).__name__}.make_barrier returned {hardware!r}; {remedy}")
        access = getattr(hardware, "access_ps", None)
        if not isinstance(access, int) or access < 0:
            raise ConduitError(
                f"{type(hardware).__name__}.access_ps={access} is no int of picoseconds from 0 on; set it to what an "
                "arrival takes the CPU, by conduit.sim.units.ps(seconds) or round"
            )
        return Meetings(self.kernel, self.setup.ranks, hardware, self._all_arrived)

    def _all_arrived(self) -> None:
        """From here on the hardware alone leads to what ranks are told: the job is not over before (E1)."""
        self.under_way += self.setup.ranks

    def _check_port(self, made: object, port: SimulatedPort) -> None:
        """Refuse what has not been given its rank's port, or something else in its place."""
        found, name = getattr(made, "port", None), type(made).__name__
        if found is None:
            raise ConduitError(f"{name}.__init__ has not called super().__init__(port)")
        if found is not port:
            raise ConduitError(f"{name}.__init__ has called super().__init__ with {plain(found)}; pass the port")

    def _made(self, method: str, make: Callable[[], _Made], base: type) -> _Made:
        """Return what a method makes, of a class that has all that it must have and derives from `base`."""
        try:
            return make()
        except (TypeError, AttributeError) as error:
            if str(error).startswith("Can't instantiate abstract class"):
                raise ConduitError(f"{type(self).__name__}.{method}: {error}; define what it lacks") from None
            if text := meant_by(error, base):
                raise ConduitError(f"{type(self).__name__}.{method}: {error}; {text}") from error
            raise

    def allgather(self, rank: int) -> Allgather:
        """Return the allgather that `rank` comes to next."""
        round_ = self._came[rank]
        self._came[rank] += 1
        if round_ == len(self._allgathers):
            self._allgathers.append(Allgather(self.kernel, self.setup.ranks, self.allgather_ticks(), self.recheck))
        return self._allgathers[round_]

    def over(self) -> bool:
        """Return whether all ranks have returned and all messages have been handled (E1)."""
        if not self._over and not self.running and self.quiet():
            self._over = True
            for port in self.ports:
                port.close()
            self.recheck()
        return self._over

    def lost(self) -> int:
        """Return how many messages were sent and are nowhere, asked where nothing can happen any more."""
        return lost(self)

    def recheck(self) -> None:
        """Let all blocked tasks look again at what they wait for; one event each keeps their order."""
        for port in self.ports:
            self.kernel.at(self.kernel.now, port.recheck)

    def quiet(self) -> bool:
        """Return whether every message that was sent has been handled, and no layer above is about to send."""
        return not self.under_way and not any(
            core.local or core.progress_due or core.progressing for core in (port.core for port in self.ports)
        )
