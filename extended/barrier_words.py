"""Signals of barriers that are words in the memory of their receiver, where the network has native puts.

A message to a rank takes a place in its queue, and is answered; a word that a put stores needs neither.  For each
signal that a rank may get from another it has two words behind its segment, which take turns: the one for phase p + 2
is not put before this rank has begun p + 1, and so has seen the one for p.

A signal from one rank to another is a message at first.  The answer says where the words for that signal are; from
then on it is put.  A rank that has no room for words does not say so, and goes on to get messages.  So ranks need
not agree on anything beforehand.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from extended.topology import Topology, topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conduit import Endpoint

    Take = Callable[[int, int, int], object]  # of a signal: its source, its code, its id

WORD = 8
"""Bytes of a signal."""

_SIGNAL = Struct("<Ii")  # its code, as in a message, and an id

BYTES = 4096
"""Wanted behind the segment of each rank.  Assumed: the words of twenty to forty teams."""

LEADS = 8
"""Into how many parts a team is divided at most.

Each part combines along a tree; the first ranks of the parts run a dissemination barrier.  The number is assumed, and
it was chosen with an anchor in view: docs/models/origin.md has what 16 parts would give.
Were each of n ranks a part, a barrier would be quickest, but take n log(n) signals; one tree takes 2 n.  Fewer
signals load a machine less, and are quicker to simulate.  Eight parts take 8 x 3 signals beside those of the trees.
"""

Edge = tuple[int, int]
"""Of a signal the rank of the job at its other end, and its step."""


class Arrival(NamedTuple):
    """What a word is for.

    Attributes:
        take: takes the signal.
        source: the rank of the job that puts it.
    """

    take: Take
    source: int


def parts_of(size: int) -> Topology:
    """Return the ranks of a team in at most `LEADS` parts of consecutive ranks.

    The ranks of a part combine first, as those of a host do elsewhere.
    """
    width = -(-size // LEADS)
    return topology(tuple(rank // width for rank in range(size)))


def packed(code: int, id: int) -> bytes:
    """Return a signal as a word."""
    return _SIGNAL.pack(code, id)


class BarrierWords:
    """The words of one rank, of the barriers of all its teams.

    Args:
        ep: the rank's endpoint.

    Attributes:
        native: whether the network has native puts.
    """

    def __init__(self, ep: Endpoint) -> None:
        self.native = ep.rma is not None
        taken = ep.take_auxiliary(BYTES, self._landed) if self.native else range(0)
        step = 2 * WORD
        self._free = list(range(taken.start, taken.stop - step + 1, step))[::-1]
        self._used: dict[int, Arrival] = {}  # by the offset of the first of two words
        self._parts: dict[int, tuple[bytearray, int]] = {}  # of words that land in parts: what has come
        self._start = taken.start

    def lend(self, take: Take, sources: Sequence[int]) -> list[int]:
        """Give a barrier two words for each rank that signals it.

        Args:
            take: is called as ``take(source, code, id)`` for a signal.
            sources: the ranks of the job.

        Returns:
            their offsets, fewer where no more are free.
        """
        places = [self._free.pop() for _ in sources[: len(self._free)]]
        for place, source in zip(places, sources, strict=False):
            self._used[place] = Arrival(take, source)
        return places

    def give_back(self, places: Iterable[int]) -> None:
        """Take back words in which no more signals come."""
        for place in places:
            del self._used[place]
            self._free.append(place)

    def _landed(self, _: int, offset: int, data: bytes) -> None:
        """Bytes of a word are here: nearly always all, but a network may store them in parts and in any order."""
        at = (offset - self._start) % WORD
        place = offset - at
        if len(data) < WORD:
            word, count = self._parts.pop(place, (bytearray(WORD), 0))
            word[at : at + len(data)] = data
            if count + len(data) < WORD:
                self._parts[place] = word, count + len(data)
                return
            data = bytes(word)
        arrival = self._used[place - (place - self._start) % (2 * WORD)]
        arrival.take(arrival.source, *_SIGNAL.unpack(data))
