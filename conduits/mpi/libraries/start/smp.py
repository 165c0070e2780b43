"""What the processes of an SMP share in its memory: the NIU and its lock, system buffers, inboxes, rights."""

from __future__ import annotations

from typing import Protocol

from conduit.sim import Memory
from conduits.mpi.libraries.start import wire
from conduits.mpi.libraries.start.rights import RdmaRights
from conduits.startx.driver import LOW, StartXProcess
from conduits.startx.machine import StartXCluster

_PACKET = 8 + wire.LARGEST


class SmpProcess(Protocol):
    """A process of the SMP, as the others know it: a `conduits.mpi.libraries.start.device.StartDevice`."""

    def told(self) -> None:
        """Look again: something may have changed."""

    def roomy(self) -> None:
        """The transmit queue has room again."""


class PacketInbox:
    """Packets for one process that others have loaded: a ring.

    Args:
        capacity: packets.

    Attributes:
        held: packets in it.
    """

    __slots__ = ("_memory", "_put", "_reserved", "_taken", "capacity", "held")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._memory = Memory(capacity * _PACKET, _PACKET)
        self._put = self._taken = self._reserved = self.held = 0

    @property
    def full(self) -> bool:
        """Whether it has no room beside what is set aside."""
        return self._put + self._reserved - self._taken == self.capacity

    def reserve(self) -> None:
        """Set room aside for a packet; there is some."""
        self._reserved += 1

    def put(self, packet: bytes) -> None:
        """Store a packet, for which room was set aside."""
        self._reserved -= 1
        self._memory.write(self._put % self.capacity * _PACKET, packet)
        self._put += 1
        self.held += 1

    def peek(self, place: int = 0) -> bytes:
        """Return a packet."""
        at = (self._taken + place) % self.capacity * _PACKET
        words = int.from_bytes(self._memory.read(at, 4), "little") >> 16 & 31
        return self._memory.read(at, 8 + 4 * words)

    def take(self) -> bytes:
        """Take the first packet out."""
        packet = self.peek()
        self._taken += 1
        self.held -= 1
        return packet


class SmpMemory:
    """The shared memory of one host.

    Args:
        cluster: the cluster.
        host: which host.
        buffer: bytes of each system buffer.
        inbox: packets in each inbox.

    Attributes:
        niu: the NIU.
        lock: of the NIU; None where one process has it alone.
        rights: who may send to this SMP by RDMA.
        leaving: the system buffer for what leaves.
        coming: that for what comes.
        inboxes: of the processes, in the order of their ranks.
    """

    def __init__(self, cluster: StartXCluster, host: int, buffer: int, inbox: int) -> None:
        self.niu = cluster.fabric.niu(host)
        self.lock = cluster.lock(host)
        self.rights = RdmaRights()
        driver = cluster.process(cluster.first[host])
        self.leaving = driver.pin(buffer)
        self.coming = driver.pin(buffer)
        self.inboxes = [PacketInbox(inbox) for _ in range(cluster.hosts.count(host))]
        self._processes: list[SmpProcess] = []
        self._wanting: dict[SmpProcess, None] = {}
        self.niu.on_arrival.append(self.tell)

    def join(self, process: SmpProcess) -> None:
        """Let another process take part."""
        self._processes.append(process)

    def tell(self) -> None:
        """Tell all processes to look again."""
        for process in self._processes:
            process.told()

    # -- packets that have come ------------------------------------------------------------------------

    def loadable(self, local: int) -> bool:
        """Return whether process `local` may load the first packet of the NIU: it is its own, or can be filed."""
        low = self.niu.low
        if not low:
            return False
        whose = wire.local_in(low[0])
        return whose == local or not self.inboxes[whose].full

    def load(self, process: StartXProcess, local: int, begin: int) -> tuple[bytes, int]:
        """Load the first packet of the NIU, which process `local` may, from `begin` on; set room aside to file it.

        Returns:
            The packet, and how long loading it takes the processor, picoseconds.
        """
        packet, took = process.receive(LOW, begin)
        whose = wire.local_in(packet)
        if whose != local:
            self.inboxes[whose].reserve()
        return packet, took

    def file(self, packet: bytes) -> None:
        """Store a packet for the process that it is for, where room was set aside when it was loaded."""
        local = wire.local_in(packet)
        self.inboxes[local].put(packet)
        self._processes[local].told()

    def take(self, local: int) -> tuple[bytes, bool]:
        """Take the first packet out of an inbox; return it, and whether the inbox was full.

        If so, processes that found no room there may load again: `tell` them, in an event.
        """
        inbox = self.inboxes[local]
        was_full = inbox.full
        return inbox.take(), was_full

    # -- room --------------------------------------------------------------------------------------------

    def want_room(self, process: SmpProcess) -> None:
        """Tell `process` when the transmit queue, which is full, has room."""
        if not self._wanting:
            self.niu.when_room(LOW, self._room)
        self._wanting[process] = None

    def _room(self) -> None:
        wanting, self._wanting = self._wanting, {}
        for process in wanting:
            process.roomy()
