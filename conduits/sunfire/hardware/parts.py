"""What the cluster is made of, each of which can fail: cables, network interfaces, switches; and lanes.

A *cable* is an optical link, two ribbons, one each way.  One way carries 1000 MB/s while the other is
quiet and 800 MB/s while it is not.  An *interface* (NI) has one data path to its host, for both directions
together, and an error register for each processor, of which an `ErrorStatus` is the code.  A *lane* is one way through
these from host to host: a stripe of the traffic.

Source: Sistare and Jackson, sections 2.1, 2.2, 2.4, 2.7; the codes are ours.
"""

from __future__ import annotations

import enum
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from conduit.sim.kernel import Kernel
from conduit.sim.link import Hop, Link, Route, durations
from conduits.sunfire import constants as c

LINE = c.whole(c.LINE)
_ALONE, _BOTH = c.bytes_per_s(c.LINK_ALONE), c.bytes_per_s(c.LINK_BOTH)
_PATH = c.bytes_per_s(c.NI_PATH)
_TRANSIT_PS = c.ps(c.TRANSIT)
_PATH_LINE = durations(_PATH)[LINE]
_ALONE_LINE, _BOTH_LINE = durations(_ALONE)[LINE], durations(_BOTH)[LINE]


class ErrorStatus(enum.IntFlag):
    """What a cluster error status register says; several may have come together."""

    OK = 0
    LOST = 1
    """A line or its answer did not get through: a link or NI failed, or bits were wrong."""
    NO_PATH = 2
    """System software has no path to the host."""
    REFUSED = 4
    """The receiving NI's tables do not let this host do that there, or have nothing there."""


