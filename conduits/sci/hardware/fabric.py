"""The SCI cluster: hosts with an adapter each on a torus of one-way rings.

What is modelled:

- A store to mapped remote memory is posted: the CPU goes on while packets of 64 bytes travel.  At
  most 16 packets of an adapter are under way; one more stalls the CPU until a response is back.
- A host has one bus, taken by what its CPUs store, by its DMA engine, and by what arrives.  It serves CPUs and card by
  turns: a CPU's store of one packet goes between the packets of what the bus carries (`Link.slip_in`).
- Rings carry one way (IEEE 1596): the response to a packet goes on around the ring.  Routes lead
  through the dimensions in order.  Responses (16 bytes) take no room on the links.
- The window is reckoned with the response time of free links; where links are busy a transfer waits
  as a whole (docs/models/sci.md).
- Stores of an adapter to one host land in the order in which CPUs issue them: one that has found room
  between the bytes of others is not there before those that were issued earlier (`TorusRoute.in_order`).

Weak ordering: bytes land later by a seeded random delay; what O of the rules orders stays in order.

Source: the conduit's paper, sections 2.1, 4 and 5.2; constants.py names each number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from conduit.sim.dma import DmaEngine, DmaStream
from conduit.sim.kernel import Kernel
from conduit.sim.link import Link
from conduit.sim.topology import Torus
from conduit.sim.units import PS_PER_S
from conduits.sci import constants as c
from conduits.sci.hardware.ways import (
    PIO_BYTES_PER_S,
    PIO_START_PS,
    WINDOW,
    Shape,
    StorePlan,
    StoreTimes,
    TorusRoute,
    packets_together,
    wire_bytes,
)

READ_RATIO = c.whole(c.READ_RATIO)
Then: TypeAlias = Callable[[int], object]
Ring: TypeAlias = tuple[list[Link], list[int], int]
"""The links of a ring, twice around, the nodes that they leave, and where in it a node is."""

SPREAD_PS = c.ps(c.SPREAD)
_LINK_BYTES_PER_S = c.bytes_per_s(c.LINK_RATE)
_BUS_BYTES_PER_S = c.bytes_per_s(c.BUS_RATE)
_DMA_SETUP_PS, _DMA_BYTES_PER_S = c.ps(c.DMA_SETUP), c.bytes_per_s(c.DMA_RATE)
_DATA = c.whole(c.PACKET_DATA)


class AdapterStatistics(NamedTuple):
    """What an adapter has done.

    Attributes:
        stores: PIO writes.
        packets: their packets.
        stalled: picoseconds for which CPUs waited because 16 packets were under way.
    """

    stores: int
    packets: int
    stalled: int


class SciFabric:
    """The cluster: hosts on a torus, made when first used.

    Args:
        kernel: of the job.
        torus: the shape; hosts have their index as its node.
        weak: whether landings are delayed at random, as far as the rules allow.
        piece: bytes after which a transfer lets others onto a link.
    """

    def __init__(self, kernel: Kernel, torus: Torus, *, weak: bool = False, piece: int = 4096) -> None:
        self.kernel = kernel
        self.torus = torus
        self.weak = weak
        self.piece = piece
        self.exports: defaultdict[int, dict[int, Any]] = defaultdict(dict)
        """What each host has exported, by segment id; the driver's."""
        self.reserved: dict[int, list[tuple[int, int, int, Any, Any]]] = {}
        """Segments of a host that are not touched yet; the driver's."""
        self._adapters: dict[int, Adapter] = {}
        self._links: dict[tuple[int, int], Link] = {}
        self._rings: list[dict[int, Ring]] = [{} for _ in torus.shape]
        self._shapes: dict[tuple[int, ...], Shape] = {}

    def adapter(self, host: int) -> Adapter:
        """Return the adapter of `host`."""
        found = self._adapters.get(host)
        if found is None:
            found = self._adapters[host] = Adapter(self, host)
        return found

    def link(self, node: int, dimension: int) -> Link:
        """Return the link that leaves `node` along `dimension`."""
        found = self._links.get((node, dimension))
        if found is None:
            name = f"link {node} {'xyz'[dimension]}"
            found = self._links[node, dimension] = Link(self.kernel, _LINK_BYTES_PER_S, name)
        return found

    def links(self) -> list[Link]:
        """Return all buses, and all links as far as ways have led over their rings."""
        return [*(adapter.bus for adapter in self._adapters.values()), *self._links.values()]

    def links_of(self, node: int) -> list[Link]:
        """Return the links that leave `node`, as far as ways have led over its rings."""
        found = [self._links.get((node, dimension)) for dimension in range(len(self.torus.shape))]
        return [link for link in found if link is not None]

    def find_way(self, source: int, target: int) -> TorusRoute:
        """Make a way from host `source` to host `target`; its adapter keeps it (`Adapter.way`)."""
        steps = tuple(self.torus.steps(source, target))
        links, node = [self.adapter(source).bus, self.adapter(target).bus], source
        for dimension, count in enumerate(steps):
            if count:
                ring, nodes, here = self._rings[dimension].get(node) or self._ring(node, dimension)
                links += ring[here : here + count]
                node = nodes[here + count]
        shape = self._shapes.get(steps)
        if shape is None:
            shape = self._shapes[steps] = Shape(links, steps, self.torus.steps(target, source))
        return TorusRoute(tuple(links), shape)

    def _ring(self, node: int, dimension: int) -> Ring:
        """Return the ring along `dimension` that `node` is on, which takes up all others on it too."""
        nodes = self.torus.ring(node, dimension)
        links = [self.link(each, dimension) for each in nodes]
        twice = links * 2, nodes * 2
        for place, each in enumerate(nodes):
            self._rings[dimension][each] = *twice, place
        return self._rings[dimension][node]


