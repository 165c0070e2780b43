"""The network on a simulated MPI library, with a class for each: options, costs, and what is made for each rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar, Literal

import attrs

from conduit.contract import Constant, Core, Costs, Limits
from conduit.options import option
from conduit.simnet import HostModel, SimulatedConduit, SimulatedPort, Transport
from conduits.mpi import constants as c
from conduits.mpi.awaited.process import CURRENT
from conduits.mpi.awaited.same_calls import SameCalls
from conduits.mpi.engine.engine import Engine
from conduits.mpi.engine.plain import EngineLibrary
from conduits.mpi.libraries.installation import Installation
from conduits.mpi.simulated.port import SimulatedMpiPort
from conduits.mpi.simulated.process import SimulatedProcess
from conduits.mpi.simulated.transport import LibraryTransport
from conduits.mpi.wire import MAX_ARGS

MAX_LONG = 1 << 30
_STYLES = Literal["flat", "broadcast", "nodes"]
_STYLES_WITH_EXCHANGE = Literal["flat", "broadcast", "nodes", "exchange"]


def _common_options(library: type[Installation]) -> dict[str, Any]:
    """Return the options that every simulated library has beside those of its own."""
    return {
        "collectives": option(
            library.collectives, "the usual algorithms of MPI's collectives: flat is blind to who shares a host; with "
            "nodes one rank speaks for those of its host, with broadcast in broadcasts alone"
            + ("; with exchange besides through shared buffers within a host" if library.exchanges else ""),
        ),
        "credits": option(
            c.whole(c.CREDITS), "requests under way from one rank to another", validator=attrs.validators.and_(
                attrs.validators.ge(1), attrs.validators.le(1024)
            ), conformance=(c.whole(c.CREDITS), 1),
        ),
        "medium": option(
            c.whole(c.MEDIUM), "bytes of the largest medium payload; longer long ones travel by themselves",
            validator=attrs.validators.and_(attrs.validators.ge(512), attrs.validators.le(1 << 20)),
            conformance=(c.whole(c.MEDIUM), 512),
        ),
    }  # fmt: skip


class SimulatedMpi(SimulatedConduit):
    """Active Messages on a simulated MPI library; `on` makes the class for one."""

    name: ClassVar[str] = "mpi"
    library: ClassVar[type[Installation]]
    alone = False
    """Whether the program is one of MPI alone."""

    @classmethod
    def limits(cls, options: Any) -> Limits:
        """Return the limits."""
        return Limits(MAX_ARGS, options.medium, MAX_LONG, MAX_LONG)

    @classmethod
    def thresholds(cls, options: Any) -> tuple[int, ...]:
        """Return the size from which a long payload is a message of its own."""
        return (options.medium,)

    @classmethod
    def costs(cls, options: Any) -> Costs:
        """Return what messages cost, as far as the library says."""
        return cls.library.costs(options)

    @classmethod
    def max_ranks_per_host(cls, options: Any) -> int | None:
        """Return how many processes a host holds."""
        return cls.library.max_ranks_per_host(options)

    @classmethod
    def max_hosts(cls, options: Any) -> int | None:
        """Return how many hosts the network can have."""
        return cls.library.max_hosts(options)

    def on_their_way(self) -> int:
        """Return how many messages of MPI have been sent and have not come to their ranks."""
        return sum(port.library.engine.balance() for port in self.ports if isinstance(port, SimulatedMpiPort))

    def make_host(self) -> HostModel:
        """Install the library; return the costs of its hosts."""
        self.installation = self.library(self.kernel, self.setup, self.options)
        self.same_calls = SameCalls()
        return self.installation.host

    def make_port(self, rank: int, core: Core) -> SimulatedMpiPort:
        """Return the port of a rank."""
        return SimulatedMpiPort(self, rank, core)

    def make_transport(self, port: SimulatedPort) -> Transport:
        """Return the library as a rank uses it."""
        assert isinstance(port, SimulatedMpiPort)
        library = self.installation
        engine = Engine(port, library.software, library.host, library.device)
        port.library, port.worker = EngineLibrary(engine), engine.worker
        port.transport = LibraryTransport(port, port.library, library.layer, self.options)
        return port.transport

    def start_process(self, port: SimulatedMpiPort) -> Callable[[], None]:
        """Let the awaited names find the rank whose task runs; return what ends that."""
        process = SimulatedProcess(port)
        CURRENT.set(process)
        return process.end

    def make_shared_transport(self, port: SimulatedPort, neighbours: Any, size: int) -> None:
        """Return None: the library has ways of its own between the ranks of a host."""

    def allgather_ticks(self) -> int:
        """Return what an all-gather at attach costs."""
        return self.installation.allgather_ticks(self.setup.ranks)

    def host_statistics(self) -> Mapping[int, Mapping[str, int]]:
        """Return what the hosts' shared parts have done."""
        return self.installation.host_statistics()

    def quiet(self) -> bool:
        """Return whether all messages have been handled, and all that was sent besides is away.

        Of a program of MPI alone it has come, too: to where it is seen that nobody has received it.
        """
        return (
            super().quiet()
            and all(port.library.engine.quiet() for port in self.ports if isinstance(port, SimulatedMpiPort))
            and not (self.alone and self.on_their_way() > 0)
        )


@cache
def on(library: type[Installation]) -> type[SimulatedMpi]:
    """Return the network of Active Messages on a library."""
    fields = _common_options(library)
    fields |= {
        "__annotations__": {
            "collectives": _STYLES_WITH_EXCHANGE if library.exchanges else _STYLES,
            "credits": int,
            "medium": int,
        },
        "__doc__": library.Options.__doc__,
        "__module__": __name__,
    }
    options = attrs.frozen(kw_only=True)(type(f"{library.__name__}Options", (library.Options,), fields))
    constants: tuple[Constant, ...] = (*c.CONSTANTS, *library.constants)
    return type(
        library.__name__,
        (SimulatedMpi,),
        {
            "__doc__": library.__doc__, "__module__": library.__module__, "library": library, "Options": options,
            "summary": library.summary, "constants": constants,
        },
    )  # fmt: skip
