"""RSMAPI, the interface to remote shared memory, with networks as plug-ins.

`Rsm` is the API of one process; `RsmTransport` is what a network supplies; `errors` are RSM's.
"""

from conduits.rsm import errors
from conduits.rsm.directory import SegmentDirectory
from conduits.rsm.errors import RsmError
from conduits.rsm.export import ExportSegment
from conduits.rsm.imports import BarrierMode, ImportSegment, RsmBarrier
from conduits.rsm.library import Controller, Rsm, RsmTopology
from conduits.rsm.transport import (
    Attributes,
    Backing,
    Done,
    Got,
    ImportWindow,
    Landing,
    Mapped,
    Permission,
    Rights,
    RsmCall,
    RsmTransport,
)

__all__ = [
    "Attributes",
    "Backing",
    "BarrierMode",
    "Controller",
    "Done",
    "ExportSegment",
    "Got",
    "ImportSegment",
    "ImportWindow",
    "Landing",
    "Mapped",
    "Permission",
    "Rights",
    "Rsm",
    "RsmBarrier",
    "RsmCall",
    "RsmError",
    "RsmTopology",
    "RsmTransport",
    "SegmentDirectory",
    "errors",
]
