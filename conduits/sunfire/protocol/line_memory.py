"""Memory for postboxes: written line by line, in small pages, for of a long queue few lines are in use."""

from __future__ import annotations

from conduit.sim import Memory
from conduit.sim.memory import Buffer
from conduits.sunfire.wire import LINE

_BITS = 10
_PAGE = 1 << _BITS  # whole lines
_INSIDE = _PAGE - 1


class LineMemory(Memory):
    """`nbytes` of memory, of which the first `lined` are written in whole lines alone.

    Args:
        nbytes: size in bytes.
        lined: of these, a multiple of a line; behind are pages of the usual size, for blocks.
    """

    __slots__ = ("_lined", "_small")

    def __init__(self, nbytes: int, lined: int) -> None:
        super().__init__(nbytes)
        self._lined = lined
        self._small: dict[int, bytearray] = {}  # the pages of lines

    def write(self, address: int, data: Buffer) -> None:
        """Store `data` at `address`: whole lines, or blocks."""
        if address >= self._lined:
            Memory.write(self, address, data)
        elif len(data) == LINE:
            page = self._small.get(address >> _BITS)
            if page is None:
                page = self._small[address >> _BITS] = bytearray(_PAGE)
            start = address & _INSIDE
            page[start : start + LINE] = data
        else:
            self._check(address, len(data))
            for start in range(0, len(data), LINE):
                self.write(address + start, data[start : start + LINE])

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`, of one line or of blocks; IndexError where that is not inside."""
        if address >= self._lined:
            return super().read(address, nbytes)
        self._check(address, nbytes)
        page, start = self._small.get(address >> _BITS), address & _INSIDE
        return bytes(nbytes) if page is None else bytes(page[start : start + nbytes])

    @property
    def resident(self) -> int:
        """Bytes of the pages that exist."""
        return super().resident + _PAGE * len(self._small)
