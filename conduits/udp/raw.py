"""The driver's own benchmarks, as `conduit raw udp` shows them: bare sockets, no conduit, nothing sent again.

One datagram: from the beginning of `sendto` until the receiver has taken it; it looks at the instant at which the
datagram is in its buffer, so no turn of a polling loop is in it.  Frames are neither lost nor put off there.  A flood:
processes of as many hosts send to one as fast as they can, which takes what comes; that is by the options of the
machine, chances included, and shows where datagrams get lost.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from conduit.contract import RawTable
from conduit.sim import Cpu, Kernel, Waiter, simulate
from conduit.sim.units import PS_PER_S
from conduits.udp.driver import Socket
from conduits.udp.hardware import DATAGRAM, on_the_wire
from conduits.udp.machine import UdpMachine, build

SIZES = (1, 8, 64, 128, 256, 512, 1024, DATAGRAM)
FLOOD_SIZES = (64, 512, DATAGRAM)
FLOOD = 500
"""Datagrams of each sender."""
SENDERS = (1, 3)


def tables(options: UdpMachine) -> Sequence[RawTable]:
    """Return the tables: one datagram by size, and floods."""
    return (
        RawTable(
            "One datagram", ("bytes", "sendto us", "on its way us", "recvfrom us", "one way us", "MB/s"),
            [_row(size, one_way(options, size)) for size in SIZES],
            "on its way: until it is in the socket's buffer, interrupt included; MB = 10**6 bytes",
        ),
        RawTable(
            "Floods",
            ("senders", "bytes", "sent", "doubled", "lost", "adapter", "switch", "socket", "received", "MB/s"),
            [_flood_row(count, size, flood(options, count, size)) for count in SENDERS for size in FLOOD_SIZES],
            "sent and doubled = lost on the network, dropped by adapter, switch and socket, and received; nothing is "
            "sent again; MB/s of what is received, MB = 10**6 bytes",
        ),
    )  # fmt: skip


def _row(nbytes: int, took: DatagramTiming) -> Sequence[object]:
    whole = took.send + took.way + took.receive
    return [nbytes, *(ticks / 1e6 for ticks in (took.send, took.way, took.receive, whole)), nbytes / whole * 1e6]


def _flood_row(senders: int, nbytes: int, found: Flood) -> Sequence[object]:
    rate = found.received * nbytes / found.ticks * 1e6 if found.ticks else 0.0
    return [senders, nbytes, *attrs.astuple(found)[:-1], rate]


@attrs.frozen
class DatagramTiming:
    """What one datagram took, picoseconds.

    Attributes:
        send: of the sender's processor.
        way: from there until it is in the receiver's buffer.
        receive: of the receiver's processor.
    """

    send: int
    way: int
    receive: int


@attrs.frozen
class Flood:
    """What became of a flood.

    Attributes:
        sent: datagrams that were given to adapters.
        doubled: those that came twice.
        lost: those that the network lost at random.
        adapter, switch, socket: those that found a queue full.
        received: those that the receiver has taken.
        ticks: from the beginning until it had taken the last, picoseconds.
    """

    sent: int
    doubled: int
    lost: int
    adapter: int
    switch: int
    socket: int
    received: int
    ticks: int


def one_way(options: UdpMachine, nbytes: int) -> DatagramTiming:
    """Return what a datagram of `nbytes` takes from one host to another, both of which do nothing else."""
    bench = _Bench(attrs.evolve(options, loss=0.0, dup=0.0, reorder=0.0, order="strict"), 2)
    kernel, (near, far) = bench.kernel, bench.ends
    times: list[int] = []

    async def body() -> None:
        there = Waiter()
        far.socket.arrived = there.wake
        await near.send(far, nbytes, 1)
        times.append(kernel.now)
        await kernel.wait(there)
        times.append(kernel.now)
        far.take()
        await far.cpu.finish()
        times.append(kernel.now)

    simulate(kernel, body)
    sent, come, taken = times
    return DatagramTiming(sent, come - sent, taken - come)


def flood(options: UdpMachine, senders: int, nbytes: int) -> Flood:
    """Let each of `senders` hosts send `FLOOD` datagrams of `nbytes` to one more, as fast as they can."""
    bench = _Bench(options, senders + 1)
    kernel, (receiver, *sources) = bench.kernel, bench.ends
    receiver.socket.arrived = receiver.serve
    drained = senders * FLOOD * on_the_wire(nbytes) * PS_PER_S // round(options.rate) + PS_PER_S

    async def send(source: _End) -> None:
        await source.send(receiver, nbytes, FLOOD)
        await kernel.until(kernel.now + drained)  # by then all queues are empty

    simulate(kernel, *(lambda source=source: send(source) for source in sources))
    counts = bench.cluster.statistics()

    def total(name: str) -> int:
        return sum(each[name] for each in counts.values())

    return Flood(
        sent=sum(source.socket.sent for source in sources),
        doubled=total("frames_doubled"),
        lost=total("frames_lost"),
        adapter=total("adapter_drops"),
        switch=total("switch_drops"),
        socket=receiver.socket.buffer.dropped,
        received=receiver.socket.received,
        ticks=receiver.last,
    )


class _End:
    """A process that is alone on its host: a socket and a processor.

    Attributes:
        last: when it had taken its last datagram, picoseconds.
    """

    def __init__(self, kernel: Kernel, socket: Socket, rank: int) -> None:
        self.kernel = kernel
        self.socket = socket
        self.cpu = Cpu(kernel, rank)
        self.last = 0
        self._serving = False
        socket.interrupt = self.cpu.interrupt

    async def send(self, to: _End, nbytes: int, count: int) -> None:
        """Send `count` datagrams, one after the other."""
        for _ in range(count):
            self.cpu.charge(self.socket.send_ps(nbytes))
            await self.cpu.finish()
            self.socket.send(to.socket, bytes(nbytes))

    def take(self) -> bool:
        """Take a datagram, which costs the processor's time; return whether there was one."""
        datagram = self.socket.receive()
        if datagram is None:
            return False
        self.cpu.charge(self.socket.receive_ps(len(datagram)))
        self.last = self.cpu.free
        return True

    def serve(self) -> None:
        """Take one datagram after the other while there are any."""
        if not self._serving:
            self._serving = True
            self._next()

    def _next(self) -> None:
        if self.cpu.free > self.kernel.now or self.take():  # interrupts have taken time, too
            self.kernel.call(self.cpu.free, self._next)
        else:
            self._serving = False


class _Bench:
    """Hosts with one process each."""

    def __init__(self, options: UdpMachine, hosts: int) -> None:
        self.kernel = Kernel()
        self.cluster = build(self.kernel, tuple(range(hosts)), options)
        self.ends = [_End(self.kernel, self.cluster.socket(rank), rank) for rank in range(hosts)]
