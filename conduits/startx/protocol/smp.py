"""What the processes of an SMP share in its memory: the NIU's lock, its rendezvous, one another's inboxes."""

from __future__ import annotations

from typing import Protocol

import attrs

from conduit.simnet.transport import TransportPort
from conduits.startx.driver import LOW, StartXProcess
from conduits.startx.machine import StartXCluster
from conduits.startx.protocol.rendezvous import Rendezvous, TransferRequest


@attrs.frozen
class StartXConfig:
    """What a transport needs to know of the job and its options.

    Attributes:
        cluster: the machine, and where ranks are on it.
        slots: request slots of a rank.
        packets: of the largest message that goes without RDMA.
        crossover: longer payloads of long messages go by RDMA.
        buffer: bytes of a pinned buffer.
    """

    cluster: StartXCluster
    slots: int
    packets: int
    crossover: int
    buffer: int


class SmpTransport(Protocol):
    """One rank's end of the network, as the processes of its host know it.

    Attributes:
        rank: the one that it belongs to.
        port: the rank's port.
    """

    rank: int
    port: TransportPort

    def put(self, packet: bytes, tag: int) -> None:
        """Take a packet for this rank, whichever process has loaded it."""

    def open(self, request: TransferRequest, source: int, by: StartXProcess, after: int) -> int:
        """Open the engine for what this rank has been granted; return how long the grant takes process `by`."""


class Smp:
    """The shared memory of one host.

    Args:
        cluster: the cluster.
        host: which host.

    Attributes:
        lock: of the NIU; None where one process has it alone.
        rendezvous: of the NIU.
        transports: the processes' ends of the network, in the order of their ranks.
        reserved: messages for which room in the transmit queue of low priority is set aside.
    """

    __slots__ = ("_wanting", "cluster", "host", "lock", "niu", "rendezvous", "reserved", "transports")

    def __init__(self, cluster: StartXCluster, host: int) -> None:
        self.cluster = cluster
        self.host = host
        self.niu = cluster.fabric.niu(host)
        self.lock = cluster.lock(host)
        self.rendezvous = Rendezvous()
        self.transports: list[SmpTransport] = []
        self.reserved = 0
        self._wanting: list[SmpTransport] = []
        if self.lock is not None:
            self.niu.on_arrival.append(self.tell)

    def join(self, transport: SmpTransport) -> StartXProcess:
        """Open the NIU for another process."""
        if self.lock is None:
            self.niu.on_arrival.append(transport.port.arrived)  # as `tell`, without a call
        self.transports.append(transport)
        return self.cluster.process(transport.rank)

    def tell(self) -> None:
        """Tell all processes that a poll may find something, as the last act of an arrival."""
        if self.lock is None:
            self.transports[0].port.arrived()
            return
        for transport in self.transports:
            transport.port.notify()

    def reserve(self, transport: SmpTransport, messages: int) -> bool:
        """Set aside room in the transmit queue of low priority; where there is none `transport` is told of new room."""
        if self.niu.room(LOW) - self.reserved >= messages:
            self.reserved += messages
            return True
        if transport not in self._wanting:
            if not self._wanting:
                self.niu.when_room(LOW, self._room)
            self._wanting.append(transport)
        return False

    def give_back(self, messages: int) -> None:
        """Give up room that was set aside, used or not."""
        self.reserved -= messages
        if self._wanting and messages:
            self._room()

    def _room(self) -> None:
        wanting, self._wanting = self._wanting, []
        for transport in wanting:
            transport.port.notify()
