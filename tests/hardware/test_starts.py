"""What comes before the first link, a CPU's start, a memory's line, the way of a request, holds none of the links.

Operations are made as programs make them, at random times by many CPUs, and compared with links that serve each packet
when it comes to them.
"""

import heapq
import math
from collections import Counter
from functools import partial

import pytest

from conduit.launch.registry import parse_spec
from conduit.sim import Cpu
from conduit.sim.kernel import Kernel
from conduit.sim.link import durations
from conduit.sim.topology import Torus
from conduit.sim.units import PS_PER_S
from conduits.globalmem.mover import REQUEST
from conduits.origin.driver import loads_and_stores
from conduits.origin.machine import build as build_origin
from conduits.sci.hardware.fabric import READ_RATIO, SciFabric
from conduits.sci.hardware.ways import PIO_BYTES_PER_S, PIO_START_PS, wire_bytes
from conduits.startx import constants as startx
from conduits.startx.driver import StartXProcess, access_cost
from conduits.startx.hardware import LOW, ArcticFabric
from conduits.sunfire import constants as sunfire
from conduits.sunfire.hardware import ClusterTopology, FireLinkFabric
from conduits.sunfire.hardware.parts import Half
from conduits.t3e.driver import e_registers
from conduits.t3e.machine import build as build_t3e

from .test_link import run
from .test_waits import Sci, traffic

EACH = 24  # operations of each host


def takes(link, nbytes, begin, free):
    """Return how long a link takes; cables are slower while the other way is busy."""
    if isinstance(link, Half) and free.get(link.reverse, 0) > begin:
        return link.both[nbytes]
    return link.takes[nbytes]


def served_as_they_come(ways, sent):
    """Return how late operations are on average where all serve them one by one, in the order in which they come.

    Args:
        ways: of each operation the links; each with the bytes, with when the head comes where nothing is in its way,
            and with how much later the last of the bytes has passed then.
        sent: the operations.
    """
    free, late, pending = {}, [0] * len(sent), []
    for number, (when, _, _) in enumerate(sent):
        heapq.heappush(pending, (when + ways[number][0][2], number, 0))
    while pending:
        when, number, index = heapq.heappop(pending)
        link, nbytes, after, passed = ways[number][index]
        begin = max(when, free.get(link, 0))
        free[link] = end = begin + takes(link, nbytes, begin, free)
        late[number] = max(late[number], end - sent[number][0] - after - passed)
        if index + 1 < len(ways[number]):
            heapq.heappush(pending, (begin + ways[number][index + 1][2] - after, number, index + 1))
    return sum(late) / len(sent)


def ends_of(machine, sent):
    """Make the operations; return when they end, in any order."""
    ends, acts = [], []
    for number, (when, source, target) in enumerate(sent):
        acts.append((when, partial(machine.act, source, target, number, ends.append)))
    run(machine.kernel, *acts)
    assert len(ends) == len(sent)
    return ends


class Messages:
    """Messages of StarT-X that processors store into transmit queues; of the busiest links one is on each way."""

    hosts, busiest, most = 64, 1, 1.1

    def __init__(self, access, nbytes):
        self.kernel = Kernel()
        self.fabric = ArcticFabric(self.kernel)
        self.processes = [StartXProcess(self.fabric, host, access) for host in range(self.hosts)]
        self.nbytes = nbytes
        self.cost = access_cost(access, nbytes)
        self.takes = durations(startx.bytes_per_s(startx.LINK_RATE))[nbytes]
        self.passed = max(self.takes, self.cost.span)
        self.ends = {}

    def act(self, source, target, number, told):
        if target not in self.ends:
            self.ends[target] = told
            self.fabric.niu(target).on_arrival.append(lambda: told(self.kernel.now))
        self.processes[source].send(LOW, target, 0, bytes(self.nbytes - 8))

    def way(self, source, target, number):
        links = self.fabric.network.way(source, target, 0).links
        stage, out = startx.ps(startx.STAGE), startx.ps(startx.NIU_OUT)
        return [
            (link, self.nbytes, self.cost.first + (number and out + number * stage), self.passed)
            for number, link in enumerate(links)
        ]

    def alone(self, source, target, number):
        way = self.fabric.network.way(source, target, 0)
        return self.cost.first + self.passed + way.latency


