"""A processor as the network interfaces know it: its stores in order of issue, and its error register.

Source: Sistare and Jackson, sections 2.5 and 2.7.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from conduits.sunfire.hardware.channel import StoreChannel
from conduits.sunfire.hardware.roles import Cluster, LineRun


class Processor:
    """One CPU of a host.

    Attributes:
        host: where it is.
        index: which CPU of the host.
        cesr: its cluster error status register, an `ErrorStatus`: faults of its own transactions alone.  Reading
            it costs `CESR_READ`; a read clears it.
        alarm: called in the event in which the register gets an error, or in which system software finds that no
            path is left to a host that it stores to; stands for the CPU's next look.
        stolen: called as `stolen(ticks)` when an interrupt takes this CPU, picoseconds.
        held: a store of it has not got a place on every link yet, so that the next one waits.
    """

    __slots__ = ("_queue", "alarm", "cesr", "channels", "fabric", "held", "host", "index", "kernel", "stolen")

    def __init__(self, fabric: Cluster, host: int, index: int) -> None:
        self.fabric = fabric
        self.kernel = fabric.kernel
        self.host = host
        self.index = index
        self.cesr = 0
        self.alarm: Callable[[], object] | None = None
        self.stolen: Callable[[int], object] | None = None
        self.held = False
        self.channels: dict[tuple[int, int | None], StoreChannel] = {}
        self._queue: deque[LineRun] = deque()

    def channel(self, target: int, interface: int | None = None) -> StoreChannel:
        """Return its way to a host, over all NIs or one of them."""
        found = self.channels.get((target, interface))
        if found is None:
            found = self.channels[target, interface] = StoreChannel(self, target, interface)
        return found

    def begin(self, flight: LineRun) -> None:
        """Begin a flight when what was stored before has its place on every link."""
        if self.held:
            self._queue.append(flight)
        else:
            flight.begin()

    def release(self) -> None:
        """What it stored last has its place on every link: go on with what waits."""
        self.held = False
        if self._queue:
            self.kernel.amid(self._queue.popleft().begin)

    def raise_error(self, status: int) -> None:
        """Set an error in the register."""
        self.cesr |= status
        if self.alarm is not None:
            self.alarm()
