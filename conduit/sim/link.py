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


# For every rate how long each size takes, picoseconds.  All tables know the same sizes, so that a
# route asks once for all of its links.
_TABLES: dict[int, dict[int, int]] = {}


def _took(nbytes: int, rate: int) -> int:
    return -(-nbytes * PS_PER_S // rate)


def _table(rate: int) -> dict[int, int]:
    """Return the table of a rate, a new one with the sizes that the others know."""
    found = _TABLES.get(rate)
    if found is None:
        sizes = next(iter(_TABLES.values()), {})
        found = _TABLES[rate] = {nbytes: _took(nbytes, rate) for nbytes in sizes}
    return found


def _learn(nbytes: int) -> None:
    """Let all tables know a size."""
    for rate, table in _TABLES.items():
        table[nbytes] = _took(nbytes, rate)


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
        "_nbytes", "_queue", "_routes", "_transfers", "_until", "_waited", "_waits", "bytes_per_s", "free_at",
        "kernel", "name", "takes",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, bytes_per_s: int, name: str = "") -> None:
        self.kernel = kernel
        self.bytes_per_s = bytes_per_s
        self.name = name
        self.takes = _table(bytes_per_s)
        self.free_at = 0
        """From when on a newcomer may have it, picoseconds; never while others wait for it."""
        self._until = 0
        self._queue: deque[tuple[int, Callable[[int], object]]] = deque()
        self._routes: list[Route] = []
        self._transfers = self._nbytes = self._waits = self._waited = 0

    def wait(self, head: int, go: Callable[[int], object]) -> None:
        """Queue for the link: `go(when)` is called in an event at its release, when it is free.

        Args:
            head: when the head gets to the link, picoseconds.
            go: must begin a transfer over the link.
        """
        self._queue.append((head, go))
        if self.free_at < FOREVER:
            self._close()

    def take(self, head: int, nbytes: int) -> int:
        """Reserve the link, which is free when the head gets there; return when it is free again."""
        self.free_at = end = head + _took(nbytes, self.bytes_per_s)
        self.count(nbytes)
        return end

    def count(self, nbytes: int) -> None:
        """Count a transfer whose route does not count it, because some link of it was busy."""
        self._transfers += 1
        self._nbytes += nbytes

    def statistics(self) -> LinkStatistics:
        """Return what it has carried so far."""
        transfers = self._transfers + sum(route.transfers for route in self._routes)
        nbytes = self._nbytes + sum(route.nbytes for route in self._routes)
        return LinkStatistics(transfers, nbytes, nbytes / self.bytes_per_s, self._waits, seconds(self._waited))

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


class Route:
    """Links in order, with the delay from each to the next.

    Args:
        hops: the links, each with the delay to what follows it.

    Attributes:
        first: the link that the sender feeds.
        latency: the sum of the delays, picoseconds.
        transfers: how many found all links free.
        nbytes: of these.
    """

    __slots__ = ("first", "latency", "nbytes", "slowest", "steps", "transfers")

    def __init__(self, hops: Sequence[Hop]) -> None:
        self.first = hops[0][0]
        self.transfers = self.nbytes = 0
        after = 0
        steps = []
        slowest = self.first
        for link, delay in hops:
            steps.append((link, after, link.takes))
            after += delay
            link._routes.append(self)
            if link.bytes_per_s < slowest.bytes_per_s:
                slowest = link
        self.steps = tuple(steps)
        """Each link, how much later than the first the head gets there, and how long sizes take it."""
        self.slowest = slowest.takes
        self.latency = after

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
        if nbytes not in self.slowest:
            _learn(nbytes)
        for link, after, takes in self.steps:
            begin = head + after
            if link.free_at > begin:
                self._wait(link, nbytes, head, tail, then)
                return 0
            link.free_at = begin + takes[nbytes]
        self.transfers += 1
        self.nbytes += nbytes
        last = head + self.slowest[nbytes]
        return (last if last > tail else tail) + self.latency

    def _wait(self, busy: Link, nbytes: int, head: int, tail: int, then: Callable[[int], object]) -> None:
        """Leave the rest of a transfer, from the link `busy` on, to the event of its release."""
        slowest = 0
        for index, (link, after, takes) in enumerate(self.steps):
            if link is busy:
                link.wait(head + after, _Rest(self, index, nbytes, max(tail, head + slowest), then))
                return
            slowest = max(slowest, takes[nbytes])
            link.count(nbytes)


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
        route = self.route
        start = when - route.steps[self.index][1]
        tail = max(self.tail, start)
        for index in range(self.index, len(route.steps)):
            link, after, _ = route.steps[index]
            # The tail is kept as seen from the first link, so that only what holds it up moves it.
            if link.free_at > start + after:
                self.index, self.tail = index, tail
                link.wait(start + after, self)
                return
            tail = max(tail, link.take(start + after, self.nbytes) - after)
        self.then(tail + route.latency)
