"""Memory for postboxes: each line is kept as it was stored, for a line is stored as a whole."""

from __future__ import annotations

from conduit.sim import Memory
from conduit.sim.memory import Buffer
from conduits.sunfire.wire import LINE

_EMPTY = bytes(LINE)


class LineMemory(Memory):
    """`nbytes` of memory, of which the first `lined` are written in whole lines alone.

    A queue is long and few of its lines are in use, so that pages would be empty for the most part.

    Args:
        nbytes: size in bytes.
        lined: of these, a multiple of a line; behind are pages, for blocks.
    """

    __slots__ = ("_lined", "_lines")

    def __init__(self, nbytes: int, lined: int) -> None:
        super().__init__(nbytes)
        self._lined = lined
        self._lines: dict[int, bytes] = {}

    def write(self, address: int, data: Buffer) -> None:
        """Store `data` at `address`: whole lines, or blocks."""
        if address >= self._lined:
            Memory.write(self, address, data)
        elif len(data) == LINE:
            self._lines[address] = bytes(data)
        else:
            self._check(address, len(data))
            for start in range(0, len(data), LINE):
                self.write(address + start, data[start : start + LINE])

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`, of one line or of blocks; IndexError where that is not inside."""
        if address >= self._lined:
            return super().read(address, nbytes)
        self._check(address, nbytes)
        start = address % LINE
        return self._lines.get(address - start, _EMPTY)[start : start + nbytes]

    @property
    def resident(self) -> int:
        """Bytes of the lines and pages that exist."""
        return super().resident + LINE * len(self._lines)
