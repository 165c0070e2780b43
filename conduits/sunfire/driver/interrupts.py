"""Remote interrupts: lines for a host's kernel, and what that kernel does with them.

An interrupt is an ordinary store of a line to an address that the receiving NI's tables declare to be one.  The NI
overwrites the line's first 8 bytes with the sender's identity and hands it to a processor.  The kernel uses
them for signals, and for writes of less than a line, whose bytes it merges into the memory.

    bytes 0-7    sender: host (4), processor (4), written by the receiving NI
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
from conduits.sunfire.hardware import LINE, Fabric, Processor

INTERRUPT_PS = c.ps(c.INTERRUPT)
SIGNAL, MERGE = 1, 2

_SENDER = struct.Struct("<II")
_WHAT = struct.Struct("<IIQI")
ROOM = LINE - _SENDER.size - _WHAT.size
"""Bytes that one line can merge."""


def pack(what: int, number: int, offset: int = 0, data: bytes = b"") -> bytes:
    """Return the line of an interrupt, the sender still blank."""
    return (bytes(_SENDER.size) + _WHAT.pack(what, len(data), offset, number) + data).ljust(LINE, b"\0")


def deliver(fabric: Fabric, sender: Processor, host: int, line: bytes) -> int:
    """Hand a line to a host's kernel, in the event of its arrival; return when that has dealt with it."""
    target = fabric.processor(host, 0)  # the tables name one processor for all
    fabric.plant.interfaces[host, 0].interrupts += 1
    if target.stolen is not None:
        target.stolen(INTERRUPT_PS)
    line = _SENDER.pack(sender.host, sender.index) + line[_SENDER.size :]
    when = fabric.kernel.now + INTERRUPT_PS
    fabric.kernel.at(when, _handle, fabric, host, line)
    return when


def _handle(fabric: Fabric, host: int, line: bytes) -> None:
    """What the kernel does: signal the owner of a segment, or merge bytes into it."""
    source, _ = _SENDER.unpack_from(line)
    what, size, offset, number = _WHAT.unpack_from(line, _SENDER.size)
    entry = fabric.entry(host, number)
    if entry is None:
        return  # taken out of the tables while the line was under way
    if what == SIGNAL:
        if entry.signalled is not None:
            entry.signalled()
    elif entry.lets_write(source):
        start = _SENDER.size + _WHAT.size
        entry.land(offset, line[start : start + size])
