"""How long packets wait for links, against links that serve each packet when it comes."""

import heapq
import random

import pytest

from conduit.launch.registry import parse_spec
from conduit.sim.kernel import Kernel
from conduit.sim.topology import Torus
from conduits.sci import constants as sci
from conduits.sci.hardware.fabric import SciFabric
from conduits.startx import constants as startx
from conduits.startx.hardware.arctic import Arctic
from conduits.t3e.machine import build

from .test_link import run

HOSTS = 64
PACKETS = 40  # of each host


class Sci:
    """A torus of one-way rings; the buses of both hosts are on each way."""

    def __init__(self, kernel):
        self.torus = Torus((8, 8))
        self.fabric = SciFabric(kernel, self.torus)

    def way(self, source, target):
        return self.fabric.adapter(source).way(target)

    def heads(self, source, target):
        buses = [self.fabric.adapter(host).bus for host in (source, target)]
        found, node, when = [(buses[0], 0)], source, sci.ps(sci.SEND_LATENCY)
        for dimension, count in enumerate(self.torus.steps(source, target)):
            if count and len(found) > 1:
                when += sci.ps(sci.TURN)
            ring = self.torus.ring(node, dimension)
            for _ in range(count):
                found.append((self.fabric.link(node, dimension), when))
                when += sci.ps(sci.HOP)
                node = ring[(ring.index(node) + 1) % len(ring)]
        return [*found, (buses[1], when + sci.ps(sci.RECEIVE_LATENCY))]


class T3e:
    """A torus whose links go both ways."""

    def __init__(self, kernel):
        self.fabric = build(kernel, parse_spec("t3e").options)

    def way(self, source, target):
        return self.fabric.way(source, target)

    def heads(self, source, target):
        found, when = [], 0
        delays = [delay for _, delay in self.fabric.steps(source, target)]
        for link, delay in zip(self.way(source, target).links, delays, strict=True):
            found.append((link, when))
            when += delay
        return found


class Startx:
    """A fat tree."""

    def __init__(self, kernel):
        self.arctic = Arctic(kernel)

    def way(self, source, target):
        return self.arctic.way(source, target, 0)

    def heads(self, source, target):
        stage, out = startx.ps(startx.STAGE), startx.ps(startx.NIU_OUT)
        return [(link, number and out + number * stage) for number, link in enumerate(self.way(source, target).links)]


def traffic(hosts, each, every):
    """Return `(time, source, target)`: `each` of every host, one in `every` picoseconds on average."""
    chance, found = random.Random(1), []
    for host in range(hosts):
        when = 0
        for _ in range(each):
            when += int(chance.expovariate(1 / every))
            target = chance.randrange(hosts - 1)
            found.append((when, host, target + (target >= host)))
    return sorted(found)


def served_as_they_come(machine, sent, nbytes):
    """Return how long packets wait on average where each link takes them one by one, in the order of arrival."""
    free, waited, pending = {}, 0, []
    for number, (when, source, target) in enumerate(sent):
        heapq.heappush(pending, (when, number, 0, machine.heads(source, target)))
    while pending:
        when, number, index, way = heapq.heappop(pending)
        link, after = way[index]
        begin = max(when, free.get(link, 0))
        free[link] = begin + link.takes[nbytes]
        waited += begin - when
        if index + 1 < len(way):
            heapq.heappush(pending, (begin + way[index + 1][1] - after, number, index + 1, way))
    return waited / len(sent)


def simulated(kernel, machine, sent, nbytes):
    """Return how long they wait in simulation."""
    late, acts = [], []

    def send(source, target):
        way, begun = machine.way(source, target), kernel.now
        free = begun + way.latency + way.slowest[nbytes]

        def arrived(arrival):
            late.append(arrival - free)

        if arrival := way.carry(nbytes, begun, begun, arrived, whole=True):
            arrived(arrival)

    for when, source, target in sent:
        acts.append((when, lambda source=source, target=target: send(source, target)))
    run(kernel, *acts)
    assert len(late) == len(sent)
    return sum(late) / len(late)


# How many of the busiest links are on a way, and how short waits may be: on SCI a receiver's bus is taken a microsecond
# before the bytes come, and so serves in another order.
CASES = [
    (Sci, 32, 3.5, 0.6),
    (Sci, 80, 3.5, 0.6),
    (T3e, 8, 2, 0.85),
    (T3e, 64, 2, 0.85),
    (Startx, 32, 1, 0.85),
    (Startx, 96, 1, 0.85),
]


@pytest.mark.parametrize("use", [0.05, 0.2, 0.4, 0.7])
@pytest.mark.parametrize(("kind", "nbytes", "links", "low"), CASES)
def test_packets_wait_about_as_long_as_at_links_that_serve_them_as_they_come(kind, nbytes, links, low, use):
    """`use` is the part of their time for which the busiest links carry something."""
    kernel = Kernel()
    machine = kind(kernel)
    takes = machine.way(0, 1).links[-1].takes[nbytes]
    sent = traffic(HOSTS, PACKETS, int(links * takes / use))
    exact = served_as_they_come(machine, sent, nbytes)
    assert low * exact < simulated(kernel, machine, sent, nbytes) < 1.15 * exact
