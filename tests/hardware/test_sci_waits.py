"""How long packets wait on a torus of SCI, against links that serve each packet when it comes."""

import heapq
import random

import pytest

from conduit.sim.kernel import Kernel
from conduit.sim.topology import Torus
from conduits.sci import constants as c
from conduits.sci.hardware.fabric import SciFabric
from conduits.sci.hardware.ways import packets, wire_bytes

from .test_sci_hardware import run

TORUS = Torus((8, 8))
HOSTS = 64
PACKETS = 60  # of each host
LINKS = 3.5  # of each dimension that a packet goes over, on average


def traffic(every):
    """Return `(time, source, target)` of single packets, each host sending one `every` picoseconds on average."""
    chance, found = random.Random(1), []
    for host in range(HOSTS):
        when = 0
        for _ in range(PACKETS):
            when += int(chance.expovariate(1 / every))
            target = chance.randrange(HOSTS - 1)
            found.append((when, host, target + (target >= host)))
    return sorted(found)


def resources(source, target):
    """Return what a packet goes over, and how much later than it leaves its head gets to each."""
    found, node, when = [(("bus", source), 0)], source, c.ps(c.SEND_LATENCY)
    for dimension, count in enumerate(TORUS.steps(source, target)):
        if count and len(found) > 1:
            when += c.ps(c.TURN)
        ring = TORUS.ring(node, dimension)
        for _ in range(count):
            found.append(((node, dimension), when))
            when += c.ps(c.HOP)
            node = ring[(ring.index(node) + 1) % len(ring)]
    return [*found, (("bus", target), when + c.ps(c.RECEIVE_LATENCY))]


def served_as_they_come(sent, durations):
    """Return how long packets wait on average where each resource takes them one by one, in the order of arrival."""
    free, waited, pending = {}, 0, []
    for number, (when, source, target) in enumerate(sent):
        heapq.heappush(pending, (when, number, 0, resources(source, target)))
    while pending:
        when, number, index, way = heapq.heappop(pending)
        resource, after = way[index]
        begin = max(when, free.get(resource, 0))
        free[resource] = begin + durations["bus" if resource[0] == "bus" else "link"]
        waited += begin - when
        if index + 1 < len(way):
            heapq.heappush(pending, (begin + way[index + 1][1] - after, number, index + 1, way))
    return waited / len(sent)


def waits(sent, nbytes):
    """Return how long they wait on the simulated torus."""
    kernel = Kernel()
    fabric, late, acts = SciFabric(kernel, TORUS), [], []
    wire = wire_bytes(nbytes, packets(0, nbytes))

    def send(source, target):
        way, begun = fabric.adapter(source).way(target), kernel.now
        free = begun + way.latency + way.slowest[wire]

        def arrived(arrival):
            late.append(arrival - free)

        if arrival := way.carry(wire, begun, begun, arrived, whole=True):
            arrived(arrival)

    for when, source, target in sent:
        acts.append((when, lambda source=source, target=target: send(source, target)))
    run(kernel, *acts)
    assert len(late) == len(sent)
    return sum(late) / len(late)


@pytest.mark.parametrize("use", [0.05, 0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("nbytes", [8, 64])
def test_packets_wait_about_as_long_as_at_links_that_serve_them_as_they_come(nbytes, use):
    """`use` is the part of their time for which links carry something."""
    wire = wire_bytes(nbytes, packets(0, nbytes))
    rates = {"bus": c.bytes_per_s(c.BUS_RATE), "link": c.bytes_per_s(c.LINK_RATE)}
    durations = {kind: -(-wire * 10**12 // rate) for kind, rate in rates.items()}
    sent = traffic(int(LINKS * durations["link"] / use))
    exact = served_as_they_come(sent, durations)
    assert 0.6 * exact < waits(sent, nbytes) < 1.1 * exact
