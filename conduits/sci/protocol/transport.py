"""What the queue disciplines have in common: the driver, the ids of segments, the costs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import attrs

from conduit.contract import Message
from conduit.simnet import SimulatedPort, Transport
from conduits.sci import constants as c
from conduits.sci.driver import RemoteSegment
from conduits.sci.machine import SciCluster
from conduits.sci.protocol.peer import SciPeer

REQUEST_PS = c.ps(c.CHECK) + c.ps(c.SEARCH) + c.ps(c.BUILD)
REPLY_PS = c.ps(c.CHECK) + c.ps(c.BUILD)
RECEIVE_PS = c.ps(c.UNPACK) + c.ps(c.DISPATCH)

# Segments of a rank: its id times (ranks + COMMAND), and one of these.
CONTROL, PAYLOAD, COMMAND = 0, 1, 2


@attrs.frozen
class SciConfig:
    """What a transport needs to know of the job and of the protocol's options.

    Attributes:
        ranks: of the job.
        slots: for each peer.
        slot_payload: payload bytes of a slot.
        transactions: stores of a medium message, 1 or 2.
        dma_threshold: long payloads of at least this many bytes go by DMA.
        dynamic_mapping: unaligned data go straight to their place, which is mapped for each message.
    """

    ranks: int
    slots: int
    slot_payload: int
    transactions: int
    dma_threshold: int
    dynamic_mapping: bool


class SciTransport(Transport):
    """One rank's end of the SCI network.

    Args:
        port: the rank's port.
        cluster: the machine.
        config: job and options.

    Attributes:
        host: what copying costs.
    """

    def __init__(self, port: SimulatedPort, cluster: SciCluster, config: SciConfig) -> None:
        super().__init__(port)
        self.config = config
        self.rank = port.rank
        self.cpu = port.cpu
        self.kernel = port.kernel
        self.driver = cluster.process(port.rank)
        self.host = cluster.host
        self.scans = 0

    def number(self, rank: int, which: int) -> int:
        """Return the id of a segment of `rank`: CONTROL, PAYLOAD, or COMMAND plus the writing rank."""
        return rank * (self.config.ranks + COMMAND) + which

    def payload_of(self, peer: SciPeer) -> RemoteSegment:
        """Return the payload segment of a peer, connected; the peer has one, since a long payload goes there."""
        if peer.payload is None:
            peer.payload = self.driver.connect(self.port.hosts[peer.rank], self.number(peer.rank, PAYLOAD))
        return peer.payload

    def copy_in(self, message: Message, data: bytes | memoryview, at: int = 0) -> None:
        """Copy part of a long payload to its place in the segment, on this CPU."""
        self.cpu.free += self.host.copy_ticks(len(data))
        self.port.memory.write(message.offset + at, data)

    @abstractmethod
    def sent(self) -> int:
        """Return how many messages have been sent."""

    def statistics(self) -> Mapping[str, int]:
        """Return the counts of the transport."""
        return {"sci_messages_sent": self.sent(), "sci_scans": self.scans}
