"""The writer's end of a queue of postboxes."""

from __future__ import annotations

from typing import Any

from conduit.contract import Message
from conduits.rsm.safe import Stores
from conduits.sunfire.wire import LINE, pack_single


class PostboxWriter:
    """The writer's end of a queue of postboxes in another host's memory.

    Args:
        base: where the queue begins in its segment.
        size: its postboxes.
        keep: whether to keep what was written last into each postbox, so that it can be written again.

    Attributes:
        tail: postboxes written so far: the number of the next.
        mapping: what they are stored through, once it is there.
    """

    __slots__ = ("_kept", "base", "mapping", "size", "tail")

    mapping: Any

    def __init__(self, base: int, size: int, *, keep: bool) -> None:
        self.base = base
        self.size = size
        self.tail = 0
        self._kept: dict[int, bytes] | None = {} if keep else None

    def place(self, lines: bytes) -> Stores:
        """Put a message, packed for sequence number `tail`, behind the last one; return the stores of it."""
        index = self.tail % self.size
        count = len(lines) // LINE
        if self._kept is not None:
            for place in range(count):
                self._kept[(index + place) % self.size] = lines[place * LINE : (place + 1) * LINE]
        self.tail += count
        before = (self.size - index) * LINE  # what comes before the queue's end
        first: Stores = [(self.base + index * LINE, lines[:before])]
        return first if len(lines) <= before else [*first, (self.base, lines[before:])]

    def place_single(self, message: Message) -> tuple[int, bytes]:
        """Put a message that fits one postbox behind the last one; return the store of it."""
        number = self.tail
        self.tail = number + 1
        index = number % self.size
        line = pack_single(message, number)
        if self._kept is not None:
            self._kept[index] = line
        return self.base + index * LINE, line

    def again(self, first: int) -> Stores:
        """Return the stores that write all postboxes from number `first` on again; they must have been kept."""
        assert self._kept is not None
        stores: Stores = []
        while first < self.tail:
            index = first % self.size
            run = min(self.tail - first, self.size - index)
            stores.append((self.base + index * LINE, b"".join(self._kept[index + k] for k in range(run))))
            first += run
        return stores
