"""The buffer that a program attaches for buffered sends (MPI_Bsend): a part of it for each that is under way.

Parts are taken first fit, in order of address, and given back when their send is over, in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conduits.mpi.errors import ErrorClass, MpiError

OVERHEAD = 96
"""Bytes that each buffered send takes beside its own: MPICH's number (MPI.BSEND_OVERHEAD)."""


class Kept:
    """A part of the buffer.

    Args:
        start: where it begins.
        data: the bytes of the message.

    Attributes:
        data: the same.
        end: where the next may begin.
        send: the request of the send, None before it is begun.
    """

    __slots__ = ("data", "end", "send", "start")

    def __init__(self, start: int, data: memoryview) -> None:
        self.start = start
        self.data = data
        self.end = start + len(data) + OVERHEAD
        self.send: Any = None

    def begun(self, send: Any) -> None:
        """Take note of the send's request."""
        self.send = send

    @property
    def free(self) -> bool:
        """Whether the send is over, so that the part may be used again."""
        return self.send is not None and bool(self.send.over)


class AttachedBuffer:
    """A rank's buffer for buffered sends.

    Args:
        copied: takes the CPU for a copy, given its bytes.

    Attributes:
        attached: what the program has attached, None while it has nothing.
    """

    __slots__ = ("_copied", "_kept", "_view", "attached")

    def __init__(self, copied: Callable[[int], object]) -> None:
        self._copied = copied
        self._kept: list[Kept] = []
        self._view = memoryview(bytearray())
        self.attached: Any = None

    def attach(self, buffer: Any, view: memoryview) -> None:
        """Use `view` for the sends that follow, bytes of `buffer`.

        Raises:
            MpiError: one is attached.
        """
        if self.attached is not None:
            raise MpiError(
                ErrorClass.ERR_BUFFER, "Attach_buffer: a buffer is attached already; call Detach_buffer first"
            )
        self.attached, self._view = buffer, view

    def detach(self) -> Any:
        """Give the buffer back, when it is empty."""
        assert self.empty()
        buffer, self.attached, self._view = self.attached, None, memoryview(bytearray())
        return buffer

    def empty(self) -> bool:
        """Return whether all buffered sends are over; free of cost."""
        self._kept = [each for each in self._kept if not each.free]
        return not self._kept

    def keep(self, data: memoryview) -> Kept:
        """Copy `data` to the first place where they fit.

        Raises:
            MpiError: there is none.
        """
        self.empty()
        needed, start = len(data) + OVERHEAD, 0
        place = 0
        while place < len(self._kept) and start + needed > self._kept[place].start:
            start = self._kept[place].end
            place += 1
        if start + needed > len(self._view):
            raise MpiError(
                ErrorClass.ERR_BUFFER,
                f"a buffered send of {len(data)} bytes needs {needed} in a row, with BSEND_OVERHEAD={OVERHEAD}; "
                f"{self._room()}; attach a larger one (Attach_buffer)",
            )
        part = self._view[start : start + len(data)]
        part[:] = data
        self._copied(len(data))
        made = Kept(start, part)
        self._kept.insert(place, made)
        return made

    def send(self, data: memoryview, begin: Callable[[memoryview], object]) -> None:
        """Copy `data` to the buffer, and begin to send them from there.

        Args:
            data: the bytes.
            begin: begins the send of the bytes that it is given, and returns its request.

        Raises:
            MpiError: there is no room.
            Exception: what `begin` raises; the place is free again.
        """
        kept = self.keep(data)
        try:
            kept.begun(begin(kept.data))
        except BaseException:
            self._kept.remove(kept)
            raise

    def _room(self) -> str:
        if self.attached is None:
            return "no buffer is attached"
        return f"the attached buffer has {len(self._view)} bytes, with {len(self._kept)} messages under way in it"
