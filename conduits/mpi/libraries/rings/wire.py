"""The bytes of a region, and of the entries of its ring.

ring      entries of equal size; what is in one ends at its end: data, then the header, whose last word is the
          sequence number, so that who finds that there finds the rest before it
credits   what the writer has consumed of the other direction: entries, bytes of inline data, pieces
releases  a byte for each eager buffer of the other direction: how often the writer has given it back
eager     buffers for messages that are sent at once
pieces    buffers for the pieces of large messages, used in turn
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

import attrs

INLINE, EAGER, RTS, CTS, PIECE, MATCHED = range(1, 7)
"""Kinds of entries: a message with its data; a message whose data is in an eager buffer; request to send (envelope
without data); clear to send (its receive has been found); a piece of its data; a synchronous send has been matched."""

MESSAGES = (INLINE, EAGER, RTS)

_HEADER = Struct("<BBHIiiQQQxxxxI")
HEADER = _HEADER.size
CREDITS = Struct("<QQQ")
_LINE = 64
_SEQUENCES = (1 << 32) - 1


class RingHeader(NamedTuple):
    """What an entry says.

    Attributes:
        kind: see above.
        mode: of the send.
        buffer: the eager buffer.
        context, source, tag: of the message.
        nbytes: of the message; with CTS how many are wanted, with PIECE how many these are.
        send: number of the send, at its sender.
        receive: number of the receive, at the receiver.
        sequence: of the entry, from 1 on.
    """

    kind: int
    mode: int
    buffer: int
    context: int
    source: int
    tag: int
    nbytes: int
    send: int
    receive: int
    sequence: int

    def pack(self) -> bytes:
        """Return the bytes."""
        return pack(*self)


pack, unpack = _HEADER.pack, _HEADER.unpack


def sequence(count: int) -> int:
    """Return the sequence number of the entry before which there were `count`; never 0."""
    return count % _SEQUENCES + 1


def distance(first: int, last: int) -> int:
    """Return how many entries the one with the number `last` is behind that with the number `first`."""
    return (last - first) % _SEQUENCES


def _lines(nbytes: int) -> int:
    return -(-nbytes // _LINE) * _LINE


@attrs.frozen
class RingLayout:
    """Sizes of a region.

    Attributes:
        entries: of the ring.
        inline: bytes of data that an entry holds.
        inline_pool: bytes of inline data that a receiver may hold of one sender.
        eager_buffers: how many.
        eager: bytes of each.
        pieces: how many buffers for pieces.
        piece: bytes of each.
        entry: bytes of an entry.
    """

    entries: int
    inline: int
    inline_pool: int
    eager_buffers: int
    eager: int
    pieces: int
    piece: int
    entry: int = attrs.field(init=False)  # kept, since every look at a ring needs it

    @entry.default
    def _entry(self) -> int:
        return _lines(HEADER + self.inline)

    @property
    def credits_at(self) -> int:
        """Where the credits are."""
        return self.entries * self.entry

    @property
    def releases_at(self) -> int:
        """Where the releases are."""
        return self.credits_at + _LINE

    @property
    def eager_at(self) -> int:
        """Where the eager buffers are."""
        return self.releases_at + _lines(self.eager_buffers)

    @property
    def pieces_at(self) -> int:
        """Where the buffers for pieces are."""
        return self.eager_at + self.eager_buffers * _lines(self.eager)

    @property
    def nbytes(self) -> int:
        """Of the whole region."""
        return self.pieces_at + self.pieces * _lines(self.piece)

    def end_of_entry(self, count: int) -> int:
        """Return where the entry ends before which there were `count`."""
        return (count % self.entries + 1) * self.entry

    def eager_buffer(self, number: int) -> int:
        """Return where an eager buffer begins."""
        return self.eager_at + number * _lines(self.eager)

    def piece_buffer(self, count: int) -> int:
        """Return where the buffer begins of the piece before which there were `count`."""
        return self.pieces_at + count % self.pieces * _lines(self.piece)
