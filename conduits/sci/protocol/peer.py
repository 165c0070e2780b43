"""What a rank keeps of a peer, where slots are paired."""

from __future__ import annotations

from conduits.sci.driver import RemoteSegment, RemoteSlot, Segment, SegmentMapping


class SciPeer:
    """What a rank keeps of a peer it has talked to.

    Attributes:
        rank: the peer.
        free: slot pairs without a request.
        command: the peer's command segment for this rank, imported.
        control: the peer's control segment, imported.
        payload: the peer's payload segment, once it has been connected.
        incoming: this rank's command segment for the peer.
        slots: the peer's request slots for this rank, then its reply slots, as far as they have been used.
    """

    __slots__ = ("command", "control", "free", "incoming", "payload", "rank", "slots")

    def __init__(
        self, rank: int, slots: int, command: SegmentMapping, control: SegmentMapping, incoming: Segment
    ) -> None:
        self.rank = rank
        self.free = list(range(slots - 1, -1, -1))
        self.command = command
        self.control = control
        self.payload: RemoteSegment | None = None
        self.incoming = incoming
        self.slots: list[RemoteSlot | None] = [None] * (2 * slots)
