"""What there is to know of an array, and the bytes in which it travels from thread to thread."""

from __future__ import annotations

from ast import literal_eval
from math import prod
from typing import TYPE_CHECKING, Any
from zlib import crc32

import attrs
import numpy as np

import conduit
from extended.dtypes import dtype_text, read_dtype
from extended.front_ends import shown
from extended.upc.layout import Layout

if TYPE_CHECKING:
    from typing import Self

KEY = 128
"""Bytes of a key."""

_MARK = b"upc1"
_SHOWN = 80  # characters of what is no key
_DIGITS = 50
"""Room for a key's three numbers that are of its array alone."""


def number_of(maker: int | None, count: int, threads: int) -> int:
    """Return the number of an array.

    Args:
        maker: the thread that makes it alone, None where all do.
        count: which of those that are made so.
        threads: of the job.
    """
    return count * (threads + 1) + (0 if maker is None else 1 + maker)


@attrs.frozen(eq=False)
class Description:
    """One array.

    Attributes:
        id: a number that no other array of the job has.
        offset: where each thread's elements begin in its segment.
        shape: of the array.
        dtype: of its elements.
        block: elements of a block, None where it has no end.
        first: the thread of element 0.
    """

    id: int
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    block: int | None
    first: int

    def layout(self, threads: int) -> Layout:
        """Return which thread has affinity to which element."""
        return Layout(prod(self.shape), self.block, threads, self.first)

    def maker(self, threads: int) -> int | None:
        """Return the thread that has made it alone, None where all have."""
        of = self.id % (threads + 1)
        return of - 1 if of else None

    def key(self) -> bytes:
        """Return it as bytes: `KEY` of them, or a multiple for a description that takes more.

        How many does not depend on numbers that differ from thread to thread, whose keys are gathered into one array.
        """
        text = self._text()
        numbers = sum(len(str(each)) for each in (self.id, self.offset, self.first))
        most = len(_MARK) + len(text) - numbers + _DIGITS
        # The end stays where a key that is cut off lacks it.
        return _MARK + text.rjust(-(-most // KEY) * KEY - len(_MARK)).encode()

    def checksum(self) -> int:
        """Return a number of 32 bits that differs where descriptions do."""
        return crc32(_MARK + self._text().encode())

    def _text(self) -> str:
        return repr((self.id, self.offset, self.shape, _described(self.dtype), self.block, self.first))

    @classmethod
    def of_key(cls, key: object) -> Self:
        """Return what `key` has made into bytes.

        Raises:
            conduit.BadRequest: it has not made these.
        """
        try:
            if not isinstance(key, bytes | bytearray | memoryview):
                raise TypeError
            data = bytes(key)
            if not data.startswith(_MARK):
                raise ValueError
            id, offset, shape, dtype, block, first = literal_eval(data[len(_MARK) :].decode().lstrip())
            return cls(id, offset, shape, _dtype_of(dtype), block, first)
        except (TypeError, ValueError, SyntaxError):
            text = shown(key)[:_SHOWN]
            raise conduit.BadRequest(
                f"t.array: key={text} is no key of an array; give the bytes of a.key, all of them"
            ) from None

    def at(self, offset: int) -> Self:
        """Return the same array at another offset."""
        return attrs.evolve(self, offset=offset)


def _described(dtype: np.dtype[Any]) -> Any:
    # As numpy describes it, where that is the same dtype again: it leaves out fields that overlap or are out of order.
    try:
        found = np.lib.format.dtype_to_descr(dtype)
        again: Any = np.lib.format.descr_to_dtype(found)
    except ValueError:
        again = None
    return found if again == dtype and again.type is dtype.type else dtype_text(dtype)


def _dtype_of(described: Any) -> np.dtype[Any]:
    return read_dtype(described) if isinstance(described, str) else np.lib.format.descr_to_dtype(described)
