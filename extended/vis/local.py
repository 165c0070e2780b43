"""This side of a non-contiguous transfer: buffers and arrays of the program as one stream of bytes."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

import conduit
from conduit.words import is_a
from extended.buffers import EMPTY, check_readable, check_writable, flat
from extended.vis.region import local_items

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from extended.vis.items import Items

    Buffer = bytes | bytearray | memoryview


class Local(Protocol):
    """Memory of this rank in the order in which a transfer walks it."""

    nbytes: int

    def view(self, start: int, stop: int) -> memoryview | None:
        """Return the memory itself where these bytes of the stream lie together in it, else None."""

    def read(self, start: int, stop: int) -> Buffer:
        """Return these bytes of the stream."""

    def write(self, start: int, data: Buffer) -> None:
        """Store bytes from some byte of the stream on."""


class Whole:
    """One contiguous buffer.

    Args:
        memory: flat view of it.
    """

    __slots__ = ("_memory", "nbytes")

    def __init__(self, memory: memoryview) -> None:
        self._memory = memory
        self.nbytes = len(memory)

    def view(self, start: int, stop: int) -> memoryview:
        """Return the memory of these bytes."""
        return self._memory[start:stop]

    read = view

    def write(self, start: int, data: Buffer) -> None:
        """Store bytes from some byte on."""
        self._memory[start : start + len(data)] = data


NOTHING = Whole(EMPTY)


class Several:
    """Buffers, one after the other.

    Args:
        parts: flat views of them.
    """

    __slots__ = ("_begins", "_parts", "nbytes")

    def __init__(self, parts: Sequence[memoryview]) -> None:
        self._parts = [part for part in parts if len(part)]
        self._begins = list(accumulate(map(len, self._parts), initial=0))
        self.nbytes = self._begins.pop()

    def view(self, start: int, stop: int) -> memoryview | None:
        """Return the memory of these bytes where one buffer has them all."""
        pieces = list(self._pieces(start, stop))
        return pieces[0] if len(pieces) == 1 else None

    def read(self, start: int, stop: int) -> bytes:
        """Return a copy of these bytes."""
        return b"".join(self._pieces(start, stop))

    def write(self, start: int, data: Buffer) -> None:
        """Store bytes from some byte on."""
        at = 0
        for piece in self._pieces(start, start + len(data)):
            piece[:] = data[at : at + len(piece)]
            at += len(piece)

    def _pieces(self, start: int, stop: int) -> Iterator[memoryview]:
        number = bisect_right(self._begins, start) - 1
        while start < stop:
            begin = self._begins[number]
            piece = self._parts[number][start - begin : stop - begin]
            yield piece
            start += len(piece)
            number += 1


class Scattered:
    """The elements of an array of any strides, in C order.

    Args:
        items: the elements.
    """

    __slots__ = ("_items", "nbytes", "read", "write")

    def __init__(self, items: Items) -> None:
        self.nbytes = items.nbytes
        self.read = items.read
        self.write = items.write

    def view(self, start: int, stop: int) -> None:
        """Say that the bytes do not lie together."""
        return


def buffers(data: Any) -> Local:
    """Return one buffer, or a list of buffers one after the other."""
    if isinstance(data, list | tuple):
        return Several([flat(part) for part in data])
    return Whole(flat(data))


def array(values: npt.NDArray[Any]) -> Local:
    """Return an array of any strides."""
    if not values.nbytes:
        return NOTHING
    if values.flags.c_contiguous:
        return Whole(flat(values))
    return Scattered(local_items(values))


def check_buffers(call: str, name: str, data: object, *, writable: bool = False) -> int:
    """Refuse what is neither a C-contiguous buffer nor a list of such; return the size in bytes.

    Raises:
        conduit.BadRequest: as `extended.buffers.check_readable` and `check_writable`.
    """
    check: Callable[[str, str, object], int] = check_writable if writable else check_readable
    if isinstance(data, list | tuple):
        return sum(check(call, f"{name}[{number}]", part) for number, part in enumerate(data))
    return check(call, name, data)


def check_array(call: str, name: str, values: object, *, writable: bool = False) -> npt.NDArray[Any]:
    """Refuse what is no numpy array of plain elements; return it.

    Raises:
        conduit.BadRequest: no array, one of objects, or, to be filled, a read-only one.
    """
    if isinstance(values, np.generic) and not writable:
        values = np.asarray(values)
    if not isinstance(values, np.ndarray):
        raise conduit.BadRequest(
            f"{call}: {name} {is_a(values)}; give a numpy array (of any strides), such as numpy.asarray({name})"
        )
    if values.dtype.hasobject:
        raise conduit.BadRequest(
            f"{call}: {name} is an array of dtype {values.dtype}, whose elements are references that mean nothing on "
            "another rank; convert it to a dtype without objects"
        )
    if writable and not values.flags.writeable:
        raise conduit.BadRequest(f"{call}: {name} is a read-only array; give one that can be written")
    return values
