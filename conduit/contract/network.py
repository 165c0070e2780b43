"""One network, for one job: its class, which says what it can, and the object that makes the ports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, ClassVar

import attrs

from conduit.contract.message import Category
from conduit.contract.port import Core, Port
from conduit.contract.processes import Processes
from conduit.contract.records import Constant, Costs, Limits, RawTable
from conduit.contract.returned import OF_CLASS, look_at_returned
from conduit.contract.world import World
from conduit.errors import BadRequest, ConduitError
from conduit.words import many


class RankKind(Enum):
    """What a rank is: how a job on a network is started."""

    TASK = "a task of this process"
    PROCESS = "a process of its own"


@attrs.frozen
class JobSetup:
    """The job for which a conduit is made.

    Attributes:
        ranks: number of ranks.
        hosts: host index of every rank.
        segment: bytes of every rank's segment.
        seed: of everything random.
        auxiliary: bytes behind every rank's segment, of the same memory, for the layers above alone.
    """

    ranks: int
    hosts: tuple[int, ...]
    segment: int
    seed: int
    auxiliary: int = 0


class Conduit(ABC):
    """One network, for one job.

    Args:
        options: an instance of `Options`.
        setup: the job.
        world: the job's time: its simulation kernel where `simulated`, else `conduit.wall.WallClock`.
    """

    name: ClassVar[str]
    """As in the entry point; the registry refuses another."""
    summary: ClassVar[str] = ""
    """One line for `conduit list`."""
    simulated: ClassVar[bool] = False
    """Whether its time is virtual; who wants to know asks the resolved spec (`conduit.launch.registry.Spec`)."""
    rank_kind: ClassVar[RankKind] = RankKind.TASK
    """What its ranks are, and so how its jobs are started."""
    chooser: ClassVar[str] = ""
    """The option that says which network is meant, where the name stands for several; see `variants`."""
    other_names: ClassVar[Mapping[str, str]] = {}
    """What users may write for one of `variants`, for messages: `{"openmpi": "mpi4py"}`."""
    preferred: ClassVar[str] = ""
    """The value of that option where a spec gives none; "": the first of `variants`."""
    auxiliary: ClassVar[int] = 0
    """Bytes that every rank has for the layers above behind its segment, as far as `max_segment` leaves room.  Worth
    having where long messages cost less a byte than medium ones, which only `costs` tells layers."""
    alignment: ClassVar[int] = 1
    """Bytes of which offsets and sizes of long messages should be multiples, since the processor copies others first; 1
    where it copies none, or all.  For reports."""
    Options: ClassVar[type]
    """An attrs class made of `conduit.options.option` fields."""
    constants: ClassVar[tuple[Constant, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Let what the class says of itself be looked at as it is returned."""
        super().__init_subclass__()
        look_at_returned(cls, OF_CLASS, of_class=True)

    def __init__(self, options: Any, setup: JobSetup, world: World) -> None:
        self.options = options
        self.setup = setup
        self.world = world

    @classmethod
    def variants(cls) -> Sequence[str]:
        """Return the values of the option `chooser` that there are, by default the first; nothing where there is none.

        A class with variants has neither options nor limits of its own, and is never made: `variant` gives those
        that are, each with its own `Options`, under the same `name`.
        """
        return ()

    @classmethod
    def variant(cls, value: str) -> type[Conduit]:
        """Return the network that one of `variants` stands for; what only that one needs is imported here."""
        raise NotImplementedError(f"{cls.__name__}.variant is not defined; return the class for {value!r}")

    @classmethod
    @abstractmethod
    def limits(cls, options: Any) -> Limits:
        """Return what one message may carry under `options`."""

    @abstractmethod
    def port(self, rank: int, core: Core) -> Port:
        """Return the port of `rank`, which hands what arrives to `core`."""

    @classmethod
    def max_segment(cls, options: Any) -> int | None:
        """Return the largest segment in bytes, None where there is no limit."""
        return None

    @classmethod
    def larger_segment(cls, options: Any, segment: int) -> str:
        """Return what to do for a segment of a size over `max_segment`: "use sci:patched=yes"; "": nothing helps."""
        return ""

    @classmethod
    def auxiliary_beside(cls, options: Any, segment: int) -> int:
        """Return how much of `auxiliary` there is behind a segment of that size."""
        largest = cls.max_segment(options)
        return cls.auxiliary if largest is None else min(cls.auxiliary, largest - segment)

    @classmethod
    def check_segment(cls, options: Any, segment: int) -> None:
        """Raise BadRequest where the network refuses a segment of that size."""
        largest = cls.max_segment(options)
        if largest is not None and segment > largest:
            way = cls.larger_segment(options, segment)
            raise BadRequest(
                f"segment={segment} bytes is over the {largest} that {cls.name!r} can give; ask for at most that"
                + (f", or {way}" if way else "")
            )

    @classmethod
    def max_ranks_per_host(cls, options: Any) -> int | None:
        """Return how many ranks one host holds, None where any number does."""
        return None

    @classmethod
    def max_hosts(cls, options: Any) -> int | None:
        """Return how many hosts the network can have, None where any number."""
        return None

    @classmethod
    def placement(cls, options: Any, ranks: int, ranks_per_host: int | None) -> tuple[int, ...]:
        """Return the host of every rank: consecutive ranks share one.

        Raises:
            BadRequest: it does not fit; the text names the smallest `ranks_per_host` that does.
        """
        most, hosts = cls.max_ranks_per_host(options), cls.max_hosts(options)
        smallest = 1 if hosts is None else -(-ranks // hosts)
        if most is not None and smallest > most:
            raise BadRequest(
                f"ranks={ranks} does not fit on {cls.name!r}, with room for "
                f"{many(most, 'rank')} on each of {many(hosts or 1, 'host')}; "
                f"use at most {(hosts or 1) * most}"
            )
        chosen = smallest if ranks_per_host is None else ranks_per_host
        if chosen < smallest or (most is not None and chosen > most):
            raise BadRequest(
                f"ranks_per_host={chosen} does not fit {many(ranks, 'rank')} on {cls.name!r}; the smallest that does "
                f"is {smallest}" + (f", the largest {most}" if most is not None else "")
            )
        return tuple(rank // chosen for rank in range(ranks))

    @classmethod
    def announced(cls, options: Any) -> int | None:
        """Return how many processes the launcher that has started this one announces, 0 where it does not tell.

        None: no launcher has.  Asks the environment alone, and begins nothing.  Asked of networks whose ranks are
        processes, as are `start_command` and `join`.
        """
        raise ConduitError(f"the ranks of {cls.name!r} are no processes; {cls.__name__}.announced is not defined")

    @classmethod
    def start_command(cls, options: Any, ranks: int, program: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Return the command that starts that many processes, and the environment that it wants where nothing is set.

        Args:
            options: those of the network.
            ranks: how many.
            program: what stands behind the interpreter's name, as `["-m", "conduit", "run", "it.py"]`.

        Raises:
            BadRequest: this machine has no launcher.
        """
        raise ConduitError(f"the ranks of {cls.name!r} are no processes; {cls.__name__}.start_command is not defined")

    @classmethod
    def tells_end(cls, line: bytes) -> bool:
        """Say whether a line of standard error is the network's own word on which rank ends all processes, and why.

        Then nothing more is said of how a process has ended.

        Args:
            line: one that no rank of the job has said, without its end.
        """
        return False

    @classmethod
    def join(cls, options: Any) -> Processes:
        """Join the processes that were started with this one; again: return the same.

        Raises:
            ConduitError: they are not those that `announced` tells of.
        """
        raise ConduitError(f"the ranks of {cls.name!r} are no processes; {cls.__name__}.join is not defined")

    @classmethod
    def join_stops_threads(cls, options: Any) -> bool:
        """Say whether the next `join` may keep Python's other threads from running while it waits for processes."""
        return False

    @classmethod
    def thresholds(cls, options: Any) -> tuple[int, ...]:
        """Return payload sizes at which the network changes its way of sending, for the tests."""
        return ()

    @classmethod
    def costs(cls, options: Any) -> Costs:
        """Return what messages cost, as programs see it in `ep.costs`; made of options and constants alone.

        Layers above choose by it, on every rank for itself, so it must be the same on every rank.
        """
        return Costs()

    @classmethod
    def library_costs(cls, options: Any) -> Mapping[str, float]:
        """Return what calls of a vendor's libraries cost beside what the network takes, seconds, by their names.

        For layers that stand for such a library (`ep.library_cost`), from constants alone, the same on every rank.
        """
        return {}

    @classmethod
    def raw_tables(cls, options: Any) -> Sequence[RawTable]:
        """Return the driver's own benchmarks, nothing where there is no driver."""
        return ()

    @classmethod
    def raw_time(cls, options: Any, category: Category, nbytes: int, *, round_trip: bool) -> float | None:
        """Return what the bare driver takes for `nbytes`, in seconds, None where there is none."""
        return None
