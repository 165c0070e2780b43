"""Ways between hosts, and what stores of a CPU take over them: figures, and nothing that happens.

Thousands of ways lead by a few hundred shapes: what depends on these alone is kept once for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import attrs

from conduit.sim.link import Link, PlainRest, Route, slowest
from conduit.sim.units import PS_PER_S
from conduits.sci import constants as c

WINDOW = c.whole(c.OUTSTANDING)
PIO_START_PS = c.ps(c.PIO_START)
PIO_BYTES_PER_S = c.bytes_per_s(c.PIO_RATE)

_OUT_PS, _IN_PS, _RESPONSE_PS = c.ps(c.SEND_LATENCY), c.ps(c.RECEIVE_LATENCY), c.ps(c.RESPONSE_LATENCY)
_HOP_PS, _TURN_PS = c.ps(c.HOP), c.ps(c.TURN)
_DATA = c.whole(c.PACKET_DATA)
_UNIT = c.whole(c.PACKET_UNIT)
_HEADER = c.whole(c.PACKET_HEADER)


def packets(offset: int, nbytes: int) -> int:
    """Return how many packets carry `nbytes` at `offset`: one per line of 64 bytes touched."""
    return (offset % _DATA + nbytes + _DATA - 1) // _DATA


def wire_bytes(nbytes: int, count: int | None = None) -> int:
    """Return the bytes on a link for `nbytes` of data in `count` packets (default: as few as can be)."""
    if count is None:
        count = -(-nbytes // _DATA)
    return max(count, -(-nbytes // _UNIT)) * _UNIT + count * _HEADER


def packets_together(takes: int, count: int, turnaround: int) -> int:
    """Return how many of `count` packets, issued evenly in `takes`, are under way at once."""
    return min(count, -(-turnaround * count // takes))


@attrs.frozen
class StoreTimes:
    """What a PIO write of one kind takes where nothing is in its way, on all ways of one shape.

    Attributes:
        nbytes: bytes of data.
        packets: their packets.
        stores: separate stores of the CPU, each with its start.
        together: how many of its packets are under way at once, where it is not stalled.
        takes: CPU time, picoseconds.
        wire: bytes on each link.
        arrives: from the write until the last byte is in memory.
        quiet: from the write until its last response is back.
        whole: it is one piece, and its packets fit the window.
        bus: how long each bus is taken, from the write on.
        link: how long each link is taken, from the write on; 0 where others find room between packets.
        response: from a landing until the sending adapter knows of it, picoseconds.
        turnaround: from the issue of a small packet until its response is back, picoseconds.
    """

    nbytes: int
    packets: int
    stores: int
    together: int
    takes: int
    wire: int
    arrives: int
    quiet: int
    whole: bool
    bus: int
    link: int
    response: int
    turnaround: int


NO_STORE = StoreTimes(
    nbytes=0, packets=0, stores=0, together=0, takes=0, wire=0, arrives=0, quiet=0, whole=False, bus=0, link=0,
    response=0, turnaround=0,
)  # fmt: skip
"""In the place of what a write takes where none can be made."""


class Shape:
    """What all ways have in common that lead by the same steps.

    Args:
        links: of one such way, the buses of both ends first.
        steps: as `Torus.steps` gives them.
        back: the steps that the response goes.

    Attributes:
        latency: how long a head takes, picoseconds.
        slowest: how long sizes take the slowest link.
        response: from a landing until the sending adapter knows of it, picoseconds.
        turnaround: from the issue of a small packet until its response is back, picoseconds.
    """

    __slots__ = ("_durations", "_times", "latency", "response", "slowest", "turnaround")

    def __init__(self, links: Sequence[Link], steps: Sequence[int], back: Sequence[int]) -> None:
        self.latency = _latency(steps)
        self.slowest = slowest(links)
        self.response = _response(back)
        self.turnaround = self.latency + self.response
        self._durations = links[0].takes, links[-1].takes
        self._times: dict[tuple[int, int, int], StoreTimes] = {}

    def times(self, nbytes: int, count: int, stores: int, piece: int) -> StoreTimes:
        """Return what a PIO write of `nbytes` in `count` packets takes, the CPU making `stores` stores."""
        found = self._times.get((nbytes, count, stores))
        if found is None:
            takes = stores * PIO_START_PS - (-nbytes * PS_PER_S // PIO_BYTES_PER_S)
            wire = wire_bytes(nbytes, count)
            bus, link = (each[wire] for each in self._durations)
            found = self._times[nbytes, count, stores] = StoreTimes(
                nbytes=nbytes,
                packets=count,
                stores=stores,
                together=packets_together(takes, count, self.turnaround),
                takes=takes,
                wire=wire,
                arrives=max(PIO_START_PS + self.slowest[wire], takes) + self.latency,
                quiet=takes + self.turnaround,
                whole=nbytes <= piece and count <= WINDOW,
                bus=bus,
                link=link if count == stores else 0,
                response=self.response,
                turnaround=self.turnaround,
            )
        return found


class StorePlan:
    """PIO writes of one kind over one way, that are made again and again.

    There are many ways, few of which have been gone just now: so it keeps only what other ways do not share.

    Args:
        way: where to.
        times: what each takes.

    Attributes:
        way: where to.
        times: what each takes; `NO_STORE` where none can be made.
        links: of the way behind the buses, each of which is taken for `times.link`; none where it is not whole,
            others find room, or somebody listens.
        uses: writes that have begun.
        others: those of them that did not find all free.
    """

    __slots__ = ("links", "others", "times", "uses", "way")

    def __init__(self, way: TorusRoute, times: StoreTimes = NO_STORE) -> None:
        self.way = way
        self.uses = self.others = 0
        self.plan(times)
        way.plans.append(self)

    def plan(self, times: StoreTimes) -> None:
        """Let each of the writes from now on take `times`; none has been counted."""
        self.times = times
        self.links: Sequence[Link] = (
            self.way.behind if times.link and times.whole and self.way.first.kernel.carried is None else ()
        )


_NONE_KEPT: dict[tuple[int, int, int], StorePlan] = {}
"""Of a way without plans for all, as most are; stays empty."""


class TorusRoute(Route):
    """The way from one host to another: the sender's bus, the receiver's bus, the links.

    Attributes:
        shape: what it shares with others.
        into: the receiver's bus.
        behind: the links.
        plans: of the PIO writes over it.
        kept: those of them that are for all, by bytes, packets and stores.
    """

    __slots__ = ("_late", "behind", "into", "kept", "plans", "shape")

    REST = PlainRest

    def __init__(self, links: tuple[Link, ...], shape: Shape) -> None:
        self.lay(links, shape.latency, shape.slowest)
        self.shape = shape
        self.into = links[1]
        self.behind = links[2:]
        self.plans: list[StorePlan] = []
        self.kept = _NONE_KEPT
        self._late: list[tuple[int, int]] | None = None  # of stores that links hold up: when issued, when they land

    @property
    def response(self) -> int:
        """From a landing until the sending adapter knows of it, picoseconds."""
        return self.shape.response

    def keep(self, nbytes: int, count: int, stores: int, piece: int) -> StorePlan:
        """Keep a plan of writes for all who have none of their own, and return it; arguments as of `Shape.times`."""
        if self.kept is _NONE_KEPT:
            self.kept = {}
        found = self.kept[nbytes, count, stores] = StorePlan(self, self.shape.times(nbytes, count, stores, piece))
        return found

    def in_order(self, begun: int, issued: int, arrival: int) -> int:
        """Return when a store lands that is not to overtake those before it; called in the order in which they go.

        The bytes of a store that waits for a link follow those that the link carries.  Those of a later one may
        find room between, and must not be in memory earlier.  Where all links are free nothing can overtake: such
        stores need not be told of here.  Stores of two CPUs at the same time are in no order.

        Args:
            begun: when the CPU has begun with it, picoseconds.
            issued: when the CPU gives the last byte to the bus.
            arrival: when the links have brought the last byte.
        """
        if self._late:
            now = self.first.kernel.now
            self._late = [store for store in self._late if store[1] > now]
            arrival = max([arrival, *(landing for end, landing in self._late if end <= begun)])
        if arrival > issued + PIO_START_PS + self.latency:  # else whatever the CPU begins then comes later anyway
            if self._late is None:
                self._late = []
            self._late.append((issued, arrival))
        return arrival

    def count(self, carried: defaultdict[int, int]) -> None:
        """Add to `carried` how many transfers of each size found all links free."""
        if self.carried:
            super().count(carried)
        for plan in self.plans:
            if plan.uses > plan.others:
                carried[plan.times.wire] += plan.uses - plan.others


def _latency(steps: Sequence[int]) -> int:
    """Return how long a head takes over a way that leads by these steps."""
    return _OUT_PS + _links_ps(steps) + _IN_PS


def _response(steps: Sequence[int]) -> int:
    """Return how long a response takes that goes by `steps` along the dimensions."""
    return _RESPONSE_PS + _links_ps(steps)


def _links_ps(steps: Sequence[int]) -> int:
    """Return how long links take to pass on a head that goes by `steps` along the dimensions."""
    turns = max(0, sum(map(bool, steps)) - 1)
    return sum(steps) * _HOP_PS + turns * _TURN_PS