class Pulls:
    """Moves of a word out of another node's memory; the busiest links are those into and out of a node."""

    hosts, busiest, most = 64, 2, 1.3

    def __init__(self, build, driver, nbytes):
        self.kernel = Kernel()
        self.fabric = build(self.kernel, parse_spec(build.__module__.split(".")[1]).options)
        self.movers = [driver(Cpu(self.kernel), node, self.fabric) for node in range(self.hosts)]
        self.nbytes = nbytes
        link = self.fabric.way(0, 1).first
        self.takes = link.takes[REQUEST] + link.takes[nbytes]
        self.passed = max(link.takes[nbytes], self.movers[0].ticks(0, (nbytes,)))

    def act(self, source, target, number, told):
        self.movers[source].pull(target, [(self.nbytes,)], lambda index: None, lambda: told(self.kernel.now))

    def way(self, source, target, number):
        found, when = [], 0
        for begin, end, nbytes, passed in (
            (source, target, REQUEST, math.inf),
            (target, source, self.nbytes, self.passed),
        ):
            links = self.fabric.way(begin, end).links
            for link, (_, delay) in zip(links, self.fabric.steps(begin, end), strict=True):
                found.append((link, nbytes, when, passed))
                when += delay
            if begin == source:
                when += links[0].takes[REQUEST]
                found.append((self.fabric.memory(target).first, self.nbytes, when, math.inf))
                when += self.fabric.service
        return found

    def alone(self, source, target, number):
        there, back = self.fabric.way(source, target), self.fabric.way(target, source)
        asked = there.slowest[REQUEST] + there.latency
        return asked + self.fabric.service + self.passed + back.latency


class Stores:
    """Lines that CPUs of Sun Fire Link store which do nothing else; the busiest links are the cables."""

    hosts, busiest, most = 8, 1, 1.5

    def __init__(self):
        self.kernel = Kernel()
        self.fabric = FireLinkFabric(self.kernel, ClusterTopology(self.hosts, 1))
        self.cpus = Counter()  # that have stored, of each host
        self.takes = durations(sunfire.bytes_per_s(sunfire.LINK_ALONE))[64]

    def act(self, source, target, number, told):
        channel = self.fabric.processor(source, self.cpus[source]).channel(target)
        self.cpus[source] += 1
        end = channel.issue(1)
        if end:
            told(end + sunfire.LANDING_PS)
        else:
            channel.follow(1, lambda when: None, lambda run: told(run.arrival))

    def way(self, source, target, number):
        links = self.fabric.paths(source, target).lanes[0].links
        return [(link, 64, sunfire.START_PS, sunfire.LINE_PS) for link in links]

    def alone(self, source, target, number):
        return sunfire.START_PS + sunfire.LINE_PS + sunfire.LANDING_PS


class Reads:
    """Stores of 8 bytes on SCI beside three times as many reads, of which no packet is of data."""

    hosts, busiest, most = 64, 8, 1.1

    def __init__(self):
        self.kernel = Kernel()
        self.fabric = SciFabric(self.kernel, Torus((8, 8)))
        self.takes = self.fabric.adapter(0).bus.takes[wire_bytes(8)]
        self.heads = Sci.heads.__get__(self)
        self.torus = self.fabric.torus

    def adapter(self, source, target):
        adapter = self.fabric.adapter(source)
        return adapter, adapter.way(target)

    def act(self, source, target, number, told):
        adapter, way = self.adapter(source, target)
        if number % 4:
            adapter.read(way, 8, told)
        elif adapter.pio(adapter.plan(way, 8, 1, 1), lambda when: None, told) > 0:
            told(adapter.arrival)

    def way(self, source, target, number):
        nbytes = 0 if number % 4 else wire_bytes(8)
        return [(link, nbytes, PIO_START_PS + when, link.takes[nbytes]) for link, when in self.heads(source, target)]

    def alone(self, source, target, number):
        way = self.adapter(source, target)[1]
        written = way.shape.times(8, 1, 1, 4096).arrives
        return READ_RATIO * (PIO_START_PS + way.latency - (-8 * PS_PER_S // PIO_BYTES_PER_S)) if number % 4 else written


CASES = {
    "startx 24": partial(Messages, "block", 24),
    "startx 64": partial(Messages, "block", 64),
    "startx 96": partial(Messages, "block", 96),
    "startx 16 by words": partial(Messages, "word", 16),
    "t3e 8": partial(Pulls, build_t3e, partial(e_registers, weak=False), 8),
    "origin 8": partial(Pulls, build_origin, loads_and_stores, 8),
    "sunfire": Stores,
    "sci": Reads,
}


@pytest.mark.parametrize("use", [0.05, 0.2, 0.4, 0.7])
@pytest.mark.parametrize("kind", CASES)
def test_operations_are_as_late_as_where_links_serve_them_as_they_come(kind, use):
    """`use` is the part of their time for which the busiest links carry something."""
    machine = CASES[kind]()
    sent = traffic(machine.hosts, EACH, int(machine.busiest * machine.takes / use))
    ends = ends_of(machine, sent)
    ways = [machine.way(source, target, number) for number, (_, source, target) in enumerate(sent)]
    exact = served_as_they_come(ways, sent)
    alone = sum(when + machine.alone(source, target, number) for number, (when, source, target) in enumerate(sent))
    late = (sum(ends) - alone) / len(sent)
    assert 0.85 * exact - 500 < late < machine.most * exact + 500
