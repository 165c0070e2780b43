"""RSM's provider for SCI: RSMAPI on the card's own driver.

A published segment is a segment of the card's driver, and a second one of a byte beside it, the doorbell, whose
landing is the interrupt of a signal.  A put is PIO through a mapping that is made at connect; a get is a remote
read; a barrier is the store barrier, which covers all stores of the process.  The card has no rights by host,
so the library alone checks them, and nothing is lost, so that a barrier never fails.

The papers that have RSM on Sun Fire Link give no times for it on SCI: all costs here are assumed, but for the mapping
(sci.map.dynamic).  Accesses take what the hardware takes.

Source: the RSMAPI papers' Table I for the calls; the conduit's paper, sections 2.1 and 4.1, for the card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from conduit.contract import Constant
from conduit.sim import Cpu, Memory, Store
from conduit.sim.memory import Buffer
from conduits.rsm import (
    Attributes,
    Backing,
    Done,
    Got,
    ImportWindow,
    Landing,
    Permission,
    Rights,
    RsmCall,
    RsmProvider,
)
from conduits.rsm.errors import BadLength, BadNode, BadOffset, ConnectionAborted, PermDenied, SegmentNotMapped
from conduits.sci import constants as c
from conduits.sci.driver import MAP_PS, UNMAP_PS, SegmentMapping, Sisci
from conduits.sci.machine import SciCluster

SYSTEM_CALL = Constant(
    "rsm.system_call", 2, "us", "assumed", "into the driver and back, with little to do there; some 5000 cycles"
)
ALLOCATE = Constant(
    "rsm.allocate", 50, "us", "assumed", "a driver finds contiguous pages, locks them and makes their tables"
)
ASK = Constant(
    "rsm.ask", 100, "us", "assumed", "a question to the other host's driver and its answer, by messages and interrupts"
)
INTERRUPT = Constant(
    "rsm.interrupt", 10, "us", "assumed", "a remote interrupt until the kernel has told the process that waits"
)
LOCAL = Constant("rsm.local", 100, "ns", "assumed", "a call that stays in the library; some 240 cycles")
CONSTANTS = (SYSTEM_CALL, ALLOCATE, ASK, INTERRUPT, LOCAL)

_CALL_PS, _ALLOCATE_PS, _ASK_PS, _INTERRUPT_PS, _LOCAL_PS = map(c.ps, CONSTANTS)
_COSTS = {
    RsmCall.GET_CONTROLLER: _CALL_PS,
    RsmCall.RELEASE_CONTROLLER: _CALL_PS,
    RsmCall.GET_TOPOLOGY: _CALL_PS,
    RsmCall.EXPORT_CREATE: _ALLOCATE_PS,
    RsmCall.EXPORT_PUBLISH: _CALL_PS,
    RsmCall.EXPORT_REPUBLISH: _CALL_PS,
    RsmCall.EXPORT_UNPUBLISH: _CALL_PS,
    RsmCall.EXPORT_DESTROY: _CALL_PS,
    RsmCall.IMPORT_CONNECT: _ASK_PS + MAP_PS,
    RsmCall.IMPORT_MAP: _CALL_PS,
    RsmCall.IMPORT_UNMAP: _CALL_PS,
    RsmCall.IMPORT_DISCONNECT: UNMAP_PS,
    RsmCall.SIGNAL_POST: _CALL_PS,
    RsmCall.SIGNAL_WAIT: _CALL_PS,
}
NAME = "sci0"


class SciMemory:
    """Memory of this process as RSM exports it, and as the card's driver sees it.

    Attributes:
        nbytes: its size.
        memory: its bytes.
        landing: told of what other hosts write.
        signalled: called for a signal.
        number: its id, -1 while it is not published.
        mappings: of all importers, to be ended when it is unpublished.
    """

    def __init__(self, nbytes: int, memory: Store) -> None:
        self.nbytes = nbytes
        self.memory = memory
        self.landing: Landing | None = None
        self.signalled: Callable[[], object] | None = None
        self.number = -1
        self.mappings: list[SegmentMapping] = []

    def write(self, address: int, data: Buffer) -> None:
        """Store bytes of another host, in the event of their arrival."""
        self.memory.write(address, data)
        if self.landing is not None:
            self.landing(address, data)

    def read(self, address: int, nbytes: int) -> bytes:
        """Return `nbytes` from `address`."""
        return self.memory.read(address, nbytes)


class SciRsm(RsmProvider):
    """One process of a cluster.

    Args:
        cluster: the machine.
        rank: the process's number in the job.
        cpu: what its time is taken of.
    """

    def __init__(self, cluster: SciCluster, rank: int, cpu: Cpu) -> None:
        self.driver = cluster.process(rank)
        self.kernel = cluster.kernel
        self.host = cluster.hosts[rank]
        self.cpu = cpu
        self._attributes = Attributes(NAME, 1, 1, 1, cluster.options.max_segment)

    def controllers(self) -> Sequence[Attributes]:
        """Return the card."""
        return [self._attributes]

    def hosts(self) -> Sequence[int]:
        """Return all hosts of the torus."""
        return range(self.driver.fabric.torus.nodes)

    def cost(self, call: RsmCall, nbytes: int = 0) -> int:
        """Return a call's software."""
        return _COSTS.get(call, _LOCAL_PS)

    def create(self, controller: str, nbytes: int, memory: Store | None) -> Backing:
        """Make local memory exportable."""
        return SciMemory(nbytes, Memory(nbytes) if memory is None else memory)

    def destroy(self, backing: Backing) -> None:
        """Give it back."""

    def publish(self, backing: Backing, number: int, rights: Rights) -> None:
        """Make it a segment of the driver, with its doorbell."""
        assert isinstance(backing, SciMemory)
        backing.number = number
        self.driver.create_segment(_memory_of(number), backing.nbytes, backing).export()
        doorbell = self.driver.create_segment(_doorbell_of(number), 1)
        doorbell.on_landing = lambda: self.kernel.at(self.kernel.now + _INTERRUPT_PS, _ring, backing, number)
        doorbell.export()

    def republish(self, backing: Backing, rights: Rights) -> None:
        """Nothing: the card has no rights by host."""

    def unpublish(self, backing: Backing) -> Backing:
        """Take it from the driver, and end what others have mapped of it."""
        assert isinstance(backing, SciMemory)
        exports = self.driver.fabric.exports[self.host]
        for number in (_memory_of(backing.number), _doorbell_of(backing.number)):
            exports.pop(number).exported = False
        for mapping in backing.mappings:
            self.driver.unmap(mapping)
        backing.number = -1
        made = SciMemory(backing.nbytes, backing.memory)
        made.landing, made.signalled = backing.landing, backing.signalled
        return made

    def connect(self, controller: str, host: int, backing: Backing) -> SciWindow:
        """Connect to a segment and its doorbell, and map both."""
        assert isinstance(backing, SciMemory)
        if host == self.host:
            raise BadNode(f"host {host} imports from itself; reach the memory directly")
        driver, number = self.driver, backing.number
        memory = driver.map(driver.connect(host, _memory_of(number)))
        doorbell = driver.map(driver.connect(host, _doorbell_of(number)))
        backing.mappings += (memory, doorbell)
        return SciWindow(driver, memory, doorbell)