class Adapter:
    """A host's card: posted stores in a window, remote reads, a DMA engine, all on the host's bus."""

    __slots__ = (
        "_end", "_first", "_landed", "_packets", "_quiet", "_random", "_runs", "_stalled", "_stores", "_taken",
        "_together", "_ways", "arrival", "bus", "dma", "fabric", "host", "kernel",
    )  # fmt: skip

    def __init__(self, fabric: SciFabric, host: int) -> None:
        self.fabric = fabric
        self.host = host
        self.arrival = 0
        self.kernel = fabric.kernel
        self.bus = Link(self.kernel, _BUS_BYTES_PER_S, f"bus {host}")
        self.dma = DmaEngine(
            self.kernel, _DMA_SETUP_PS, _DMA_BYTES_PER_S, fabric.piece, wire_bytes, f"DMA engine {host}"
        )
        self._random = self.kernel.random(f"sci/adapter/{host}") if fabric.weak else None
        self._ways: dict[int, TorusRoute] = {}
        self._landed: dict[object, int] = {}
        self._runs: list[tuple[int, int, int, int]] = []
        self._together = 0  # how many packets of these are under way at once, at most
        self._quiet = 0
        self._end = 0  # of a store that something is in the way of, when the CPU gives its last byte to the bus
        self._taken = -1  # how many links of its way have been taken for it; -1: nothing has been done
        self._first: StoreTimes | None = None  # the write that began when nothing was under way
        self._stores = self._packets = 0  # of plans that have changed
        self._stalled = 0

    def statistics(self) -> AdapterStatistics:
        """Return what it has done so far."""
        plans = [plan for way in self._ways.values() for plan in way.plans]
        return AdapterStatistics(
            self._stores + sum(plan.uses * plan.times.stores for plan in plans),
            self._packets + sum(plan.uses * plan.times.packets for plan in plans),
            self._stalled,
        )

    def way(self, host: int) -> TorusRoute:
        """Return the way to `host`."""
        found = self._ways.get(host)
        if found is None:
            found = self._ways[host] = self.fabric.find_way(self.host, host)
        return found

    def plan(self, way: TorusRoute, nbytes: int, count: int, stores: int) -> StorePlan:
        """Return the plan of a PIO write of `nbytes` in `count` packets, the CPU making `stores` stores."""
        return way.kept.get((nbytes, count, stores)) or way.keep(nbytes, count, stores, self.fabric.piece)

    def times(self, way: TorusRoute, nbytes: int, count: int, stores: int) -> StoreTimes:
        """Return what such a write takes, for who has a plan of his own."""
        return way.shape.times(nbytes, count, stores, self.fabric.piece)

    def plan_anew(self, plan: StorePlan, times: StoreTimes) -> None:
        """Let each of the writes of `plan` from now on take `times`; count those before."""
        if plan.uses:
            before = plan.times
            plan.way.carried[before.wire] += plan.uses - plan.others
            self._stores += plan.uses * before.stores
            self._packets += plan.uses * before.packets
            plan.uses = plan.others = 0
        plan.plan(times)

    def pio(self, plan: StorePlan, issued: Then, landed: Then) -> int:
        """Store as planned, waiting for the bus if need be.

        Args:
            plan: what, and where to.
            issued: called as `issued(when)`: the CPU has given the last byte to the bus at `when`.
            landed: called as `landed(when)` when it is known when the last byte is in memory.

        Returns:
            When the CPU has given the last byte to the bus, `issued` not being called; 0 if that is not known yet.  If
            nothing else is in the way, `arrival` is when the last byte is in memory, and `landed` is not called; else
            the time is returned negative.
        """
        end: int | None = self.try_pio(plan.times, plan.way, plan.links)
        if not end:
            end = self.pio_in_the_way(plan, issued, landed, partial(self._pio_at, plan, issued, landed))
            if end is None:
                return 0
        plan.uses += 1
        return end

    def try_pio(self, times: StoreTimes, way: TorusRoute, links: Sequence[Link]) -> int:
        """Store if nothing is in the way; who calls it counts the plan's use, and calls `pio_in_the_way` if it must.

        It is given what it needs of a plan: plans are of several classes, and their owners know them.

        Args:
            times: of the plan.
            way: of the plan.
            links: of the plan.

        Returns:
            When the CPU has given the last byte to the bus; `arrival` is when that is in memory.  0 if something is in
            the way: then `pio_in_the_way` is to be called next.
        """
        now, bus = self.kernel.now, self.bus
        if bus.free_at > now or not links:
            self._taken = -1
            return 0
        if self._quiet > now:
            end = self._issue(now, times)
            if end > now + times.takes:
                self._end, self._taken = end, 0
                return 0
        else:  # nothing of this adapter is under way: the window cannot fill
            self._first, self._quiet = times, now + times.quiet
            end = now + times.takes
        bus.free_at = free = now + times.bus
        into = way.into
        if into.free_at > now:
            self._end, self._taken = end, 1
            return 0
        into.free_at = free
        free = now + times.link
        for link in links:
            if link.free_at > now:
                self._end, self._taken = end, way.links.index(link)
                return 0
            link.free_at = free
        self.arrival = now + times.arrives
        return end

    def pio_in_the_way(self, plan: StorePlan, issued: Then, landed: Then, again: Then) -> int | None:
        """Store what `try_pio` could not, or wait for the bus; who calls it counts the plan's use, if it has begun.

        Args:
            plan: what, and where to.
            issued: as for `pio`.
            landed: as for `pio`.
            again: called as `again(when)` in the event in which the bus is granted; is to store anew.

        Returns:
            As `pio`; None if nothing has been done and `again` will be called.
        """
        if self._taken >= 0:
            return self._carry(plan, self._end, landed, self._taken)
        now, bus, times = self.kernel.now, self.bus, plan.times
        free = bus.free_at
        if free > now:
            if times.packets == 1 and bus.slip_in(now, times.wire):
                return self._carry(plan, self._issue(now, times), landed, 1)
            free += bus.takes[times.wire]
            if free > now + times.takes and free > bus.paced:  # others leave no room for it
                bus.wait(now, again)
                return None
        return self._pio_in_a_crowd(plan, issued, landed)

    def landing(self, plan: StorePlan, when: int) -> int:
        """Return when what is stored at `when` has landed, if nothing is in its way or happens until then; else 0."""
        if self.bus.free_at > when or self._quiet > when or not plan.links:
            return 0
        if plan.way.into.free_at > when:
            return 0
        for link in plan.links:
            if link.free_at > when:
                return 0
        return when + plan.times.arrives

    def pio_alone(self, plan: StorePlan) -> int:
        """Store as planned, nothing being in the way; return when the last byte is in memory."""
        now, times = self.kernel.now, plan.times
        self._first, self._quiet = times, now + times.quiet
        self.bus.free_at = plan.way.into.free_at = now + times.bus
        free = now + times.link
        for link in plan.links:
            link.free_at = free
        plan.uses += 1
        return now + times.arrives

    def _pio_in_a_crowd(self, plan: StorePlan, issued: Then, landed: Then) -> int:
        """Store while others are under way, or what leaves room for others on the links."""
        now, times = self.kernel.now, plan.times
        if self._quiet <= now and times.whole:
            self._first, self._quiet = times, now + times.quiet
            return self._carry(plan, now + times.takes, landed)
        if times.nbytes > self.fabric.piece:
            self._stream(plan, issued, landed)
            return 0
        return self._carry(plan, self._issue(now, times), landed)

    def _stream(self, plan: StorePlan, issued: Then, landed: Then) -> None:
        """Store what is longer than a piece."""
        plan.others += 1
        now, way, times = self.kernel.now, plan.way, plan.times
        end = now

        def fed(when: int) -> None:
            nonlocal end
            end = when + PIO_START_PS
            issued(end)

        def carried(arrival: int) -> None:
            landed(way.in_order(now, end, arrival + PIO_START_PS))

        rate = min(PIO_BYTES_PER_S, WINDOW * _DATA * PS_PER_S // times.turnaround)
        stream = DmaStream(self.kernel, way, times.nbytes, self.fabric.piece, rate, wire_bytes, fed, carried)
        stream.start(now)  # the CPU's start lies behind the links, as in `_carry`

    def _carry(self, plan: StorePlan, end: int, landed: Then, index: int = 0) -> int:
        """Let the bytes, of which the CPU gives the last away at `end`, go over the links from `index` on."""
        plan.others += 1
        now, way, times = self.kernel.now, plan.way, plan.times

        def carried(arrival: int) -> None:
            landed(way.in_order(now, end, arrival + PIO_START_PS))

        # The CPU's start lies behind the links, as all that keeps the bytes from being there at once.
        arrival = way.carry(times.wire, now, end - PIO_START_PS, carried, index, whole=times.packets == times.stores)
        if not arrival:
            return -end
        self.arrival = way.in_order(now, end, arrival + PIO_START_PS)
        return end

    def _pio_at(self, plan: StorePlan, issued: Then, landed: Then, _: int) -> None:
        """Store when the bus has been granted, in the event of its release."""
        end = self.pio(plan, issued, landed)
        if end > 0:
            landed(self.arrival)
            issued(end)
        elif end:
            issued(-end)

    def _issue(self, now: int, times: StoreTimes) -> int:
        """Issue packets while others may be under way; return when the CPU gives their last byte to the bus."""
        first = self._first
        if self._quiet <= now:
            self._runs, self._together = [], 0
        elif first is not None:  # those before were over when it began
            self._runs = [(self._quiet - first.quiet, first.takes, first.packets, first.turnaround)]
            self._together = first.together
        self._first = None
        end = now + times.takes
        together = times.together
        if self._together + together > WINDOW:
            end += self._stall(now, times)
            together = packets_together(end - now, times.packets, times.turnaround)
        self._runs.append((now, end - now, times.packets, times.turnaround))
        self._together += together
        if end + times.turnaround > self._quiet:
            self._quiet = end + times.turnaround
        return end

    def _stall(self, now: int, times: StoreTimes) -> int:
        """Return how much longer packets take because the window is full at times."""
        takes, count, turnaround = times.takes, times.packets, times.turnaround
        # What is over is in nobody's way, and an adapter that is never quiet would keep it for ever.
        self._runs = [run for run in self._runs if run[0] + run[1] + run[3] > now]
        self._together = sum(packets_together(*run[1:]) for run in self._runs)
        under_way = [packet for run in self._runs for packet in _packets(*run)]
        gap, when = takes // count, now
        for _ in range(count):
            when += gap
            while True:
                returns = sorted(back for issue, back in under_way if issue <= when < back)
                if len(returns) < WINDOW:
                    break
                when = returns[len(returns) - WINDOW]
            under_way.append((when, when + turnaround))
        stalled = when - (now + gap * count)
        self._stalled += stalled
        return stalled

    def read(self, way: TorusRoute, nbytes: int, then: Then) -> None:
        """Read remote memory: a small packet asks; nothing streams.

        Args:
            way: to the memory.
            nbytes: bytes to read, at least 1.
            then: called as `then(when)` when it is known when the last byte is here; the bytes are
                those that the memory holds one response time before.
        """
        written = PIO_START_PS + way.latency - (-nbytes * PS_PER_S // PIO_BYTES_PER_S)
        rest = READ_RATIO * written - way.latency  # the CPU's start lies behind the links, as in `_carry`

        def asked(arrival: int) -> None:
            then(arrival + rest)

        def go(when: int) -> None:
            arrival = way.carry(0, when, when, asked)
            if arrival:
                asked(arrival)

        if self.bus.free_at > self.kernel.now:
            self.bus.wait(self.kernel.now, go)
        else:
            go(self.kernel.now)

    def later(self, arrival: int, target: object) -> int:
        """Return when bytes land in weak ordering that could land at `arrival`.

        Args:
            arrival: earliest time, picoseconds.
            target: stores to one target stay in order; None: bytes of a DMA, in no order.
        """
        if self._random is None:
            return arrival
        when = arrival + self._random.randrange(SPREAD_PS)
        if target is None:
            return when
        # One picosecond more, so that equal times cannot swap two stores that must stay in order.
        when = self._landed[target] = max(when, self._landed.get(target, -1) + 1)
        return when

    def cut(self, offset: int, nbytes: int) -> list[tuple[int, int]]:
        """Return the parts, `(start, end)` in order, in which bytes at `offset` land in weak ordering.

        Aligned words of 8 bytes stay whole.
        """
        first = 8 - offset % 8
        words = (nbytes - first + 7) // 8
        if self._random is None or words < 1:
            return [(0, nbytes)]
        middle = first + 8 * self._random.randrange(words)
        return [(0, middle), (middle, nbytes)]


def _packets(start: int, takes: int, count: int, turnaround: int) -> list[tuple[int, int]]:
    """Return `(issued, response is back)` of each packet of a run."""
    gap = takes // count
    return [(start + gap * index, start + gap * index + turnaround) for index in range(1, count + 1)]
