"""The reader's end of a queue of postboxes, and the acknowledgement of postboxes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from conduit.contract import Buffer, Message, Unhandled
from conduit.simnet import header
from conduits.rsm.safe import Stores
from conduits.sunfire import wire
from conduits.sunfire.protocol.lines import line_at, put_lines
from conduits.sunfire.protocol.peers import SunfirePeer
from conduits.sunfire.wire import LINE, SINGLE, Fields, fields_of

_NOTHING: Fields = (0, 0, 0, 0, 0, 0, 0, b"")
_COUNT, _WORD = header.COUNT, ~header.COUNT
_SEQUENCES = 1 << 32
_SEQUENCE = _SEQUENCES - 1
_HALF = 1 << 31
_ACKS = [bytes([use]).ljust(LINE, b"\0") for use in range(256)]


class QueueReader(Protocol):
    """The rank that reads queues of postboxes.

    Attributes:
        ready: its queues with a whole message, in turn.
        notify: called when one has joined them.
    """

    ready: deque[Inbox]
    notify: Callable[[], object]

    def came_again(self, inbox: Inbox, number: int) -> None:
        """A postbox has been written again that was taken."""


class Inbox:
    """A queue of postboxes in this host's memory, as its reader sees it.

    Args:
        size: its postboxes.
        peer: the writer.
        reader: whose it is.
        is_reply: whether it is a queue of replies.

    Attributes:
        lines: its postboxes, as far as they were written.
        head: number of the first postbox that was not taken.
        landed: number of the first postbox of which it is not known that it has landed.
    """

    __slots__ = (
        "_furthest", "_head_fields", "_is_ready", "_reader", "_size", "head", "is_reply", "landed", "lines", "peer",
    )  # fmt: skip

    def __init__(self, size: int, peer: SunfirePeer, reader: QueueReader, *, is_reply: bool) -> None:
        self._size = size
        self.peer = peer
        self._reader = reader
        self.is_reply = is_reply
        self.lines: list[bytes] = []
        self.head = self.landed = 0
        self._is_ready = False  # whether it is in `reader.ready`
        self._head_fields = _NOTHING  # of the head postbox, once it has landed
        self._furthest = 0  # behind the last that has landed, ahead of others perhaps

    def land_run(self, index: int, data: Buffer) -> None:
        """Take lines that land from place `index` on."""
        for place, line in enumerate(put_lines(self.lines, index, data), index):
            self.land(place, line)

    def land(self, index: int, line: bytes) -> None:
        """Take a line that lands at place `index`, and look at it."""
        lines = self.lines
        if index == len(lines):
            lines.append(line)
        elif index < len(lines):
            lines[index] = line
        else:
            put_lines(lines, index, line)
        fields = fields_of(line)
        landed = self.landed
        if fields[3] != landed & _SEQUENCE:
            if fields[0]:
                self._land_out_of_turn(fields[3])
            return
        self.landed = landed + 1
        if self._furthest > landed:
            self._advance()
        if landed == self.head:
            self._head_fields = fields
            if fields[2] > self.landed - landed:
                return  # more belongs to it
        elif self._is_ready or not self.complete():
            return
        self._is_ready = True
        reader = self._reader
        reader.ready.append(self)
        reader.notify()

    def _land_out_of_turn(self, number: int) -> None:
        """Take note of a postbox that has landed before one in front of it, or once more."""
        ahead = (number - self.landed + _HALF) % _SEQUENCES - _HALF  # signed distance, modulo 2**32 (RFC 1982)
        if ahead > 0:
            self._furthest = max(self._furthest, self.landed + ahead + 1)
        elif self.landed + ahead < self.head:
            self._reader.came_again(self, self.landed + ahead)

    def _advance(self) -> None:
        """Go on over postboxes that have landed before those in front of them."""
        while self.landed < self._furthest and wire.is_new(self._read(self.landed), self.landed):
            self.landed += 1

    def complete(self) -> bool:
        """Return whether all postboxes of the message at the head have landed."""
        return 0 < self._head_fields[2] <= self.landed - self.head

    def waiting(self) -> list[Unhandled]:
        """Return the whole messages that have landed and were not taken."""
        found, place = [], self.head
        while place < self.landed:
            line = self._read(place)
            place += fields_of(line)[2]
            if place <= self.landed:
                found.append(Unhandled(self.peer.rank, header.word_of(line[wire.PREFIX :])))
        return found

    def take(self) -> tuple[Message, int, Sequence[int]]:
        """Return the message at the head, which is complete: message, form, blocks.

        Its queue comes out of `reader.ready`, and joins it again, as the last, if there is another one.  The slot of
        the message is the writer, the number of its first postbox and how many it has.
        """
        head = self.head
        _, form, count, _, word, nbytes, offset, data = self._head_fields
        self.head = after = head + count
        if self.landed > after:
            self._head_fields = fields_of(self._read(after))
            self._is_ready = self.complete()
            if self._is_ready:
                self._reader.ready.append(self)
        else:
            self._head_fields = _NOTHING
            self._is_ready = False
        end = (word & _COUNT) >> 9
        if count == 1 and not form and end + nbytes <= SINGLE:  # nearly always: all of it is in this postbox
            payload = data[end : end + nbytes] if nbytes else b""
            peer = self.peer
            message = Message(word & _WORD, data[:end], payload, offset, nbytes, peer.rank, (peer, head, 1))
            return message, 0, ()
        lines = [self._read(head + place) for place in range(count)]
        message, form, blocks = wire.unpack(lines, self.peer.rank, head)
        message.slot = self.peer, head, count
        return message, form, blocks

    def _read(self, number: int) -> bytes:
        return line_at(self.lines, number % self._size)


def acknowledgement(postbox: int, queue: int) -> tuple[int, bytes]:
    """Return the store that acknowledges one postbox; as `acknowledgements`."""
    use, index = divmod(postbox, queue)
    return index * LINE, _ACKS[use % 255 + 1]


def acknowledgements(first: int, count: int, queue: int) -> Stores:
    """Return the stores that acknowledge postboxes: a line for each, of which one byte counts.

    Args:
        first: number of the first.
        count: how many.
        queue: postboxes of their queue.
    """
    stores: Stores = []
    while count:
        index = first % queue
        run = min(count, queue - index)
        line = _ACKS[wire.ack_byte(first, queue)]
        stores.append((index * LINE, line * run))
        first += run
        count -= run
    return stores
