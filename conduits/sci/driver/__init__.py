"""The card's user-level API, after SISCI: segments, mappings, PIO, barriers, DMA queues, reads."""

from conduits.sci.driver.process import ALIGN, MAP_PS, UNMAP_PS, Sisci, segment_limit
from conduits.sci.driver.segment import RemoteSegment, SciError, Segment, SegmentMapping, Then
from conduits.sci.driver.slot import RemoteSlot

__all__ = [
    "ALIGN",
    "MAP_PS",
    "UNMAP_PS",
    "RemoteSegment",
    "RemoteSlot",
    "SciError",
    "Segment",
    "SegmentMapping",
    "Sisci",
    "Then",
    "segment_limit",
]
