"""What a rank keeps of a peer, and of each slot between them, where slots are paired."""

from __future__ import annotations

from conduit.contract import Message
from conduits.sci.driver import RemoteSegment, RemoteSlot, Segment, SegmentMapping


class PeerSlot(RemoteSlot):
    """A slot at a peer that has been used.

    Attributes:
        number: of the slot pair.
        behind: of a free request slot, the one that is free after it.
    """

    __slots__ = ("behind", "number")

    number: int
    behind: PeerSlot | None


class SciPeer:
    """What a rank keeps of a peer it has talked to.

    Slots that have been given back are taken again, the last one first; then those that were never used, in order.

    Attributes:
        rank: the peer.
        free: the first of the request slots that have been given back, each of which knows the next.
        command: the peer's command segment for this rank, imported.
        control: the peer's control segment, imported.
        payload: the peer's payload segment, once it has been connected.
        incoming: this rank's command segment for the peer.
        requests: the peer's request slots for this rank, as far as they have been used.
    """

    __slots__ = ("command", "control", "free", "incoming", "payload", "rank", "requests")

    def __init__(self, rank: int, command: SegmentMapping, control: SegmentMapping, incoming: Segment) -> None:
        self.rank = rank
        self.free: PeerSlot | None = None
        self.command = command
        self.control = control
        self.payload: RemoteSegment | None = None
        self.incoming = incoming
        self.requests: list[PeerSlot] = []

    @property
    def in_use(self) -> int:
        """How many request slots have a request without a reply."""
        used, slot = len(self.requests), self.free
        while slot is not None:
            used, slot = used - 1, slot.behind
        return used


class SlotMessage(Message):
    """The message in a slot of this rank's memory.

    Made once for the slot, since that is filled again and again, and has a message at a time.

    Attributes:
        record: the bytes of the slot.
        peer: the rank that fills the slot.
        other: the slot at `peer` that is paired with it: of a request's, where its reply goes, None until the first; of
            a reply's, that of the request, which is free when the reply has been taken.
    """

    __slots__ = ("other", "peer", "record")

    def __init__(self, peer: SciPeer, slot: int, record: bytearray, other: PeerSlot | None) -> None:
        super().__init__(0, source=peer.rank, slot=slot)
        self.record = record
        self.peer = peer
        self.other = other
