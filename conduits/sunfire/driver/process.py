"""One process's use of its host's NIs: RSM's provider for Sun Fire Link.

Source: Sistare and Jackson, section 2; the Queen's paper, section III and Table III.
"""

from __future__ import annotations

from collections.abc import Sequence

from conduit.sim import Cpu, Memory, Store
from conduits.rsm import Attributes, Backing, Rights, RsmCall, RsmProvider
from conduits.rsm.errors import BadNode, RemoteUnreachable, ResourceError
from conduits.sunfire import constants as c
from conduits.sunfire.constants import BARRIER_PS, LINE_PS, START_PS
from conduits.sunfire.driver.mapping import Landing
from conduits.sunfire.driver.window import HostKernel, SunfireWindow
from conduits.sunfire.hardware import LINE, Counters, FireLinkFabric, TableEntry

NAME = "wrsm"
"""The controller of all NIs; with an NI's index behind it, that one alone."""
PAGE = c.whole(c.MIN_SEGMENT)
EXPORT_MAX = c.whole(c.EXPORT_MAX)
CESR_PS = c.ps(c.CESR_READ)

_STORE_PS = START_PS + LINE_PS
_COSTS = {
    RsmCall.GET_TOPOLOGY: c.ps(c.GET_TOPOLOGY),
    RsmCall.GET_CONTROLLER: c.ps(c.GET_CONTROLLER),
    RsmCall.FREE_TOPOLOGY: c.ps(c.FREE_TOPOLOGY),
    RsmCall.EXPORT_CREATE: c.ps(c.EXPORT_CREATE),
    RsmCall.EXPORT_PUBLISH: c.ps(c.EXPORT_PUBLISH),
    RsmCall.EXPORT_REPUBLISH: c.ps(c.REPUBLISH),
    RsmCall.EXPORT_UNPUBLISH: c.ps(c.EXPORT_UNPUBLISH),
    RsmCall.EXPORT_DESTROY: c.ps(c.EXPORT_DESTROY),
    RsmCall.RELEASE_CONTROLLER: c.ps(c.RELEASE_CONTROLLER),
    RsmCall.IMPORT_CONNECT: c.ps(c.IMPORT_CONNECT),
    RsmCall.IMPORT_MAP: c.ps(c.IMPORT_MAP),
    RsmCall.INIT_BARRIER: c.ps(c.INIT_BARRIER),
    RsmCall.SET_MODE: c.ps(c.SET_MODE),
    RsmCall.OPEN_BARRIER: c.ps(c.OPEN_BARRIER),
    RsmCall.ORDER_BARRIER: c.ps(c.ORDER_BARRIER) - BARRIER_PS,
    RsmCall.PUT: c.ps(c.PUT_CALL),
    RsmCall.GET: c.ps(c.GET_CALL),
    RsmCall.CLOSE_BARRIER: c.ps(c.CLOSE_BARRIER) - BARRIER_PS,
    RsmCall.DESTROY_BARRIER: c.ps(c.DESTROY_BARRIER),
    RsmCall.SIGNAL_POST: c.ps(c.SIGNAL_POST) - _STORE_PS,
    RsmCall.SIGNAL_WAIT: c.ps(c.SIGNAL_WAIT),
    RsmCall.IMPORT_UNMAP: c.ps(c.IMPORT_UNMAP),
    RsmCall.IMPORT_DISCONNECT: c.ps(c.IMPORT_DISCONNECT),
}
_PAGES = {
    RsmCall.EXPORT_CREATE: c.ps(c.PAGE_CREATE),
    RsmCall.EXPORT_PUBLISH: c.ps(c.PAGE_PUBLISH),
    RsmCall.EXPORT_REPUBLISH: c.ps(c.PAGE_PUBLISH),
    RsmCall.EXPORT_UNPUBLISH: c.ps(c.PAGE_UNPUBLISH),
    RsmCall.EXPORT_DESTROY: c.ps(c.PAGE_DESTROY),
}
_TABLE_PAGES = c.whole(c.TABLE_PAGES)