class SciWindow(ImportWindow):
    """An import.

    Args:
        driver: of the process.
        memory: the segment.
        doorbell: the byte beside it.
    """

    def __init__(self, driver: Sisci, memory: SegmentMapping, doorbell: SegmentMapping) -> None:
        self.nbytes = memory.nbytes
        self._driver = driver
        self._memory = memory
        self._doorbell = doorbell
        self._mapping: SciMapping | None = None

    def put(self, offset: int, data: Buffer, then: Done) -> None:
        """Store by PIO."""
        self._store(self._memory, offset, data, then)

    def get(self, offset: int, nbytes: int, then: Got) -> None:
        """Read remote memory."""
        kernel = self._driver.adapter.kernel
        if not self._memory.alive:
            then(b"", kernel.now, self._aborted())
            return
        self._driver.read(self._memory, offset, nbytes, lambda data, when: kernel.at(when, then, data, when, None))

    def fence(self, then: Done) -> None:
        """Wait for the store barrier."""
        kernel = self._driver.adapter.kernel

        def known(when: int) -> None:
            when = max(when, kernel.now)
            kernel.at(when, then, when, None)

        driver = self._driver
        when = driver.barrier(known)
        if when or not driver.pending:
            known(when)

    def signal(self, then: Done) -> None:
        """Ring the doorbell."""
        self._store(self._doorbell, 0, b"\1", then)

    def map(self, permission: Permission) -> SciMapping:
        """Return a mapping for user code."""
        self._mapping = SciMapping(self._driver, self._memory, permission)
        return self._mapping

    def unmap(self) -> None:
        """End the mapping."""
        if self._mapping is not None:
            self._mapping.alive = False
            self._mapping = None

    def _store(self, mapping: SegmentMapping, offset: int, data: Buffer, then: Done) -> None:
        kernel = self._driver.adapter.kernel
        if not mapping.alive:
            then(kernel.now, self._aborted())
            return

        def issued(when: int) -> None:
            when = max(when, kernel.now)
            kernel.at(when, then, when, None)

        end = self._driver.store(mapping, offset, data, issued)
        if end:
            issued(end)

    def _aborted(self) -> ConnectionAborted:
        """Return the error of an access whose software ran when the exporter unpublished the segment."""
        segment = self._memory.segment
        return ConnectionAborted(f"segment {segment.number >> 1} of host {segment.host}: its owner has unpublished it")