class Component:
    """Something that can fail and come back.

    Attributes:
        name: as fault schedules and reports call it.
        up: whether it works.
        faults: causes for which it does not.
        trusted: whether system software thinks so.
        downs: when it has gone down, picoseconds.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.up = True
        self.faults = 0
        self.trusted = True
        self.downs: list[int] = []

    @property
    def failures(self) -> int:
        """How often it has gone down."""
        return len(self.downs)


class Half(Link):
    """One direction of a cable; slower while the other is busy."""

    __slots__ = ("both", "reverse")

    reverse: Half

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel, _ALONE, name)
        self.both = durations(_BOTH)

    def longest(self, nbytes: int) -> int:
        """Return how long `nbytes` take it while the other direction is busy."""
        return self.both[nbytes]

    def reserve(self, head: int, nbytes: int) -> int:
        """Reserve it, which is free when the head gets there; return when it is free again."""
        takes = self.takes if self.reverse.free_at <= head else self.both
        self.free_at = end = head + takes[nbytes]
        return end


class Cable(Component):
    """An optical link, two ribbons.

    Attributes:
        there: the direction that leaves the end it is named after.
        back: the other one.
        error_rate: bit errors per bit.
    """

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(name)
        self.there, self.back = Half(kernel, f"{name} out"), Half(kernel, f"{name} in")
        self.there.reverse, self.back.reverse = self.back, self.there
        self.error_rate = 0.0


class Counters(NamedTuple):
    """The instrumentation counters of an NI.

    Attributes:
        lines_out: lines that its host has stored through it.
        lines_in: lines that came through it to its host, lost ones included.
        reads: lines that its host has read through it.
        interrupts: remote interrupts that it handed to processors.
        barriers: memory barriers that waited for it.
        errors: lines lost, refused or without a path, by its host's stores and reads.
    """

    lines_out: int
    lines_in: int
    reads: int
    interrupts: int
    barriers: int
    errors: int


class Interface(Component):
    """A network interface, with a data path to its host's crossbar.

    Attributes:
        host: its host.
        index: which of the host's.
        path: the data path, for both directions together.
        lanes_out, lanes_in: lanes that begin and end here.
    """

    def __init__(self, kernel: Kernel, host: int, index: int) -> None:
        super().__init__(f"ni{host}.{index}")
        self.host = host
        self.index = index
        self.path = Link(kernel, _PATH, f"path {host}.{index}")
        self.lanes_out: list[Lane] = []
        self.lanes_in: list[Lane] = []
        self.reads = self.interrupts = self.barriers = self.errors = 0

    def counters(self) -> Counters:
        """Return what it has counted."""
        out, into = sum(lane.lines for lane in self.lanes_out), sum(lane.lines for lane in self.lanes_in)
        return Counters(out, into, self.reads, self.interrupts, self.barriers, self.errors)


class Lane(Route):
    """One way from an NI of one host to an NI of another.

    Args:
        source: where it begins.
        target: where it ends.
        cables: the halves in order, with their cables: one, or two with a switch between them.
        switch: what is between them, if anything.

    Attributes:
        parts: all that must work.
        duplex: each link, its other direction, and how long sizes take it alone and with the other direction busy.
        lines: lines of stores that were sent over it.
        loaded: lines of data that loads brought over it.
    """

    __slots__ = (
        "_halves", "_held", "_in", "_out", "_steps", "cables", "duplex", "lines", "loaded", "parts", "source", "target",
    )  # fmt: skip

    RESERVES = (*Route.RESERVES, "reserve", "reserve_line")

    def __init__(
        self, source: Interface, target: Interface, cables: Sequence[tuple[Half, Cable]], switch: Component | None
    ) -> None:
        hops: list[Hop] = [(source.path, 0), *((half, 0) for half, _ in cables), (target.path, _TRANSIT_PS)]
        super().__init__(hops)
        self.source = source
        self.target = target
        self.cables = [cable for _, cable in cables]
        self.parts: list[Component] = [source, target, *self.cables] + ([switch] if switch else [])
        self.lines = self.loaded = 0
        self._held = 0  # of these, lines that found a link busy; they are counted as the transfers that waited
        self.duplex = tuple(map(_both_ways, self.links))
        self._steps: dict[int, list[Step]] = {}  # by size
        halves = [half for half, _ in cables]
        self._out, self._halves, self._in = source.path, halves, target.path
        source.lanes_out.append(self)
        target.lanes_in.append(self)

    @property
    def up(self) -> bool:
        """Whether all of it works."""
        return all(part.up for part in self.parts)

    @property
    def failures(self) -> int:
        """How often anything of it has gone down."""
        return sum(part.failures for part in self.parts)

    def failed(self, begin: int, end: int) -> bool:
        """Return whether anything of it went down from `begin` to `end`: what was under way then is lost."""
        return any(bisect_left(part.downs, begin) < bisect_right(part.downs, end) for part in self.parts if part.downs)

    def reserve(self, nbytes: int, head: int, tail: int) -> Link | None:
        """Take every link in turn for `nbytes`; return the first one that is busy, None if none is.

        The bytes come at the pace of who feeds the lane, slower than a link: one that is taken when the head
        gets there, but free early enough that the tail is not late, is not busy.

        Args:
            nbytes: bytes.
            head: when the first gets to the first link, picoseconds.
            tail: when the last one does.
        """
        for link, reverse, alone, both in self._steps.get(nbytes) or self._lay_out(nbytes):
            takes = alone if reverse is None or reverse.free_at <= head else both
            if link.free_at <= head:
                link.free_at = head + takes
            elif link.free_at + takes <= tail:
                link.free_at += takes
            else:
                return link
        return None

    def reserve_line(self, nbytes: int, head: int, tail: int) -> Link | None:
        """As `reserve`, for a single line, as nearly all are: each of its links is there by name.

        Args:
            nbytes: those of a line.
            head: as for `reserve`.
            tail: as for `reserve`.
        """
        link: Link = self._out
        if link.free_at <= head:
            link.free_at = head + _PATH_LINE
        elif link.free_at + _PATH_LINE <= tail:
            link.free_at += _PATH_LINE
        else:
            return link
        for half in self._halves:
            takes = _ALONE_LINE if half.reverse.free_at <= head else _BOTH_LINE
            if half.free_at <= head:
                half.free_at = head + takes
            elif half.free_at + takes <= tail:
                half.free_at += takes
            else:
                return half
        link = self._in
        if link.free_at <= head:
            link.free_at = head + _PATH_LINE
        elif link.free_at + _PATH_LINE <= tail:
            link.free_at += _PATH_LINE
        else:
            return link
        return None

    def _lay_out(self, nbytes: int) -> list[Step]:
        """Return each link as `duplex` does, with how long `nbytes` take it."""
        steps = [(link, reverse, alone[nbytes], both[nbytes]) for link, reverse, alone, both in self.duplex]
        self._steps[nbytes] = steps
        return steps

    def wait(self, index: int, nbytes: int, head: int, tail: int, then: Callable[[int], object]) -> None:
        """Leave the rest of some lines, from a busy link on, to its release; as `Route.wait`."""
        self._held += nbytes // LINE
        Route.wait(self, index, nbytes, head, tail, then)

    def count(self, carried: defaultdict[int, int]) -> None:
        """Add to `carried` what has begun: each line a transfer, but for lines that have waited together."""
        super().count(carried)
        carried[LINE] += self.lines + self.loaded - self._held

    @property
    def spoils(self) -> float:
        """The probability that bit errors spoil a line on it."""
        bits, intact = 8 * LINE, 1.0
        for cable in self.cables:
            if cable.error_rate:
                intact *= (1 - cable.error_rate) ** bits
        return 1 - intact

    def __str__(self) -> str:
        return " to ".join(part.name for part in (self.source, *self.cables, self.target))


Duplex = tuple[Link, Link | None, Mapping[int, int], Mapping[int, int]]
Step = tuple[Link, Link | None, int, int]


def _both_ways(link: Link) -> Duplex:
    """Return a step of a lane; a data path is one resource for both directions, and has no reverse."""
    if isinstance(link, Half):
        return link, link.reverse, link.takes, link.both
    return link, None, link.takes, link.takes
