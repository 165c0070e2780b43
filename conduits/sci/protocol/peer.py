"""What a rank keeps of a peer, and of each slot pair between them, where slots are paired."""

from __future__ import annotations

from conduits.sci.driver import RemoteSegment, RemoteSlot, RemoteSlots, Segment, SegmentMapping, Sisci

FLAGS = 2
"""Of a slot: message-ready, then message-exist."""


class SciPeer(RemoteSlots):
    """What a rank keeps of a peer it has talked to.

    Slots that have been given back are taken again, the last one first; then those that were never used, in order.

    Args:
        driver: the rank's.
        rank: the peer.
        command: the peer's command segment for this rank, imported.
        control: the peer's control segment, imported.
        incoming: this rank's command segment for the peer.

    Attributes:
        rank: as given.
        free: the first of the request slots that have been given back, each of which knows the next.
        payload: the peer's payload segment, once it has been connected.
        incoming: as given.
        requests: the pairs whose request slots are at the peer, as far as they have been used.
    """

    __slots__ = ("free", "incoming", "payload", "rank", "requests")

    def __init__(
        self, driver: Sisci, rank: int, command: SegmentMapping, control: SegmentMapping, incoming: Segment
    ) -> None:
        super().__init__(driver, command, control, FLAGS)
        self.rank = rank
        self.free: SlotPair | None = None
        self.payload: RemoteSegment | None = None
        self.incoming = incoming
        self.requests: list[SlotPair] = []

    @property
    def in_use(self) -> int:
        """How many request slots have a request without a reply."""
        used, pair = len(self.requests), self.free
        while pair is not None:
            used, pair = used - 1, pair.behind
        return used


class SlotPair(RemoteSlot):
    """A rank's end of a slot pair that has been used: a slot at the peer, and the one here that is paired with it.

    One of the two is for requests, the other for their replies.

    Args:
        peer: the peer.
        number: of the pair.
        offset: of the slot at the peer, in its command segment.
        room: the slot's size in bytes.
        flags: where those of the slot at the peer are.

    Attributes:
        at: the peer.
        number: of the pair.
        behind: of a pair whose free request slot is at the peer, the one that is free after it.
        record: the bytes of the slot here, once something has come.
    """

    __slots__ = ("behind", "number", "record")

    at: SciPeer
    record: bytearray

    def __init__(self, peer: SciPeer, number: int, offset: int, room: int, flags: tuple[int, ...]) -> None:
        super().__init__(peer, offset, room, flags)
        self.number = number
        self.behind: SlotPair | None = None

    def __eq__(self, other: object) -> bool:
        """Whether both have the same number, as the two ends of a pair have: so a message's ends are told to be its."""
        return isinstance(other, SlotPair) and other.number == self.number

    __hash__ = None  # type: ignore[assignment]
