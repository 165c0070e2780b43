"""The card's user-level API, after SISCI: segments, mappings, PIO, barriers, DMA queues, reads.

A process makes a local segment and makes it available.  Another one connects to it (`RemoteSegment`), which is enough
for DMA.
To store to it by the CPU (PIO) it must also map it (`SegmentMapping`).  `Sisci` has the calls of one process, and
`SlotWriter` stores messages that flags announce into each `RemoteSlot`.
"""

from conduits.sci.driver.process import ALIGN, MAP_PS, UNMAP_PS, Sisci, segment_limit
from conduits.sci.driver.segment import RemoteSegment, SciError, Segment, SegmentMapping, Then
from conduits.sci.driver.slot import RemoteSlot, RemoteSlots
from conduits.sci.driver.writer import SlotWriter

__all__ = [
    "ALIGN",
    "MAP_PS",
    "UNMAP_PS",
    "RemoteSegment",
    "RemoteSlot",
    "RemoteSlots",
    "SciError",
    "Segment",
    "SegmentMapping",
    "Sisci",
    "SlotWriter",
    "Then",
    "segment_limit",
]
