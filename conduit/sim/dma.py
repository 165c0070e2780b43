"""Transfers that go piece by piece, and a DMA engine with a queue of descriptors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from conduit.sim.kernel import Kernel
from conduit.sim.link import Route
from conduit.sim.units import PS_PER_S, check_rate, check_ticks


class DmaStream:
    """One transfer at a source's own rate, which shares its links with others after every piece.

    A piece is fed when the one before has left the source and has got a place on every link.  It stands for many
    packets, between which those of others would go: so one that had to wait is made up for at the pace of the first
    link, and the source falls behind only where that has no more room.

    Args:
        kernel: its clock and events.
        route: the links; the source feeds the first.
        nbytes: what is transferred, at least 1.
        piece: bytes after which others may have the links.
        bytes_per_s: the rate of the source.
        wire: gives the bytes on the links for a number of bytes transferred (packet headers).
        fed: called as `fed(when)` in an event or at once when the source is done with the last
            piece, at `when` picoseconds.
        then: called as `then(arrival)` when it is known when the last byte arrives.
    """

    __slots__ = (
        "_bytes", "_due", "_fed", "_kernel", "_left", "_rate", "_route", "_size", "_tail", "_takes", "_then", "_wire",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Kernel,
        route: Route,
        nbytes: int,
        piece: int,
        bytes_per_s: int,
        wire: Callable[[int], int],
        fed: Callable[[int], object],
        then: Callable[[int], object],
    ) -> None:
        self._kernel = kernel
        self._route = route
        self._left = nbytes
        self._rate = bytes_per_s
        self._wire = wire
        self._fed = fed
        self._then = then
        self._tail = self._due = 0
        self._cut(min(nbytes, piece))

    def start(self, when: int) -> None:
        """Feed the first link from `when` picoseconds on, which is not before the kernel's time."""
        self._tail = when
        self._start_piece(when)

    def _cut(self, size: int) -> None:
        """Take note of the size of the next piece; nearly all are as long."""
        self._size = size
        self._takes = -(-size * PS_PER_S // self._rate)
        self._bytes = self._wire(size)

    def _start_piece(self, when: int) -> None:
        """Feed the next piece from `when` on, if the first link has room for it; else when it has."""
        if self._left < self._size:
            self._cut(self._left)
        first = self._route.first
        self._due = due = self._tail + self._takes
        if first.free_at > when and first.free_at + first.takes[self._bytes] > max(due, first.paced):
            first.wait(when, self._feed)
        else:
            self._feed(when)

    def _feed(self, when: int) -> None:
        """Feed one piece to the first link, which has room for it."""
        soonest = when + min(self._takes, self._route.first.takes[self._bytes])
        self._tail = tail = max(self._due, soonest)
        self._left -= self._size
        if not self._left:
            self._kernel.amid(self._fed, tail)
        arrival = self._route.carry(self._bytes, when, tail, self._placed)
        if arrival:
            self._placed(arrival)

    def _placed(self, arrival: int) -> None:
        if self._left:
            self._kernel.call(max(self._tail, self._kernel.now), self._resume)
        else:
            self._then(arrival)

    def _resume(self) -> None:
        """Go on: the piece before has been fed and has its place."""
        self._start_piece(self._kernel.now)


class DmaStatistics(NamedTuple):
    """What a DMA engine has done.

    Attributes:
        transfers: descriptors completed.
        nbytes: bytes they moved.
        longest_queue: descriptors that waited at once, the one in work not counted.
    """

    transfers: int
    nbytes: int
    longest_queue: int


class DmaEngine:
    """An engine that works off descriptors one at a time, in the order they were posted.

    Each costs its set-up, then streams at the engine's rate, and is complete when its last byte has
    arrived and the confirmation is back.

    Args:
        kernel: its clock and events.
        setup_ps: from taking a descriptor to its first byte, picoseconds.
        bytes_per_s: sustained rate.
        piece: bytes after which others may have the links.
        wire: gives the bytes on the links for a number of bytes transferred.
        name: for reports.

    Raises:
        ValueError: the set-up is no int from 0 on, or the rate none above 0.

    Attributes:
        begun: when the descriptor in work was taken, picoseconds, and its bytes.
    """

    __slots__ = (
        "_busy", "_bytes", "_done", "_longest", "_queue", "begun", "bytes_per_s", "kernel", "name", "piece", "setup_ps",
        "wire",
    )  # fmt: skip

    def __init__(
        self,
        kernel: Kernel,
        setup_ps: int,
        bytes_per_s: int,
        piece: int,
        wire: Callable[[int], int],
        name: str = "DMA engine",
    ) -> None:
        check_ticks("DmaEngine: setup_ps", setup_ps)
        check_rate("DmaEngine: bytes_per_s", bytes_per_s)
        self.name = name
        self.begun = (0, 0)
        self.kernel = kernel
        self.setup_ps = setup_ps
        self.bytes_per_s = bytes_per_s
        self.piece = piece
        self.wire = wire
        self._queue: deque[tuple[Route, int, Callable[[int], object]]] = deque()
        self._busy = False
        self._done = self._bytes = self._longest = 0
        if kernel.observe is not None:
            kernel.observe(self)

    def post(self, route: Route, nbytes: int, then: Callable[[int], object]) -> None:
        """Queue a descriptor, in an event.

        Args:
            route: the links.
            nbytes: its size, at least 1.
            then: called as `then(arrival)` when it is known when the last byte arrives, picoseconds.
        """
        if self._busy:
            self._queue.append((route, nbytes, then))
            self._longest = max(self._longest, len(self._queue))
        else:
            self._begin(route, nbytes, then)

    def statistics(self) -> DmaStatistics:
        """Return what it has done so far."""
        return DmaStatistics(self._done, self._bytes, self._longest)

    def _begin(self, route: Route, nbytes: int, then: Callable[[int], object]) -> None:
        self._busy = True
        self._bytes += nbytes
        self.begun = (self.kernel.now, nbytes)
        stream = DmaStream(self.kernel, route, nbytes, self.piece, self.bytes_per_s, self.wire, self._fed, then)
        start = self.kernel.now + self.setup_ps
        self.kernel.at(start, stream.start, start)

    def _fed(self, when: int) -> None:
        """The last byte leaves at `when`: then comes the next descriptor."""
        self.kernel.at(when, self._next)

    def _next(self) -> None:
        self._done += 1
        self._busy = False
        if self._queue:
            self._begin(*self._queue.popleft())