class SunfireProcess(RsmProvider):
    """One process on one CPU of a host.

    Args:
        fabric: the cluster.
        host: where the process runs.
        index: its CPU there.
        cpu: the same CPU, as what the process's time is taken of.

    Attributes:
        processor: the CPU as the NIs know it; `processor.cesr` is its error register.
        apart: whether lines of a run land by themselves.
        announced: stores whose bytes land with the next one (see `mapping`).
    """

    def __init__(self, fabric: FireLinkFabric, host: int, index: int, cpu: Cpu) -> None:
        self.fabric = fabric
        self.kernel = fabric.kernel
        self.host = host
        self.cpu = cpu
        self.processor = fabric.processor(host, index)
        if host not in fabric.interrupts:
            HostKernel(fabric, host)
        self.apart = fabric.weak or fabric.may_fail
        self.announced: list[Landing] = []
        self._exported = 0

    # -- errors and reports --------------------------------------------------------------------------

    def read_cesr(self) -> int:
        """Read and clear this processor's error register; takes `CESR_PS` of the caller's CPU, not charged here."""
        status, self.processor.cesr = self.processor.cesr, 0
        return status

    def stripes(self, host: int) -> int:
        """Return how many lanes system software uses to a host now; 0: no path is left."""
        return len(self.fabric.paths(self.host, host).lanes)

    def reroutes(self) -> int:
        """Return how often system software has given other lanes to where this process stores."""
        return sum(channel.paths.reroutes for channel in self.processor.channels.values())

    def unreachable(self, host: int) -> RemoteUnreachable:
        """Return the error that names the path to a host, and what was down when system software looked."""
        down = ", ".join(self.fabric.paths(self.host, host).down)
        return RemoteUnreachable(f"no path from host {self.host} to host {host} is left; down: {down}")

    def counters(self) -> Sequence[Counters]:
        """Return the instrumentation counters of this host's NIs."""
        inventory = self.fabric.inventory
        return [inventory.interfaces[self.host, index].counters() for index in range(inventory.topology.nis)]

    # -- conduits.rsm.RsmProvider -----------------------------------------------------------------

    def controllers(self) -> Sequence[Attributes]:
        """Return the controller of all NIs, then one for each."""
        names = [NAME, *(f"{NAME}{index}" for index in range(self.fabric.inventory.topology.nis))]
        return [Attributes(name, LINE, PAGE, PAGE, EXPORT_MAX) for name in names]

    def hosts(self) -> Sequence[int]:
        """Return all hosts."""
        return range(self.fabric.inventory.topology.hosts)

    def cost(self, call: RsmCall, nbytes: int = 0) -> int:
        """Return a call's software: Table III less what the hardware takes in it; for other sizes by page."""
        cost = _COSTS[call]
        if call in _PAGES:
            cost += (-(-nbytes // PAGE) - _TABLE_PAGES) * _PAGES[call]
        return cost

    def create(self, controller: str, nbytes: int, memory: Store | None) -> Backing:
        """Make local memory exportable, as much as a host can."""
        exported = self.fabric.exported.get(self.host, 0) + nbytes
        if exported > EXPORT_MAX:
            raise ResourceError(
                f"host {self.host} cannot export another {nbytes} bytes: {exported} in all, it can {EXPORT_MAX}"
            )
        self.fabric.exported[self.host] = exported
        return TableEntry(self.host, Memory(nbytes) if memory is None else memory, nbytes)

    def destroy(self, backing: Backing) -> None:
        """Give exportable memory back."""
        self.fabric.exported[self.host] -= backing.nbytes

    def publish(self, backing: Backing, number: int, rights: Rights) -> None:
        """Write the NIs' tables."""
        assert isinstance(backing, TableEntry)
        self.fabric.enter(backing, number, rights)

    def republish(self, backing: Backing, rights: Rights) -> None:
        """Change the NIs' tables."""
        assert isinstance(backing, TableEntry)
        backing.grant(rights)

    def unpublish(self, backing: Backing) -> Backing:
        """Clear the NIs' tables."""
        assert isinstance(backing, TableEntry)
        self.fabric.strike(backing)
        return backing.again()

    def connect(self, controller: str, host: int, backing: Backing) -> SunfireWindow:
        """Import what another host has published, over all NIs or the controller's."""
        assert isinstance(backing, TableEntry)
        if host == self.host:
            raise BadNode(f"host {host} imports from itself; reach the memory directly")
        interface = int(controller[len(NAME) :]) if controller != NAME else None
        channel = self.processor.channel(host, interface)
        if not channel.paths.lanes:
            raise self.unreachable(host)
        return SunfireWindow(self, backing, channel)
