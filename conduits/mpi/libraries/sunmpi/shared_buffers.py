"""The buffers that the ranks of a host write once and read many times, in the memory that they share.

A *buffer* is of one writer and one call:

    flags   of each piece a line: its number from 1 on, the bytes of all pieces and of this one, and small data
    acks    of each rank of the host a line: up to which number it has read
    pieces  the data, used in turn

A *count* is of one writer and one communicator: a line that says how many calls the writer has come to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from struct import Struct
from typing import Protocol, TypeAlias

import attrs

from conduit.sim import Memory

LINE = 64
FLAG = Struct("<QQI")
COUNT = Struct("<Q")
INLINE = LINE - FLAG.size
"""Bytes of a piece that fit the line of its flag."""
ALL = (1 << 64) - 1
"""As an acknowledgement: the rest, too."""
_PAGE = 4096

BufferKey: TypeAlias = tuple[int, int, int, int]
"""Context, writer, number of the call or COUNTS, and which of what the writer writes in a call."""
COUNTS = -1
"""In the place of a call's number: of the line that counts them."""


@attrs.frozen
class BufferLayout:
    """Sizes and places in a buffer; all in bytes.

    Attributes:
        pieces: how many there is room for.
        piece: of the largest.
        readers: ranks of the host.
    """

    pieces: int
    piece: int
    readers: int

    def flag_at(self, number: int) -> int:
        """Return where the flag of the piece is before which there were `number`."""
        return number % self.pieces * LINE

    def ack_at(self, place: int) -> int:
        """Return where the acknowledgements are of the rank with a place on the host."""
        return (self.pieces + place) * LINE

    def data_at(self, number: int) -> int:
        """Return where the data are of the piece before which there were `number`."""
        return self._head + number % self.pieces * self.piece

    @property
    def _head(self) -> int:
        return -(-(self.pieces + self.readers) * LINE // _PAGE) * _PAGE

    @property
    def nbytes(self) -> int:
        """Of a whole buffer."""
        return self._head + self.pieces * self.piece


class ExchangeEnd(Protocol):
    """One rank's end: a `conduits.mpi.libraries.sunmpi.exchange.LocalExchange`."""

    def written(self, key: BufferKey) -> None:
        """Take note that a flag or a count was stored; in an event."""

    def acknowledged(self, key: BufferKey) -> None:
        """Take note that a rank has read; in an event."""

    def uses(self, context: int) -> bool:
        """Return whether anything is unfinished in a communicator."""


class SharedBuffers:
    """Those of one host.

    Args:
        layout: of a buffer.
        ranks: of the host.

    Attributes:
        layout: as given.
        places: of each rank its place.
    """

    def __init__(self, layout: BufferLayout, ranks: Sequence[int]) -> None:
        self.layout = layout
        self.places = {rank: place for place, rank in enumerate(ranks)}
        self._ends: dict[int, ExchangeEnd] = {}
        self._memories: dict[BufferKey, Memory] = {}
        self._freed: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
        self._leaving: dict[tuple[int, int], list[int]] = {}  # given back by all, while something goes on there

    def join(self, rank: int, end: ExchangeEnd) -> None:
        """Let a rank of the host take part."""
        self._ends[rank] = end

    def of(self, rank: int) -> ExchangeEnd:
        """Return the end of a rank."""
        return self._ends[rank]

    def make(self, key: BufferKey) -> Memory:
        """Return the memory of a buffer or a count, made if there is none."""
        found = self._memories.get(key)
        if found is None:
            nbytes = LINE if key[2] == COUNTS else self.layout.nbytes
            found = self._memories[key] = Memory(nbytes, min(nbytes, _PAGE))
        return found

    def find(self, key: BufferKey) -> Memory | None:
        """Return the memory of a buffer or a count, None where nobody has written there."""
        return self._memories.get(key)

    def drop(self, key: BufferKey) -> None:
        """Give a buffer back: all have read it."""
        self._memories.pop(key, None)

    @property
    def resident(self) -> int:
        """Bytes of memory in use."""
        return sum(memory.resident for memory in self._memories.values())

    def freed(self, rank: int, context: int, members: Sequence[int]) -> None:
        """Take note that a rank has given a communicator back; what it has here goes when all of the host have."""
        here = [each for each in members if each in self.places]
        done = self._freed[context, here[0]]
        done.add(rank)
        if len(done) < len(here):
            return
        del self._freed[context, here[0]]
        self._leaving[context, here[0]] = here
        self.ended(context)

    def ended(self, context: int) -> None:
        """Take note that something is over in a communicator, perhaps the last."""
        if not self._leaving:
            return
        for place, here in list(self._leaving.items()):
            if place[0] == context and not any(self._ends[each].uses(context) for each in here):
                del self._leaving[place]
                for key in [each for each in self._memories if each[0] == context and each[1] in here]:
                    del self._memories[key]
