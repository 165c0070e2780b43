"""The reader's end of a queue of postboxes, and the acknowledgement of postboxes."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from conduit.contract import Buffer, Message, Unhandled
from conduit.sim import Store
from conduit.simnet import header
from conduits.sunfire import wire
from conduits.sunfire.protocol.peers import SunfirePeer
from conduits.sunfire.protocol.postbox_writer import Stores
from conduits.sunfire.wire import LINE

_PREFIX = struct.Struct("<BBHI")
_unpack_from = _PREFIX.unpack_from
_SEQUENCES = 1 << 32
_SEQUENCE = _SEQUENCES - 1
_HALF = 1 << 31
_ACKS = [bytes([use]).ljust(LINE, b"\0") for use in range(256)]


class Inbox:
    """The reader's end of a queue of postboxes in this host's memory.

    Args:
        memory: of the segment.
        base: where the queue begins in it.
        size: its postboxes.
        peer: the writer.
        is_reply: whether it is a queue of replies.

    Attributes:
        head: number of the first postbox that was not taken.
        landed: number of the first postbox of which it is not known that it has landed.
        old: numbers of postboxes that were written again after they had been taken.
        marked: whether its owner knows that there is a whole message.
    """

    __slots__ = (
        "_count", "_furthest", "_line", "_memory", "base", "head", "is_reply", "landed", "marked", "old", "peer",
        "size",
    )  # fmt: skip

    def __init__(self, memory: Store, base: int, size: int, peer: SunfirePeer, *, is_reply: bool) -> None:
        self._memory = memory
        self.base = base
        self.size = size
        self.peer = peer
        self.is_reply = is_reply
        self.head = self.landed = 0
        self.old: list[int] = []
        self.marked = False
        self._line: Buffer = b""  # the head postbox, once it has landed
        self._count = 0  # postboxes of its message
        self._furthest = 0  # behind the last that has landed, ahead of others perhaps

    def land(self, data: Buffer) -> bool:
        """Look at lines that have landed; return whether the message at the head is complete."""
        if len(data) > LINE:
            return [self.land(data[at : at + LINE]) for at in range(0, len(data), LINE)][-1]
        flag, _, count, number = _unpack_from(data)
        landed = self.landed
        if number == landed & _SEQUENCE:
            if landed == self.head:
                self._line, self._count = data, count
            self.landed = landed + 1
            if self._furthest > landed:
                self._advance()
        elif flag:
            self._land_out_of_turn(number)
        return 0 < self._count <= self.landed - self.head

    def _land_out_of_turn(self, number: int) -> None:
        """Take note of a postbox that has landed before one in front of it, or once more."""
        ahead = (number - self.landed + _HALF) % _SEQUENCES - _HALF  # signed distance, modulo 2**32 (RFC 1982)
        if ahead > 0:
            self._furthest = max(self._furthest, self.landed + ahead + 1)
        elif self.landed + ahead < self.head:
            self.old.append(self.landed + ahead)

    def _advance(self) -> None:
        """Go on over postboxes that have landed before those in front of them."""
        while self.landed < self._furthest and wire.is_new(self._read(self.landed), self.landed):
            self.landed += 1

    def complete(self) -> bool:
        """Return whether all postboxes of the message at the head have landed."""
        return 0 < self._count <= self.landed - self.head

    def waiting(self) -> list[Unhandled]:
        """Return the whole messages that have landed and were not taken."""
        found, place = [], self.head
        while place < self.landed:
            line = self._read(place)
            _, _, count, _ = _unpack_from(line)
            place += count
            if place <= self.landed:
                found.append(Unhandled(self.peer.rank, header.word_of(line[wire.PREFIX :])))
        return found

    def take(self) -> tuple[Message, int, Sequence[int], int]:
        """Return the message at the head, which is complete: message, form, blocks, postboxes."""
        head, line, count = self.head, self._line, self._count
        self.head = after = head + count
        if self.landed > after:
            self._line = self._read(after)
            _, _, self._count, _ = _unpack_from(self._line)
        else:
            self._count = 0
        if count == 1:
            single = wire.unpack_single(line, self.peer.rank)
            if single is not None:
                return single, 0, (), 1
        lines = [self._read(head + place) for place in range(count)]
        message, form, blocks = wire.unpack(lines, self.peer.rank, head)
        return message, form, blocks, count

    def _read(self, number: int) -> bytes:
        return self._memory.read(self.base + number % self.size * LINE, LINE)


def acknowledgements(first: int, count: int, queue: int) -> Stores:
    """Return the stores that acknowledge postboxes: a line for each, of which one byte counts.

    Args:
        first: number of the first.
        count: how many.
        queue: postboxes of their queue.
    """
    if count == 1:
        return [(first % queue * LINE, _ACKS[wire.ack_byte(first, queue)])]
    stores: Stores = []
    while count:
        index = first % queue
        run = min(count, queue - index)
        line = _ACKS[wire.ack_byte(first, queue)]
        stores.append((index * LINE, line * run))
        first += run
        count -= run
    return stores
