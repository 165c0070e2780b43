"""What a rank knows of its messages to and from one other."""

from __future__ import annotations

from collections import deque
from typing import Any

from conduit.sim.memory import Store
from conduits.mpi.engine.device import BEGIN, UntakenMessage
from conduits.mpi.engine.transfer import Send
from conduits.mpi.libraries.rings.wire import (
    CREDITS,
    HEADER,
    INLINE,
    MESSAGES,
    RTS,
    RingHeader,
    RingLayout,
    distance,
    sequence,
    unpack,
)  # fmt: skip
from conduits.mpi.libraries.rings.writer import Writer

_tuple = tuple.__new__


class RingTransfer:
    """A message that has been matched (rendezvous): its data go in pieces.

    Attributes:
        send: what sends it.
        receive: number of the receive, at the receiver.
        wanted: bytes that are wanted of it.
        stored: bytes that are away.
    """

    __slots__ = ("receive", "send", "stored", "wanted")

    def __init__(self, send: Send, receive: int, wanted: int) -> None:
        self.send = send
        self.receive = receive
        self.wanted = wanted
        self.stored = 0


class RingPair:
    """A rank and one other: what it has sent there, and what it has taken from there.

    Args:
        peer: the other.
        layout: of the regions.
        writer: stores into this rank's region there.

    Attributes:
        inbox: the other's region here, None before it has been used.
        waiting: sends, and entries of other kinds, for which the ring has no room yet, in order.
        large: messages that are under way in pieces, in order.
        entries, inline, pieces: how much was sent, since the beginning: entries of the ring, bytes of inline data that
            the receiver may have to hold, pieces.
        taken, freed, copied: the same of what came.
        came: pieces that were taken out of the ring.
    """

    __slots__ = (
        "_credits", "_free", "_most", "_place", "_sequence", "_uses", "came", "copied", "entries", "freed", "given",
        "inbox", "inline", "large", "layout", "peer", "pieces", "taken", "waiting", "writer",
    )  # fmt: skip

    def __init__(self, peer: int, layout: RingLayout, writer: Writer) -> None:
        self.peer = peer
        self.layout = layout
        self.writer = writer
        self.inbox: Store | None = None
        self.waiting: deque[Any] = deque()
        self.large: deque[RingTransfer] = deque()
        self.entries = self.inline = self.pieces = 0
        self.taken = self.freed = self.copied = self.came = 0
        self._most = (0, 0, 0)  # from which on the other is told what was consumed
        self.tell()
        self._credits = (0, 0, 0)  # what the other had consumed at the last look
        self.given = bytearray(layout.eager_buffers)  # how often each of the other's eager buffers was given back
        self._uses = bytearray(layout.eager_buffers)  # how often each of this rank's own was used
        self._free = list(range(layout.eager_buffers - 1, -1, -1))
        self._next_entry()

    # -- what was sent -------------------------------------------------------------------------------

    # What the other had consumed at the last look leaves room, or a new look at the credits tells: they only grow.

    def has_entry(self) -> bool:
        """Return whether the ring has room for an entry."""
        most = self.layout.entries
        return self.entries - self._credits[0] < most or self.entries - self._look()[0] < most

    def has_inline(self, nbytes: int) -> bool:
        """Return whether the other has room for `nbytes` more of inline data."""
        most, inline = self.layout.inline_pool, self.inline + nbytes
        return inline - self._credits[1] <= most or inline - self._look()[1] <= most

    def has_piece(self) -> bool:
        """Return whether a buffer for a piece is free."""
        most = self.layout.pieces
        return self.pieces - self._credits[2] < most or self.pieces - self._look()[2] < most

    def _look(self) -> tuple[int, int, int]:
        """Return what the other has consumed by now: entries, bytes of inline data, pieces."""
        if self.inbox is not None:
            entries, inline, pieces = CREDITS.unpack(self.inbox.read(self.layout.credits_at, CREDITS.size))
            self._credits = entries, inline, pieces
        return self._credits

    def next_sequence(self) -> int:
        """Take the next entry of the ring; return its sequence number."""
        count = self.entries
        self.entries = count + 1
        return sequence(count)

    def end_of(self, number: int) -> int:
        """Return where the entry ends that has a sequence number, and is one of those that were taken last."""
        # By how many there are behind it: numbers begin anew in the midst of a round of the ring.
        return self.layout.end_of_entry(self.entries - distance(number, sequence(self.entries)))

    def eager_buffer(self) -> int | None:
        """Take a free eager buffer; None while there is none."""
        if not self._free and self.inbox is not None:
            released = self.inbox.read(self.layout.releases_at, self.layout.eager_buffers)
            self._free = [each for each, count in enumerate(self._uses) if released[each] == count]
            self._free.reverse()
        if not self._free:
            return None
        buffer = self._free.pop()
        self._uses[buffer] = (self._uses[buffer] + 1) % 256
        return buffer

    # -- what came -----------------------------------------------------------------------------------

    def peek(self) -> RingHeader | None:
        """Return the header of the next entry, None where it has not come yet."""
        if self.inbox is None:
            return None
        fields = unpack(self.inbox.read(self._place, HEADER))
        return _tuple(RingHeader, fields) if fields[-1] == self._sequence else None

    def take(self, header: RingHeader) -> bytes:
        """Take the next entry, which has this header, out of the ring; return the data in it."""
        assert self.inbox is not None
        nbytes = header.nbytes
        data = self.inbox.read(self._place - nbytes, nbytes) if header.kind == INLINE else b""
        self.taken += 1
        self._next_entry()
        return data

    def _next_entry(self) -> None:
        """Find out, once for all looks, where the header of the next entry is, and its sequence number."""
        self._place = self.layout.end_of_entry(self.taken) - HEADER
        self._sequence = sequence(self.taken)

    def untaken(self) -> list[UntakenMessage]:
        """Return the messages in the ring."""
        found: list[UntakenMessage] = []
        count = self.taken
        while self.inbox is not None and (header := self._header(self.inbox, count)) is not None:
            if header.kind in MESSAGES:
                found.append(UntakenMessage(self.peer, header.context, self._begin(self.inbox, count, header)))
            count += 1
        return found

    def _begin(self, inbox: Store, count: int, header: RingHeader) -> bytes:
        """Return with what the message begins whose entry is the one before which there were `count`."""
        if header.kind == RTS:
            return b""
        end = self.layout.end_of_entry(count) - HEADER
        at = end - header.nbytes if header.kind == INLINE else self.layout.eager_buffer(header.buffer)
        return inbox.read(at, min(header.nbytes, BEGIN))

    def _header(self, inbox: Store, count: int) -> RingHeader | None:
        """Return the header of the entry before which there were `count`, None where it has not come."""
        fields = unpack(inbox.read(self.layout.end_of_entry(count) - HEADER, HEADER))
        return RingHeader(*fields) if fields[-1] == sequence(count) else None

    def to_tell(self) -> bool:
        """Return whether the other should be told what was consumed: a fourth of what there is, or any piece."""
        taken, freed, copied = self._most
        return self.taken >= taken or self.freed >= freed or self.copied > copied

    def tell(self) -> bytes:
        """Return what the other is told of what was consumed, in bytes."""
        taken, freed, copied = self.taken, self.freed, self.copied
        self._most = taken + -(-self.layout.entries // 4), freed + -(-self.layout.inline_pool // 4), copied
        return CREDITS.pack(taken, freed, copied)
