"""Links that carry bytes at a rate, one transfer at a time, and transfers over a route of links.

The head of a transfer moves on as soon as it can (cut-through); a link is taken from the moment the
head gets there for as long as the bytes need at the link's rate.

A route is reserved in one go as long as each link is free when the head gets there.  At the first
busy link the rest is left to an event at that link's release (rules.md T7): one event per wait,
none per hop.  Who waits for a link gets it in the order of arrival.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from conduit.sim.kernel import FOREVER, Kernel
from conduit.sim.units import PS_PER_S, seconds

Hop: TypeAlias = "tuple[Link, int]"
"""A link and the delay in picoseconds from its near end to the near end of what follows."""


class LinkStatistics(NamedTuple):
    """What a link has carried.

    Attributes:
        transfers: transfers, or pieces of them.
        nbytes: bytes.
        busy: seconds during which it was taken.
        waits: transfers that found it busy.
        waited: seconds that these waited, in sum.
    """

    transfers: int
    nbytes: int
    busy: float
    waits: int
    waited: float


class Link:
    """One resource that carries bytes at a rate: a cable, a bus, a port of a switch.

    Args:
        kernel: whose time it lives in.
        bytes_per_s: its rate.
        name: for reports.
    """

    __slots__ = (
        "_carried",
        "_plans",
        "_queue",
        "_until",
        "_waited",
        "_waits",
        "bytes_per_s",
        "free_at",
        "kernel",
        "name",
    )

    def __init__(self, kernel: Kernel, bytes_per_s: int, name: str = "") -> None:
        self.kernel = kernel
        self.bytes_per_s = bytes_per_s
        self.name = name
        self.free_at = 0
        """From when on a newcomer may have it, picoseconds; never while others wait for it."""
        self._until = 0
        self._queue: deque[tuple[int, Callable[[int], object]]] = deque()
        self._plans: list[_Plan] = []
        self._carried: dict[int, int] = {}
        self._waits = self._waited = 0

    def duration(self, nbytes: int) -> int:
        """Return how many picoseconds `nbytes` take, rounded up."""
        return -(-nbytes * PS_PER_S // self.bytes_per_s)

    def wait(self, head: int, go: Callable[[int], object]) -> None:
        """Queue for the link: `go(when)` is called in an event at its release, when it is free.

        Args:
            head: when the head gets to the link, picoseconds.
            go: must begin a transfer over the link.
        """
        self._queue.append((head, go))
        if self.free_at < FOREVER:
            self._close()

    def statistics(self) -> LinkStatistics:
        """Return what it has carried so far."""
        carried = [*self._carried.items(), *((plan.nbytes, plan.uses) for plan in self._plans)]
        transfers = sum(times for _, times in carried)
        nbytes = sum(size * times for size, times in carried)
        busy = sum(self.duration(size) * times for size, times in carried)
        return LinkStatistics(transfers, nbytes, seconds(busy), self._waits, seconds(self._waited))

    def count(self, nbytes: int) -> None:
        """Count a transfer that some other link of its route kept waiting."""
        self._carried[nbytes] = self._carried.get(nbytes, 0) + 1

    def _close(self) -> None:
        """Keep newcomers behind those who wait, until the link is released."""
        self._until, self.free_at = self.free_at, FOREVER
        self.kernel.at(max(self._until, self.kernel.now), self._release)

    def _release(self) -> None:
        """Let the first in the queue have the link, and come back when that one leaves it."""
        self.free_at = self._until
        head, go = self._queue.popleft()
        when = max(head, self.kernel.now)
        self._waits += 1
        self._waited += when - head
        go(when)
        if self._queue and self.free_at < FOREVER:
            self._close()


class _Plan:
    """What a transfer of one size takes of a route.

    Attributes:
        nbytes: the size.
        steps: each link, when the head gets there after the start, and how long it is taken.
        longest: the longest of these.
        uses: transfers that found all links free.
    """

    __slots__ = ("longest", "nbytes", "steps", "uses")

    def __init__(self, nbytes: int, steps: Sequence[tuple[Link, int, int]]) -> None:
        self.nbytes = nbytes
        self.steps = steps
        self.longest = max(took for _, _, took in steps)
        self.uses = 0


class Route:
    """Links in order, with the delay from each to the next.

    Args:
        hops: the links, each with the delay to what follows it.
    """

    __slots__ = ("_plans", "hops", "latency")

    def __init__(self, hops: Sequence[Hop]) -> None:
        self.hops = tuple(hops)
        self.latency = sum(delay for _, delay in hops)
        self._plans: dict[int, _Plan] = {}

    @property
    def first(self) -> Link:
        """The link that the sender feeds."""
        return self.hops[0][0]

    def carry(self, nbytes: int, head: int, tail: int, then: Callable[[int], object]) -> int:
        """Carry `nbytes` over the route.

        Args:
            nbytes: bytes on every link, packet headers included.
            head: when the first byte gets to the first link, picoseconds, not before the kernel's time.
            tail: when the last byte gets there.
            then: called as `then(arrival)` in a later event, not after the arrival, where a link is busy.

        Returns:
            The time at which the last byte gets to the far end, if no link is busy; else 0, and
            `then` will be told.
        """
        plan = self._plans.get(nbytes) or self._plan(nbytes)
        for link, after, took in plan.steps:
            begin = head + after
            if link.free_at > begin:
                self._wait(plan, link, begin, tail, then)
                return 0
            link.free_at = begin + took
        plan.uses += 1
        last = head + plan.longest
        return (last if last > tail else tail) + self.latency

    def _plan(self, nbytes: int) -> _Plan:
        steps = []
        after = 0
        for link, delay in self.hops:
            steps.append((link, after, link.duration(nbytes)))
            after += delay
        plan = self._plans[nbytes] = _Plan(nbytes, tuple(steps))
        for link, _ in self.hops:
            link._plans.append(plan)
        return plan

    def _wait(self, plan: _Plan, busy: Link, head: int, tail: int, then: Callable[[int], object]) -> None:
        """Leave the rest of a transfer, from the link `busy` on, to the event of its release.

        `head` is when the first byte gets to `busy`, `tail` when the last byte got to the first link.
        """
        slowest = 0
        for index, (link, after, took) in enumerate(plan.steps):
            if link is busy:
                tail = max(tail, head - after + slowest) + after
                link.wait(head, _Rest(self, index, plan.nbytes, tail, then))
                return
            slowest = max(slowest, took)
            link.count(plan.nbytes)


class _Rest:
    """What is left of a transfer that waits for a link."""

    __slots__ = ("index", "nbytes", "route", "tail", "then")

    def __init__(self, route: Route, index: int, nbytes: int, tail: int, then: Callable[[int], object]) -> None:
        self.route = route
        self.index = index
        self.nbytes = nbytes
        self.tail = tail
        self.then = then

    def __call__(self, when: int) -> None:
        """Go on, link by link, until another one is busy."""
        head, tail = when, max(self.tail, when)
        for index in range(self.index, len(self.route.hops)):
            link, delay = self.route.hops[index]
            if link.free_at > head:
                self.index, self.tail = index, tail
                link.wait(head, self)
                return
            link.free_at = head + link.duration(self.nbytes)
            link.count(self.nbytes)
            tail = max(tail, link.free_at) + delay
            head += delay
        self.then(tail)