class SciMapping:
    """A mapped segment: PIO stores of any size, remote reads, the store barrier.

    Attributes:
        permission: as it was imported.
        alive: whether it has not been unmapped.
    """

    __slots__ = ("_driver", "_memory", "alive", "permission")

    def __init__(self, driver: Sisci, memory: SegmentMapping, permission: Permission) -> None:
        self._driver = driver
        self._memory = memory
        self.permission = permission
        self.alive = True

    def store(self, offset: int, data: Buffer, issued: Callable[[int], object]) -> int:
        """Store, posted: return when the CPU is free again, or 0, and then `issued(when)` tells.

        Raises:
            SegmentNotMapped: it was unmapped, or the exporter has unpublished it.
            PermDenied: imported for reading only.
            BadOffset, BadLength: outside the segment, or nothing.
        """
        self._check("store", offset, len(data), Permission.WRITE)
        return self._driver.store(self._memory, offset, data, issued)

    def fence(self, then: Callable[[int, int], object]) -> int:
        """Wait until all stores of the process have landed; the status is always 0."""
        driver = self._driver
        when = driver.barrier(lambda when: then(when, 0))
        return when if when or driver.pending else driver.adapter.kernel.now

    def load(self, offset: int, nbytes: int, then: Callable[[bytes, int, int], object]) -> None:
        """Read: `then(data, when, status)` in an event; raises as `store` does."""
        self._check("load", offset, nbytes, Permission.READ)
        kernel = self._driver.adapter.kernel
        self._driver.read(self._memory, offset, nbytes, lambda data, when: kernel.at(when, then, data, when, 0))

    def _check(self, call: str, offset: int, nbytes: int, needed: Permission) -> None:
        segment = self._memory.segment
        what = f"{call} of {nbytes} bytes at offset {offset} of segment {segment.number >> 1} of host {segment.host}"
        if not self.alive:
            raise SegmentNotMapped(f"{what}: it was unmapped")
        if not self._memory.alive:
            raise SegmentNotMapped(f"{what}: its owner has unpublished it")
        if not self.permission & needed:
            raise PermDenied(f"{what}: it was imported for {self.permission.name}")
        if not 0 < nbytes <= self._memory.nbytes:
            raise BadLength(f"{what}, which has {self._memory.nbytes}")
        if offset < 0 or offset + nbytes > self._memory.nbytes:
            raise BadOffset(f"{what}: outside its {self._memory.nbytes} bytes")


def _ring(backing: SciMemory, number: int) -> None:
    """The kernel has seen the doorbell."""
    if backing.number == number and backing.signalled is not None:
        backing.signalled()


def _memory_of(number: int) -> int:
    return 2 * number


def _doorbell_of(number: int) -> int:
    return 2 * number + 1
