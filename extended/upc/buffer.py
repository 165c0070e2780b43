"""The write buffer of a thread: relaxed writes that have not been sent.

Python cannot await an assignment, so a write of a shared element cannot send.  It is kept here until the next fence, as
UPC's relaxed writes may be.  A thread sees its own writes at once: its reads look here first.

An entry is one element with its latest value.  Single writes go into a dict, since loops make them one by one.
Writes of many elements are kept as the arrays that were given, and are reduced to one entry for each element only
when they are looked at or sent: sorting at each write would cost more than the write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from extended.upc.layout import Indices

    Values = npt.NDArray[Any]
    Part = tuple[Indices, Values]


def latest(parts: list[Part], dtype: np.dtype[Any]) -> Part:
    """Return one entry for each element of some parts, ascending, with the value that was written last."""
    if not parts:
        return np.empty(0, np.int64), np.empty(0, dtype)
    flat = np.concatenate([part[0] for part in parts])
    values = np.concatenate([part[1] for part in parts], dtype=dtype)  # else in the machine's byte order
    # Of equal indices the last comes first when all are reversed, and `unique` gives the first.
    indices, places = np.unique(flat[::-1], return_index=True)
    return indices, values[len(flat) - 1 - places]


class Pending:
    """The writes to one array that are in the buffer.

    There are three ages: `_single` is newest, then `_parts` in order, then `leaving`.  A read takes the newest that has
    the element.

    Args:
        dtype: of the array.

    Attributes:
        leaving: entries that are being sent; they count until they have arrived.
    """

    __slots__ = ("_dtype", "_parts", "_raw", "_single", "_tidy", "leaving")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._dtype = dtype
        self._single: dict[int, bytes] = {}  # newer than all parts
        self._parts: list[Part] = []
        self._raw = 0  # elements in the parts, those written twice counted twice
        self._tidy = True  # whether there is at most one part, with one entry for each element, ascending
        self.leaving: Part | None = None

    def __bool__(self) -> bool:
        return bool(self._single or self._parts or self.leaving)

    @property
    def nbytes(self) -> int:
        """Bytes of the entries, at most: what was written twice may be counted twice."""
        return (len(self._single) + self._raw) * self._dtype.itemsize

    def put(self, flat: int, value: bytes) -> None:
        """Enter a write of one element."""
        self._single[flat] = value

    def put_many(self, flat: Indices, values: Values) -> None:
        """Enter a write of several elements, the later ones over the earlier ones; the arrays are kept."""
        self._fold()
        self._append(flat, values)

    def compact(self) -> int:
        """Reduce the writes to one entry for each element; return the bytes of the entries."""
        self._fold()
        if not self._tidy:
            self._parts = [latest(self._parts, self._dtype)]
            self._raw = len(self._parts[0][0])
            self._tidy = True
        return self.nbytes

    def take(self) -> Part:
        """Take all entries out for sending, ascending; they stay in `leaving`."""
        self.compact()
        self.leaving = self._parts[0] if self._parts else latest([], self._dtype)
        self._parts, self._raw = [], 0
        return self.leaving

    def put_back(self) -> None:
        """Take back entries that were not all sent, as when a fence is cancelled; they are the oldest."""
        assert self.leaving is not None
        self._fold()
        self._parts.insert(0, self.leaving)
        self._raw += len(self.leaving[0])
        self._tidy = len(self._parts) == 1
        self.leaving = None

    def find(self, flat: int) -> bytes | None:
        """Return the value written last to one element, as bytes; None where there is none."""
        value = self._single.get(flat)
        if value is not None or not (self._parts or self.leaving):
            return value
        for indices, values in self._sorted():
            place = int(np.searchsorted(indices, flat))
            if place < len(indices) and indices[place] == flat:
                return values[place : place + 1].tobytes()
        return None

    def lookup(self, flat: Indices) -> tuple[npt.NDArray[np.bool_], Values]:
        """Return which elements have entries, and the values written last; of those without they are undefined."""
        known = np.zeros(len(flat), bool)
        values = np.empty(len(flat), self._dtype)
        for indices, written in reversed(self._sorted()):
            if len(indices):
                places = np.minimum(np.searchsorted(indices, flat), len(indices) - 1)
                found = indices[places] == flat
                values[found] = written[places[found]]
                known |= found
        return known, values

    def _sorted(self) -> list[Part]:
        # Parts with one entry for each element, ascending, the newest part first.
        self.compact()
        return self._parts + ([self.leaving] if self.leaving is not None else [])

    def _fold(self) -> None:
        if self._single:
            flat = np.fromiter(self._single, np.int64, len(self._single))
            values = np.frombuffer(b"".join(self._single.values()), self._dtype)
            self._single = {}
            self._append(flat, values)

    def _append(self, flat: Indices, values: Values) -> None:
        self._parts.append((flat, values))
        self._raw += len(flat)
        self._tidy = False
