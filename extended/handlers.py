"""The active message handlers of put and get.

A 64-bit offset travels as two arguments, low word first; `number` is the operation at the rank that began it.  The
docs' table (docs/extended_inside.md) says which of these a put or get of some size sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from extended.buffers import fill, flat

if TYPE_CHECKING:
    from collections.abc import Callable

    from conduit import Endpoint, Token
    from extended.events import Events

WORD = 0xFFFF_FFFF


def low(value: int) -> int:
    """Return the low word of a 64-bit number."""
    return value & WORD


def high(value: int) -> int:
    """Return the high word of a 64-bit number."""
    return value >> 32


def joined(low_word: int, high_word: int) -> int:
    """Return the 64-bit number of two words as they arrive, signed."""
    return (low_word & WORD) | (high_word & WORD) << 32


class PutGetHandlers:
    """What a rank does when a put or get, or an answer to one of its own, arrives.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.
    """

    def __init__(self, ep: Endpoint, events: Events) -> None:
        self._ep = ep
        self._events = events
        self._memory = flat(ep.segment)
        self._complete = self.complete  # once, because every look at a method makes an object

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return (
            self.put_medium,
            self.put_long,
            self.fill,
            self.complete,
            self.get_medium,
            self.got_medium,
            self.get_long,
            self.got_long,
        )

    # Each of the handlers below that copies or fills memory charges its time before it answers, so that the answer
    # leaves when the data is in place.

    def put_medium(
        self, token: Token, payload: memoryview, number: int, low_word: int, high_word: int | None = None
    ) -> None:
        """Request: store a payload that came into a buffer; an offset of 31 bits is one word."""
        start = low_word if high_word is None else joined(low_word, high_word)
        nbytes = len(payload)
        self._memory[start : start + nbytes] = payload
        self._ep.charge(copied=nbytes)
        token.reply_short(self._complete, number)

    def put_long(self, token: Token, payload: memoryview, number: int) -> None:
        """Request: acknowledge a payload that is in place already."""
        token.reply_short(self.complete, number)

    def fill(self, token: Token, number: int, byte: int, nbytes: int, low_word: int, high_word: int) -> None:
        """Request: fill memory with one byte."""
        start = joined(low_word, high_word)
        fill(self._memory[start : start + nbytes], byte)
        self._ep.charge(copied=nbytes)
        token.reply_short(self.complete, number)

    def complete(self, token: Token, number: int) -> None:
        """Reply: a piece of a put or memset is in place."""
        self._events.piece_done(number)

    def get_medium(self, token: Token, number: int, piece: int, nbytes: int, low_word: int, high_word: int) -> None:
        """Request: send memory back by a medium reply."""
        start = joined(low_word, high_word)
        token.reply_medium(self.got_medium, self._memory[start : start + nbytes], number, piece)

    def got_medium(self, token: Token, payload: memoryview, number: int, piece: int) -> None:
        """Reply: store a piece of a get where the program wants it."""
        operation = self._events.operations[number]
        if operation is None:
            raise self._events.unawaited(number)
        start = piece * operation.chunk
        nbytes = len(payload)
        operation.out[start : start + nbytes] = payload
        self._ep.charge(copied=nbytes)
        self._events.piece_done(number)
        if not operation.pending:
            operation.release()

    def get_long(
        self, token: Token, number: int, nbytes: int, low_word: int, high_word: int, to_low: int, to_high: int
    ) -> None:
        """Request: send memory back by a long reply, straight to its place in the requester's segment."""
        start = joined(low_word, high_word)
        token.reply_long(self.got_long, self._memory[start : start + nbytes], joined(to_low, to_high), number)

    def got_long(self, token: Token, payload: memoryview, number: int) -> None:
        """Reply: a piece of a get has landed in its place."""
        operation = self._events.operations[number]
        if operation is None:
            raise self._events.unawaited(number)
        self._events.piece_done(number)
        if not operation.pending:
            operation.release()
