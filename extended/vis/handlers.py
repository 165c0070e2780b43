"""The active message handlers of non-contiguous transfers.

`number` is the operation at the rank that began it; `at` the byte of its stream with which a message begins, as two
words.  Each handler charges the copy that it makes before it answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from extended.buffers import flat
from extended.events import Operation
from extended.handlers import joined
from extended.vis.local import NOTHING
from extended.vis.region import StridedRegion
from extended.vis.runs import ArrivedRuns

if TYPE_CHECKING:
    from collections.abc import Callable

    from conduit import Endpoint, Token
    from extended.events import Events
    from extended.handlers import PutGetHandlers
    from extended.vis.local import Local


class ScatteredGet(Operation):
    """A get whose replies are stored in several places.

    Attributes:
        local: those places.
    """

    __slots__ = ("local",)

    local: Local

    def release(self) -> None:
        """Let go of those places, once they are filled."""
        super().release()
        self.local = NOTHING


class ScatterHandlers:
    """What a rank does when a non-contiguous transfer, or an answer to one of its own, arrives.

    Args:
        ep: the rank's endpoint.
        events: its outstanding operations.
        contiguous: the handlers of put and get, one of which the answers to puts go to.
    """

    def __init__(self, ep: Endpoint, events: Events, contiguous: PutGetHandlers) -> None:
        self._ep = ep
        self._events = events
        self._memory = flat(ep.segment)
        self._complete = contiguous.complete

    def table(self) -> tuple[Callable[..., None], ...]:
        """Return the handlers in the order in which every rank attaches them."""
        return self.put_runs, self.get_runs, self.get_run, self.put_lattice, self.get_lattice, self.got_part

    def put_runs(
        self, token: Token, payload: memoryview, number: int, widths: int, places: int, length: int, skip: int
    ) -> None:
        """Request: store what follows the places in the payload; `places` is the bytes of these."""
        data = payload[places:]
        where = ArrivedRuns(payload[:places], (widths & 15, widths >> 4), length, skip, len(data))
        where.write(self._memory, data)
        self._ep.charge(copied=len(data))
        token.reply_short(self._complete, number)

    def get_runs(
        self,
        token: Token,
        payload: memoryview,
        number: int,
        widths: int,
        length: int,
        skip: int,
        nbytes: int,
        low_word: int,
        high_word: int,
    ) -> None:
        """Request: send back what lies at the places in the payload."""
        where = ArrivedRuns(payload, (widths & 15, widths >> 4), length, skip, nbytes)
        self._ep.charge(copied=nbytes)
        token.reply_medium(self.got_part, where.read(self._memory), number, low_word, high_word)

    def get_run(
        self, token: Token, number: int, nbytes: int, low_word: int, high_word: int, at_low: int, at_high: int
    ) -> None:
        """Request: send back one run of bytes; only the places at the other side are several."""
        start = joined(low_word, high_word)
        token.reply_medium(self.got_part, self._memory[start : start + nbytes], number, at_low, at_high)

    def put_lattice(
        self, token: Token, payload: memoryview, number: int, places: int, low_word: int, high_word: int
    ) -> None:
        """Request: store the data behind the strided section's description, from byte `at` of its stream on."""
        data = payload[places:]
        StridedRegion.unpack(payload[:places]).items(self._memory).write(joined(low_word, high_word), data)
        self._ep.charge(copied=len(data))
        token.reply_short(self._complete, number)

    def get_lattice(
        self, token: Token, payload: memoryview, number: int, nbytes: int, low_word: int, high_word: int
    ) -> None:
        """Request: send back a part of the strided section that the payload describes."""
        at = joined(low_word, high_word)
        data = StridedRegion.unpack(payload).items(self._memory).read(at, at + nbytes)
        self._ep.charge(copied=nbytes)
        token.reply_medium(self.got_part, data, number, low_word, high_word)

    def got_part(self, token: Token, payload: memoryview, number: int, low_word: int, high_word: int) -> None:
        """Reply: store a part of a get where the program wants it."""
        operation = self._events.operations[number]
        assert isinstance(operation, ScatteredGet)
        operation.local.write(joined(low_word, high_word), payload)
        self._ep.charge(copied=len(payload))
        self._events.piece_done(number)
        if not operation.pending:
            operation.release()
