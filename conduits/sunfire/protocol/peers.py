"""What a rank keeps of the hosts and ranks that it talks to; made when they are first talked to."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from conduits.rsm.safe import SafeImport
from conduits.sunfire.protocol.layout import PostboxLayout
from conduits.sunfire.protocol.pool import BlockPool, Grant
from conduits.sunfire.protocol.postbox_writer import PostboxWriter


class RemoteArea:
    """This rank's area on another host.

    Args:
        pool: its blocks.

    Attributes:
        remote: the import; None until connected.
        pool: as given.
        peers: ranks there that this rank sends requests to.
    """

    __slots__ = ("peers", "pool", "remote")

    def __init__(self, pool: BlockPool) -> None:
        self.remote: SafeImport | None = None
        self.pool = pool
        self.peers: list[SunfirePeer] = []


class PairMemory(Protocol):
    """The memory of a pair at its requester, which is a `local_memory.LocalPair`.

    Attributes:
        acknowledgements: its first lines, as far as they were written.
    """

    acknowledgements: list[bytes]

    def read(self, address: int, nbytes: int, /) -> bytes:
        """Return a copy of `nbytes` from `address`."""


class SunfirePeer:
    """Another rank on another host.

    Attributes:
        rank, host: who and where.
        place: its place among the ranks of its host.
        credits: requests that may still be sent to it before a reply comes.
        room: request postboxes that are free and not promised.
        requests: the queue there for requests from here; None until connected.
        area: this rank's area there.
        pair: memory here for its acknowledgements and replies.
        acknowledged: request postboxes of which this rank has seen that it has acknowledged them.
        longer: requests behind these that take several postboxes, or blocks, by the first postbox: how many, blocks.
        remote_pair: import of its pair, for acknowledgements and replies from here; None until it has sent a request.
        replies: the queue there for replies from here.
        answered: where each reply begins that it may not have taken yet; None where nothing is written again.
        received: requests that came from it.
        safe: of how many request postboxes from it the acknowledgements have certainly landed there.
        segment: its segment, once a long payload goes there.
    """

    __slots__ = (
        "acknowledged",
        "answered",
        "area",
        "credits",
        "host",
        "longer",
        "pair",
        "place",
        "rank",
        "received",
        "remote_pair",
        "replies",
        "requests",
        "room",
        "safe",
        "segment",
    )  # fmt: skip

    def __init__(
        self, rank: int, host: int, place: int, area: RemoteArea, layout: PostboxLayout, *, keep: bool
    ) -> None:
        self.rank = rank
        self.host = host
        self.place = place
        self.credits = layout.outstanding
        self.room = layout.postboxes
        self.requests: PostboxWriter | None = None
        self.area = area
        self.pair: PairMemory | None = None
        self.acknowledged = 0
        self.longer: dict[int, tuple[int, Grant | None]] = {}
        self.remote_pair: SafeImport | None = None
        self.replies = PostboxWriter(layout.replies_at, layout.reply_postboxes, keep=keep)
        self.answered: deque[int] | None = deque() if keep else None
        self.received = 0
        self.safe = 0
        self.segment: SafeImport | None = None

    @property
    def unacknowledged(self) -> int:
        """How many request postboxes it may not have acknowledged."""
        return self.requests.tail - self.acknowledged if self.requests is not None else 0
