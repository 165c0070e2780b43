"""Remote interrupts: ranges of addresses that a host's tables declare to be no memory.

An interrupt is an ordinary store of a line, so user code may send one.  The receiving NI finds in its tables that
the address is no memory; it writes the sender's identity over the line's first bytes, where nobody can forge it, and
hands the line to the processor that the table names.

Source: Sistare and Jackson, section 2.6; that the identity is host and processor, 4 bytes each, is ours.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from conduits.sunfire.hardware.parts import Interface

if TYPE_CHECKING:
    from conduits.sunfire.hardware.processor import Processor

SENDER = struct.Struct("<II")


class InterruptRange:
    """A range in the tables of a host whose lines go to a processor.

    Args:
        interface: whose counters it is in.
        processor: which CPU of the host the table names.
        taken: called as `taken(line)` in the event of an arrival; returns when the CPU has dealt with it.
    """

    __slots__ = ("_interface", "_taken", "processor")

    def __init__(self, interface: Interface, processor: Processor, taken: Callable[[bytes], int]) -> None:
        self._interface = interface
        self._taken = taken
        self.processor = processor

    def land(self, sender: Processor, line: bytes) -> int:
        """Take a line that arrives; return when it has been dealt with, picoseconds."""
        self._interface.interrupts += 1
        return self._taken(SENDER.pack(sender.host, sender.index) + line[SENDER.size :])
