"""What a rank does when stores of it were lost that no barrier was behind.

Postboxes and acknowledgements are written without one; that something of these was lost is told by the rank's error
register, which does not say what.  So those are written again of which it is not certain that they have landed:
postboxes that are not acknowledged, and acknowledgements since the last repair; then a barrier, and again until that is
good.  A postbox that had landed after all carries an old sequence number, and its reader does not look at it.

Source: assumed (sf.gap.err_short).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from conduit.sim import Cpu
from conduit.simnet.chain import Steps, sleep_until
from conduits.mpi.libraries.sunmpi.connections import Inward, Outward
from conduits.mpi.libraries.sunmpi.wire import LINE
from conduits.rsm.safe import Stores, lines_of, safely
from conduits.sunfire.driver import CESR_PS, SunfireProcess


class DeviceRepair:
    """The repairs of one rank.

    Args:
        process: its use of the NIs.
        cpu: its CPU.
        outward, inward: its connections.
        reclaim: takes back what the receiver of a connection has acknowledged; returns the CPU time of it, picoseconds.

    Attributes:
        due: whether the error register was written, or a host cannot be reached any more, since the last look.
        repairs: looks that found an error.
        lines: lines that were written again.
    """

    def __init__(
        self,
        process: SunfireProcess,
        cpu: Cpu,
        outward: Mapping[int, Outward],
        inward: Mapping[int, Inward],
        reclaim: Callable[[Outward], int],
    ) -> None:
        self._process = process
        self._cpu = cpu
        self._outward = outward
        self._inward = inward
        self._reclaim = reclaim
        self.due = False
        self.repairs = self.lines = 0

    def retried(self, host: int, lines: int) -> None:
        """Count lines that are written again.

        Raises:
            NetworkError: no path to their host is left.
        """
        self.check(host)
        self.lines += lines

    def check(self, host: int) -> None:
        """Check that a path leads to a host.

        Raises:
            NetworkError: none does.
        """
        if not self._process.stripes(host):
            raise self._process.unreachable(host)

    def steps(self) -> Steps:
        """Look at the register, and write again what may be lost."""
        yield sleep_until(self._process.kernel, 0)
        if self._read():
            self.repairs += 1
            for way in list(self._outward.values()):
                yield from self._postboxes(way)
            for connection in list(self._inward.values()):
                yield from self._acknowledgements(connection)
            self._read()  # of the repair's own stores, which its barriers have dealt with
        self._look_for_paths(self._outward.values())
        self.due = False

    def unacknowledged(self) -> bool:
        """Return whether anything was sent that is not acknowledged; free of cost."""
        return not all(way.acknowledged() for way in self._outward.values())

    def _read(self) -> int:
        """Read and clear the error register."""
        self._cpu.free += CESR_PS
        return self._process.read_cesr()

    def _look_for_paths(self, ways: Iterable[Outward]) -> None:
        for way in ways:
            if way.waiting or way.large or not way.acknowledged():
                self.check(way.area.host)

    def _postboxes(self, way: Outward) -> Steps:
        self._cpu.free += self._reclaim(way)
        stores = way.again()
        if stores and way.area.remote is not None:
            self.lines += lines_of(stores, LINE)
            yield from safely(way.area.remote, stores, LINE, self.retried)

    def _acknowledgements(self, connection: Inward) -> Steps:
        stores: Stores = [*sorted(connection.written.items())]
        if stores and connection.remote is not None:
            connection.written.clear()
            self.lines += lines_of(stores, LINE)
            yield from safely(connection.remote, stores, LINE, self.retried)
