"""Equal pieces of memory in some order, read and written as one stream of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    Buffer = bytes | bytearray | memoryview


class Items:
    """The elements of an array, in C order, as a stream of bytes.

    Args:
        array: of a dtype ``V``, any shape and strides; a view of the memory meant.
    """

    __slots__ = ("_array", "_size", "nbytes")

    def __init__(self, array: npt.NDArray[np.void]) -> None:
        self._array = array if array.ndim else array.reshape(1)
        self._size = array.itemsize
        self.nbytes = array.size * array.itemsize

    def read(self, start: int, stop: int) -> bytes:
        """Return a copy of some bytes of the stream."""
        head, first, last, tail = self._parts(start, stop)
        middle = self._array.flat[first:last].tobytes()
        if not head and not tail:
            return middle
        parts = [self._item(first - 1)[self._size - head :].tobytes()] if head else []
        if stop <= first * self._size:  # all of it in one element
            return parts[0][: stop - start]
        parts.append(middle)
        if tail:
            parts.append(self._item(last)[:tail].tobytes())
        return b"".join(parts)

    def write(self, start: int, data: Buffer) -> None:
        """Store bytes from some byte of the stream on."""
        stop = start + len(data)
        head, first, last, tail = self._parts(start, stop)
        if head:
            within = min(head, len(data))
            begin = self._size - head
            self._item(first - 1)[begin : begin + within] = np.frombuffer(data, np.uint8, within)
        if last > first:
            whole = np.frombuffer(data, self._array.dtype, last - first, head)
            self._array.flat[first:last] = whole
        if tail:
            self._item(last)[:tail] = np.frombuffer(data, np.uint8, tail, len(data) - tail)

    def _parts(self, start: int, stop: int) -> tuple[int, int, int, int]:
        # Bytes in the element before `first`, the whole elements, and the bytes in the element `last`.
        size = self._size
        first = -(-start // size)
        head = first * size - start
        last = max(first, stop // size)
        return head, first, last, max(0, stop - last * size)

    def _item(self, number: int) -> npt.NDArray[np.uint8]:
        place = np.unravel_index(number, self._array.shape)
        element = self._array[tuple(slice(int(index), int(index) + 1) for index in place)]
        return element.reshape(1).view(np.uint8)


class _Memory:
    """Memory of some array under another shape: what numpy asks of an object to make a view of it."""

    def __init__(self, owner: npt.NDArray[Any], shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> None:
        self._owner = owner  # keeps the memory alive
        address, read_only = owner.__array_interface__["data"]
        self.__array_interface__ = {
            "data": (address, read_only),
            "shape": shape,
            "strides": strides,
            "typestr": f"|V{size}",
            "version": 3,
        }


def items_of(array: npt.NDArray[Any], shape: tuple[int, ...], strides: tuple[int, ...], size: int) -> Items:
    """Return elements of `size` bytes that lie from the first byte of an array on, at some strides."""
    return Items(np.asarray(_Memory(array, shape, strides, size)))
