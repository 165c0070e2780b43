"""The nodes of a machine and the links between them, as moves see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from conduit.sim import Kernel
from conduit.sim.link import Hop, Link, Route
from conduit.simnet.parts import link_counts
from conduits.globalmem.memory import Bank

Arrived: TypeAlias = Callable[[int], object]


class FreeRoute(Route):
    """A route over links of which each transfer has one of its own: as if it were alone."""

    __slots__ = ()

    def carry(self, nbytes: int, head: int, tail: int, then: Arrived, index: int = 0, *, whole: bool = False) -> int:
        """Carry `nbytes`; nothing is ever busy."""
        self.carried[nbytes] += 1
        last = head + self.slowest[nbytes]
        return (last if last > tail else tail) + self.latency


class Reach(NamedTuple):
    """How a node reaches the memory of another one, or its own.

    Attributes:
        there: the links to it; None from a node to itself.
        memory: the way into it.
        back: the links from it.
        latency: of those to it, picoseconds.
    """

    there: Route | None
    memory: Route
    back: Route | None
    latency: int


class MemoryFabric(ABC):
    """The memories of a machine's nodes, and ways between them; all made when they are first asked for.

    Args:
        kernel: its clock and events.
        line: bytes that a memory serves at once.
        service: what that takes it, picoseconds.
        rate: of each link and direction, bytes per second.
        contention: whether memories and links are shared; if not, each transfer finds them free.
    """

    def __init__(self, kernel: Kernel, *, line: int, service: int, rate: int, contention: bool) -> None:
        self.kernel = kernel
        self.line = line
        self.service = service
        self._rate = rate
        self._route = Route if contention else FreeRoute
        self._banks: dict[int, Route] = {}
        self._memories: dict[int, Bank] = {}
        self._ways: dict[tuple[int, int], Route | None] = {}
        self._links: dict[str, Link] = {}

    @abstractmethod
    def steps(self, source: int, target: int) -> Sequence[tuple[str, int]]:
        """Return the links from one node to another, each by its name with the delay behind it, picoseconds.

        A name says where the link begins and where it leads; traces and reports show it behind "link ".
        """

    def takes(self, nbytes: int) -> int:
        """Return how long a memory takes for bytes, picoseconds."""
        return -(-nbytes // self.line) * self.service

    def lines(self, runs: Sequence[int]) -> int:
        """Return the bytes of the lines in which runs of some sizes lie in memory."""
        line = self.line
        if len(runs) == 1:
            return -(-runs[0] // line) * line
        return sum(-(-size // line) * line for size in runs)

    def reach(self, source: int, target: int) -> Reach:
        """Return how a node reaches the memory of another one."""
        there = self.way(source, target)
        return Reach(there, self.memory(target), self.way(target, source), 0 if there is None else there.latency)

    def memory(self, node: int) -> Route:
        """Return the way into the memory of a node."""
        found = self._banks.get(node)
        if found is None:
            bank = self._memories[node] = Bank(self.kernel, self.line, self.service, f"memory {node}")
            found = self._banks[node] = self._route([(bank, 0)])
        return found

    def way(self, source: int, target: int) -> Route | None:
        """Return the links from one node to another; None from a node to itself."""
        key = source, target
        if key not in self._ways:
            hops: list[Hop] = [(self._link(name), delay) for name, delay in self.steps(source, target)]
            self._ways[key] = self._route(hops) if hops else None
        return self._ways[key]

    def _link(self, name: str) -> Link:
        found = self._links.get(name)
        if found is None:
            found = self._links[name] = Link(self.kernel, self._rate, f"link {name}")
        return found

    def statistics(self, node: int) -> Mapping[str, int]:
        """Return what the memory of a node has served."""
        memory = self._memories.get(node)
        return link_counts("memory", [] if memory is None else [memory])
