"""A network whose native one-sided operations complete late, and in any order that is legal; its messages are loggp's.

What a put stores lands in pieces, each at a time of its own; what a get reads is read piece by piece too; completion is
told later still.  A fence waits for nothing: it only keeps what is put after it behind what was put before.  With
`barrier=yes` there are barriers of the network's own, of which ranks are told late too.
"""

from functools import partial
from typing import Literal

import attrs

from conduit.options import option
from conduit.sim.units import NS, US
from conduit.simnet import HardwareBarrier, Unit
from conduit.simnet.onesided import pieces
from conduits.loggp import Loggp
from conduits.loggp.port import LoggpOptions

LATEST = 40 * US


@attrs.frozen(kw_only=True)
class LateOptions(LoggpOptions):
    """The options of `late`."""

    rma: Literal["native", "am"] = option("native", "how layers put and get")
    barrier: bool = option(False, "there are barriers of the network's own")
    part: int = option(24, "bytes that land at one time", validator=attrs.validators.ge(1))


class Late(Loggp):
    """loggp, and one-sided operations that take their time."""

    name = "late"
    summary = "native operations that complete late and in any order"
    Options = LateOptions

    def make_unit(self, port):
        """Return what does the operations of a rank."""
        return LateUnit(port, self)

    def make_barrier(self):
        """Return what barriers take."""
        return LateBarrier(self.kernel) if self.options.barrier else None


class LateBarrier(HardwareBarrier):
    """Tells each rank at some time."""

    access_ps = 100 * NS

    def __init__(self, kernel):
        self.random = kernel.random("late/barrier")

    def seen(self, arrived):
        """Return when each rank is told."""
        return [max(arrived) + self.random.randrange(LATEST) for _ in arrived]


class LateUnit(Unit):
    """Does the operations of one rank."""

    def __init__(self, port, network):
        super().__init__(port)
        self.network = network
        self.part = network.options.part
        self.random = port.kernel.random(f"late/{port.rank}")
        self.under_way = 0
        self.last = {}  # by rank, when the last of what was put there lands
        self.floor = {}  # by rank, before which nothing more may land
        self.waiting = []

    def _begin(self, free):
        """Take the CPU for the call itself; return when it is over."""
        self.port.cpu.charge(200 * NS)
        self.under_way += 1
        now = self.port.cpu.free
        self.port.kernel.at(now, free)
        return now

    def _later(self, after):
        return after + self.random.randrange(LATEST)

    def _end(self, act, *args):
        act(*args)
        self.under_way -= 1
        if not self.under_way:
            waiting, self.waiting = self.waiting, []
            for free in waiting:
                free()

    def put(self, dest, places, data, free, done):
        """Let each piece land at some time, and tell later."""
        after = max(self._begin(free), self.floor.get(dest, 0))
        there, at, last = self.network.ports[dest], 0, after
        for spans in pieces(places, self.part):
            size = sum(size for _, size in spans)
            when = self._later(after)
            self.port.kernel.at(when, there.land, spans, data[at : at + size], self.port.rank)
            at += size
            last = max(last, when)
        self.last[dest] = max(self.last.get(dest, 0), last)
        self.port.kernel.at(self._later(last), self._end, done)

    def get(self, dest, places, free, done):
        """Read each piece at some time, and tell later."""
        after = self._begin(free)
        there, found, last = self.network.ports[dest], {}, after

        def read(number, spans):
            found[number] = there.read(spans)

        for number, spans in enumerate(pieces(places, self.part)):
            when = self._later(after)
            self.port.kernel.at(when, read, number, spans)
            last = max(last, when)
        joined = lambda: done(b"".join(found[number] for number in range(len(found))))  # noqa: E731
        self.port.kernel.at(self._later(last), self._end, joined)

    def atomic(self, op, dest, offset, operands, free, done):
        """Do it at some time, and tell later."""
        after = max(self._begin(free), self.floor.get(dest, 0))
        there = self.network.ports[dest]

        def act():
            old = there.apply(op, offset, operands, self.port.rank)
            self.port.kernel.at(self._later(self.port.kernel.now), self._end, done, old)

        when = self._later(after)
        self.last[dest] = max(self.last.get(dest, 0), when)
        self.port.kernel.at(when, act)

    def fence(self, dest, free):
        """Keep what follows behind what is under way."""
        self.floor[dest] = max(self.floor.get(dest, 0), self.last.get(dest, 0))
        self.port.kernel.at(self.port.cpu.now(), free)

    def quiet(self, free):
        """Wait until nothing is under way."""
        self.port.kernel.at(self.port.cpu.now(), partial(self._wait, free))

    def _wait(self, free):
        if self.under_way:
            self.waiting.append(free)
        else:
            free()
