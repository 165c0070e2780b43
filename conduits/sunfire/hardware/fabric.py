"""The cluster: hosts with NIs and processors, wired; what each host's tables say; how traffic is routed.

Routing is system software's: for each pair of hosts the lanes that work, at most `stripes` of them.  When a
part fails or comes back the tables are written anew after `REROUTE`; until then what is sent over a dead lane
is lost.  A table in the receiving NI says for each exported range whether it is memory or an interrupt, and
which hosts may do what.

Weak ordering: every line lands by itself, later by a seeded random delay; only a barrier orders lines (rules O).

Source: Sistare and Jackson, sections 2.2 to 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from conduit.sim.kernel import Kernel
from conduits.sunfire import constants as c
from conduits.sunfire.hardware.parts import Component
from conduits.sunfire.hardware.paths import Paths
from conduits.sunfire.hardware.processor import Processor
from conduits.sunfire.hardware.tables import InterruptRange, TableEntry
from conduits.sunfire.hardware.wiring import ClusterTopology, Inventory

REROUTE_PS = c.ps(c.REROUTE)
SPREAD_PS = c.ps(c.SPREAD)
CPUS = c.whole(c.CPUS)


class FireLinkFabric:
    """The cluster.

    Args:
        kernel: of the job.
        topology: what it is made of.
        stripes: lanes that one pair of hosts uses at most; None: all.
        weak: whether lines land in any order that the rules allow.
        may_fail: whether parts may fail: every run is then followed to its end.
        piece: bytes after which a run lets others onto its links.

    Attributes:
        inventory: its parts.
        interrupts: the range of each host's kernel, in its tables.
        exported: bytes that each host has made exportable; the driver's.
    """

    def __init__(
        self,
        kernel: Kernel,
        topology: ClusterTopology,
        *,
        stripes: int | None = None,
        weak: bool = False,
        may_fail: bool = False,
        piece: int = 4096,
    ) -> None:
        self.kernel = kernel
        self.inventory = Inventory(kernel, topology)
        self.stripes = stripes
        self.weak = weak
        self.may_fail = may_fail
        self.piece = piece
        self.interrupts: dict[int, InterruptRange] = {}
        self.exported: dict[int, int] = {}
        self.draw = kernel.random("sunfire/bits").random
        self._delay = kernel.random("sunfire/order").randrange
        self._processors: dict[tuple[int, int], Processor] = {}
        self._paths: dict[tuple[int, int, int | None], Paths] = {}
        self._entries: dict[tuple[int, int], TableEntry] = {}
        self._rerouting = False

    def processor(self, host: int, index: int) -> Processor:
        """Return a CPU of a host.

        Raises:
            ValueError: there is no such CPU.
        """
        found = self._processors.get((host, index))
        if found is None:
            hosts = self.inventory.topology.hosts
            if not (0 <= host < hosts and 0 <= index <= CPUS):
                raise ValueError(
                    f"there is no CPU {index} of host {host}; the {hosts} hosts, from 0, have CPUs 0 to {CPUS - 1} for "
                    f"programs and {CPUS} for the host's own processes"
                )
            found = self._processors[host, index] = Processor(self, host, index)
        return found

    def later(self, arrival: int) -> int:
        """Return when a line lands in weak ordering that could land at `arrival`."""
        return arrival + self._delay(SPREAD_PS)

    # -- tables --------------------------------------------------------------------------------------

    def enter(self, entry: TableEntry, number: int, rights: Mapping[int, int] | None) -> None:
        """Write a range into the tables of its host."""
        entry.number = number
        entry.grant(rights)
        self._entries[entry.host, number] = entry

    def strike(self, entry: TableEntry) -> None:
        """Take a range out of the tables."""
        del self._entries[entry.host, entry.number]
        entry.strike()

    def entry(self, host: int, number: int) -> TableEntry | None:
        """Return what a host's tables have under a number, None if nothing."""
        return self._entries.get((host, number))

    # -- routing -------------------------------------------------------------------------------------

    def paths(self, source: int, target: int, interface: int | None = None) -> Paths:
        """Return the way from one host to another, over all NIs or one of the source's."""
        found = self._paths.get((source, target, interface))
        if found is None:
            found = self._paths[source, target, interface] = Paths(source, target, interface)
            self._write(found)
        return found

    def fail(self, part: Component) -> None:
        """A part goes down, or has another cause to be: what is on it is lost."""
        part.faults += 1
        if part.up:
            part.up = False
            part.downs.append(self.kernel.now)
            self._reroute_soon()

    def repair(self, part: Component) -> None:
        """One cause of a part's failure is over; with the last one it comes back."""
        part.faults -= 1
        if not part.faults:
            part.up = True
            self._reroute_soon()

    def _reroute_soon(self) -> None:
        if not self._rerouting:
            self._rerouting = True
            # A background event: where nothing else happens any more, the new tables are not needed.
            self.kernel.background(self.kernel.now + REROUTE_PS, self._reroute)

    def _reroute(self) -> None:
        self._rerouting = False
        for part in self.inventory.parts.values():
            part.trusted = part.up
        for paths in self._paths.values():
            before = paths.lanes
            self._write(paths)
            paths.reroutes += paths.lanes != before
            if before and not paths.lanes:
                self._warn(paths)

    def _warn(self, paths: Paths) -> None:
        """Alarm the processors that store over a way that is no more."""
        for processor in self._processors.values():
            used = processor.host == paths.source and (paths.target, paths.interface) in processor.channels
            if used and processor.alarm is not None:
                processor.alarm()

    def _write(self, paths: Paths) -> None:
        """Write the tables for one pair of hosts."""
        inventory, source, target = self.inventory, paths.source, paths.target
        lanes = inventory.lanes(source, target)
        if paths.interface is not None:
            lanes = [lane for lane in lanes if lane.source.index == paths.interface]
        paths.lanes = lanes[: self.stripes]
        paths.down = [part.name for part in inventory.between(source, target) if not part.trusted]
