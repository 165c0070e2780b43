"""Simulated memory: bytes at addresses, made by page on first write.

A job of a thousand ranks has far more memory than it touches.  A page that was never written
takes no room and reads as zeros (rule M).
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview


class Memory:
    """`nbytes` of memory that starts as zeros.

    Args:
        nbytes: size in bytes.
        page: bytes made at the first write to any of them.  Owners of records choose the record.
    """

    __slots__ = ("_pages", "nbytes", "page")

    def __init__(self, nbytes: int, page: int = 4096) -> None:
        self.nbytes = nbytes
        self.page = page
        self._pages: dict[int, bytearray] = {}

    def write(self, address: int, data: Buffer) -> None:
        """Store `data` at `address`; IndexError where that is not inside."""
        size = len(data)
        index, start = divmod(address, self.page)
        if start + size <= self.page and address >= 0 and address + size <= self.nbytes:
            page = self._pages.get(index)  # nearly always there, so without a call
            if page is None:
                page = self._page(index, start)
            page[start : start + size] = data
            return
        self._write_across(address, memoryview(data))

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`; IndexError where that is not inside."""
        index, start = divmod(address, self.page)
        if start + nbytes <= self.page and address >= 0 and address + nbytes <= self.nbytes:
            page = self._pages.get(index)
            return bytes(nbytes) if page is None else bytes(page[start : start + nbytes])
        self._check(address, nbytes)
        parts = []
        for index, start, size in self._spans(address, nbytes):
            page = self._pages.get(index)
            parts.append(bytes(size) if page is None else bytes(page[start : start + size]))
        return b"".join(parts)

    def place(self, address: int, nbytes: int) -> tuple[bytearray, int]:
        """Return the page in which `nbytes` at `address` lie, and where in it; for owners of records.

        Raises:
            IndexError: they do not lie in one page, or not inside.
        """
        self._check(address, nbytes)
        index, start = divmod(address, self.page)
        if start + nbytes > self.page:
            raise IndexError(f"{nbytes} bytes at {address} are not in one page of {self.page} bytes")
        return self._page(index, start), start

    def _page(self, index: int, start: int) -> bytearray:
        """Return a page that is to be written from `start` on, made now if it was not needed before."""
        page = self._pages.get(index)
        if page is None:
            page = self._pages[index] = bytearray(self.page)
        return page

    @property
    def resident(self) -> int:
        """Bytes of the pages that exist."""
        return sum(map(len, self._pages.values()))

    def _write_across(self, address: int, data: memoryview) -> None:
        self._check(address, len(data))
        done = 0
        for index, start, size in self._spans(address, len(data)):
            self._page(index, start)[start : start + size] = data[done : done + size]
            done += size

    def _spans(self, address: int, nbytes: int) -> list[tuple[int, int, int]]:
        spans = []
        end = address + nbytes
        while address < end:
            index, start = divmod(address, self.page)
            size = min(self.page - start, end - address)
            spans.append((index, start, size))
            address += size
        return spans

    def _check(self, address: int, nbytes: int) -> None:
        if address < 0 or nbytes < 0 or address + nbytes > self.nbytes:
            raise IndexError(f"bytes {address} to {address + nbytes} are not inside a memory of {self.nbytes} bytes")


class RecordMemory(Memory):
    """Memory whose pages are records, each no longer than it has been written: most get a header alone.

    What is behind the end of a page reads as zeros.
    """

    __slots__ = ()

    def write(self, address: int, data: Buffer) -> None:
        """Store `data` at `address`; IndexError where that is not inside."""
        self._write_across(address, memoryview(data))

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`; IndexError where that is not inside."""
        self._check(address, nbytes)
        spans = self._spans(address, nbytes)
        written = ((self._pages.get(index, b"")[start : start + size], size) for index, start, size in spans)
        return b"".join(bytes(part).ljust(size, b"\0") for part, size in written)

    def _page(self, index: int, start: int) -> bytearray:
        """Return a page as far as up to `start`: who stores there by a slice makes it as long as that takes."""
        page = self._pages.get(index)
        if page is None:
            page = self._pages[index] = bytearray()
        if len(page) < start:
            page.extend(bytes(start - len(page)))
        return page


class Store(Protocol):
    """Memory of any kind: a `Memory`, or a `Flat`."""

    def write(self, address: int, data: Buffer, /) -> None:
        """Store `data` at `address`."""

    def read(self, address: int, nbytes: int, /) -> bytes:
        """Return `nbytes` from `address`."""


class Flat:
    """Memory that exists already: a bytearray or a view of an array of bytes."""

    __slots__ = ("view",)

    def __init__(self, view: bytearray | memoryview) -> None:
        self.view = view

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return len(self.view)

    def write(self, address: int, data: Buffer, source: int = -1) -> None:
        """Store `data` at `address`.

        Args:
            address: where.
            data: what.
            source: the rank from which it comes, where the network knows that; for observers alone.
        """
        self.view[address : address + len(data)] = data

    def read(self, address: int, nbytes: int) -> bytes:
        """Return a copy of `nbytes` from `address`."""
        return bytes(self.view[address : address + nbytes])

    def place(self, address: int, nbytes: int) -> tuple[bytearray | memoryview, int]:
        """Return all bytes, and where in them `nbytes` at `address` lie; IndexError where that is not inside."""
        if not 0 <= address <= len(self.view) - nbytes:
            raise IndexError(f"{nbytes} bytes at {address} are not inside {len(self.view)} bytes")
        return self.view, address
