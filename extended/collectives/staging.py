"""Memory behind the segment, in which large data lands whose place is outside of the segment.

Where the network moves large data cheaper than in medium messages, but into a segment alone, a receiver lends the
sender a window of slots.  The data comes in parts by long messages, each of which the handler copies to its place; its
answer lets the next part come into the same slot.  A receive that finds no slot free gets its data in medium pieces,
as everywhere else: no rank ever waits for a slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from conduit import Endpoint

BYTES = 1 << 20
"""Wanted behind the segment of each rank.  Assumed: the windows of sixteen receives."""

PART = 16384
"""Bytes of a slot.  As what algorithms pass on in pieces (`extended.collectives.algorithms.algorithm.PIECE`), so that
each piece takes one slot."""

WINDOW = 4
"""Slots of one receive at most.  Assumed: while one part is copied and its answer under way, others travel."""

_STAGED = 1 << 63
_COUNT_AT = 48
_OFFSET = (1 << _COUNT_AT) - 1


class StagingSlots(NamedTuple):
    """Slots that lie together, lent to a sender.

    Attributes:
        offset: of the first, in the auxiliary memory of its rank.
        slots: how many.
    """

    offset: int
    slots: int

    def landing(self) -> int:
        """Return it as a number of 64 bits that no offset in a segment is."""
        return _STAGED | self.slots << _COUNT_AT | self.offset


def window_in(landing: int) -> StagingSlots | None:
    """Return the window that a receiver has named, None where it is an offset in its segment."""
    return StagingSlots(landing & _OFFSET, landing >> _COUNT_AT & 0x7FFF) if landing & _STAGED else None


class Staged:
    """Large data on its way through a window.

    Attributes:
        data: all of it.
        window: at its receiver.
        left: parts that wait until one before them has been copied; these may be told of in any order.
    """

    __slots__ = ("data", "left", "window")

    def __init__(self, data: memoryview, window: StagingSlots) -> None:
        self.data = data
        self.window = window
        self.left = 0


class Staging:
    """The slots of one rank.

    A slot is taken from the time when a part for it has been asked for until that has come and been copied, also when
    its call has ended early meanwhile: nothing lands in a slot that somebody else has.  A part that never comes, of a
    team that is broken, keeps its slot.

    Attributes:
        slot_bytes: the size of a slot and of a part.

    Args:
        ep: the rank's endpoint.
        medium_bytes: the size of the pieces that data comes in otherwise.
        long_bytes: the largest long message.
    """

    def __init__(self, ep: Endpoint, medium_bytes: int, long_bytes: int) -> None:
        self.slot_bytes = min(PART, long_bytes)
        self._ep = ep
        self._medium_bytes = medium_bytes
        self._start = 0
        self._free: bytearray | None = None  # a byte for each slot, 1 where it is free; None: not asked for yet

    def lend(self, source: int, nbytes: int) -> StagingSlots | None:
        """Take slots for data from a rank, None where that does not pay or none is free."""
        if not self.pays(nbytes, on_host=self._ep.hosts[source] == self._ep.host):
            return None
        free = self._slots()
        for count in range(min(WINDOW, -(-nbytes // self.slot_bytes)), 0, -1):
            first = free.find(bytes((1,)) * count)
            if first >= 0:
                free[first : first + count] = bytes(count)
                return StagingSlots(self._start + first * self.slot_bytes, count)
        return None

    def has_room(self) -> bool:
        """Say whether there are slots at all, the same on all ranks."""
        return bool(self._slots())

    def give_back(self, offset: int) -> None:
        """Take the slot that begins there back: what was to land in it has."""
        self._slots()[(offset - self._start) // self.slot_bytes] = 1

    def pays(self, nbytes: int, *, on_host: bool) -> bool:
        """Say whether data comes cheaper by long messages, each by itself, than in medium ones that follow closely.

        Both are copied to their place afterwards.  Where the network does not know its costs it does not.
        """
        costs = self._ep.costs.on_host if on_host else self._ep.costs.off_host
        if costs is None:
            return False
        pieces, parts = -(-nbytes // self._medium_bytes), -(-nbytes // self.slot_bytes)
        medium = costs.start + (pieces - 1) * max(costs.send, costs.receive) + nbytes * costs.medium_byte
        return parts * costs.long_start + nbytes * costs.long_byte < medium

    def _slots(self) -> bytearray:
        if self._free is None:
            found = self._ep.take_auxiliary(BYTES)
            self._start, self._free = found.start, bytearray((1,)) * (len(found) // self.slot_bytes)
        return self._free
