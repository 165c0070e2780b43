"""What a host's kernel does with remote interrupts: it signals processes, and merges writes of less than a line.

    bytes 0-7    sender: host and processor, written by the receiving NI
    bytes 8-11   what: SIGNAL or MERGE
    bytes 12-15  bytes to merge
    bytes 16-23  offset in the segment
    bytes 24-27  number of the segment
    bytes 28-63  bytes to merge, 36 at most

Source: Sistare and Jackson, section 2.6; the layout of the line is ours.
"""

from __future__ import annotations

import struct

from conduits.sunfire import constants as c
from conduits.sunfire.hardware import LINE, Fabric, InterruptRange
from conduits.sunfire.hardware.interrupts import SENDER

INTERRUPT_PS = c.ps(c.INTERRUPT)
SIGNAL, MERGE = 1, 2

_WHAT = struct.Struct("<IIQI")
_DATA = SENDER.size + _WHAT.size
ROOM = LINE - _DATA
"""Bytes that one line can merge."""


def pack(what: int, number: int, offset: int = 0, data: bytes = b"") -> bytes:
    """Return the line of an interrupt, the sender still blank."""
    return (bytes(SENDER.size) + _WHAT.pack(what, len(data), offset, number) + data).ljust(LINE, b"\0")


class HostKernel:
    """A host's operating system, as far as its NIs interrupt it; CPU 0 takes them, one after the other.

    Args:
        fabric: the cluster.
        host: which.
    """

    def __init__(self, fabric: Fabric, host: int) -> None:
        self._fabric = fabric
        self._host = host
        self._processor = fabric.processor(host, 0)
        self._free = 0  # when the CPU has dealt with all that have come
        fabric.interrupts[host] = InterruptRange(fabric.plant.interfaces[host, 0], self._processor, self._take)

    def _take(self, line: bytes) -> int:
        """Interrupt the CPU; return when the line has been dealt with."""
        if self._processor.stolen is not None:
            self._processor.stolen(INTERRUPT_PS)
        kernel = self._fabric.kernel
        self._free = when = max(self._free, kernel.now) + INTERRUPT_PS
        kernel.at(when, self._handle, line)
        return when

    def _handle(self, line: bytes) -> None:
        """Signal the owner of a segment, or merge bytes into it."""
        source, _ = SENDER.unpack_from(line)
        what, size, offset, number = _WHAT.unpack_from(line, SENDER.size)
        entry = self._fabric.entry(self._host, number)
        if entry is None:
            return  # taken out of the tables while the line was under way
        if what == SIGNAL:
            if entry.signalled is not None:
                entry.signalled()
        elif entry.lets_write(source):
            entry.land(offset, line[_DATA : _DATA + size])
