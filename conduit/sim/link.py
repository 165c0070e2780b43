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

from conduit.sim.kernel import Kernel
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
        "_busy", "_nbytes", "_queue", "_released", "_transfers", "_waited", "_waits", "bytes_per_s", "free_at",
        "kernel", "name",
    )  # fmt: skip

    def __init__(self, kernel: Kernel, bytes_per_s: int, name: str = "") -> None:
        self.kernel = kernel
        self.bytes_per_s = bytes_per_s
        self.name = name
        self.free_at = 0
        """When the transfers that have it now will have left it, picoseconds."""
        self._queue: deque[tuple[int, Callable[[int], object]]] = deque()
        self._released = False
        self._transfers = self._nbytes = self._busy = self._waits = self._waited = 0

    def duration(self, nbytes: int) -> int:
        """Return how many picoseconds `nbytes` take, rounded up."""
        return -(-nbytes * PS_PER_S // self.bytes_per_s)

    def is_free(self, when: int) -> bool:
        """Return whether a head that gets there at `when` picoseconds finds the link free."""
        return self.free_at <= when and not self._queue

    def take(self, head: int, nbytes: int) -> int:
        """Reserve the link for `nbytes` whose head gets there at `head`; return when it is free again."""
        took = -(-nbytes * PS_PER_S // self.bytes_per_s)
        self.free_at = end = head + took
        self._transfers += 1
        self._nbytes += nbytes
        self._busy += took
        return end

    def wait(self, head: int, go: Callable[[int], object]) -> None:
        """Queue for the link: `go(when)` is called in an event at its release, when it is free.

        Args:
            head: when the head gets to the link, picoseconds.
            go: must take the link.
        """
        self._queue.append((head, go))
        if not self._released:
            self._released = True
            self.kernel.at(self.free_at, self._release)

    def statistics(self) -> LinkStatistics:
        """Return what it has carried so far."""
        return LinkStatistics(self._transfers, self._nbytes, seconds(self._busy), self._waits, seconds(self._waited))

    def _release(self) -> None:
        """Let the first in the queue have the link, and come back when that one leaves it."""
        self._released = False
        head, go = self._queue.popleft()
        when = max(head, self.kernel.now)
        self._waits += 1
        self._waited += when - head
        go(when)
        if self._queue and not self._released:
            self._released = True
            self.kernel.at(max(self.free_at, self.kernel.now), self._release)


def carry(
    hops: Sequence[Hop], nbytes: int, head: int, tail: int, then: Callable[[int], object], first: int = 0
) -> None:
    """Carry `nbytes` over a route of links whose first one the caller has: free, or just granted.

    Args:
        hops: the links of the route, each with the delay to what follows it.
        nbytes: bytes on every link, packet headers included.
        head: when the first byte gets to hop `first`, picoseconds, not before the kernel's time.
        tail: when the last byte gets there.
        then: called as `then(arrival)` with the time at which the last byte gets to the far end: at
            once where no link is busy, else in a later event that is not after the arrival.
        first: index of the hop to begin with.
    """
    granted = True
    for index in range(first, len(hops)):
        link, delay = hops[index]
        if not granted and (link.free_at > head or link._queue):
            link.wait(head, _Rest(hops, nbytes, tail, then, index))
            return
        granted = False
        end = link.take(head, nbytes)
        head += delay
        tail = (end if end > tail else tail) + delay
    then(tail)


class _Rest:
    """What is left of a transfer that waits for a link."""

    __slots__ = ("hops", "index", "nbytes", "tail", "then")

    def __init__(self, hops: Sequence[Hop], nbytes: int, tail: int, then: Callable[[int], object], index: int) -> None:
        self.hops = hops
        self.nbytes = nbytes
        self.tail = tail
        self.then = then
        self.index = index

    def __call__(self, when: int) -> None:
        # What came after the head while it waited has piled up behind it: the tail follows as
        # closely as the link and its own lateness let it.
        carry(self.hops, self.nbytes, when, max(self.tail, when), self.then, self.index)
