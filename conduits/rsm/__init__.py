"""RSMAPI, the interface to remote shared memory, with networks as plug-ins.

A process *exports* a segment of its memory and publishes it; a process on another host *imports* it, and then reaches
it by puts and gets, or maps it and stores to it.  A store is posted: it reports nothing.  So an import has *barriers*,
which say whether all that was stored since they were opened has arrived.

`Rsm` is the API of one process; `RsmProvider` is what a network supplies; `errors` are RSM's.  `SegmentDirectory` is
what the hosts of a cluster know of one another's exports.  Stores behind barriers until these are good are in `safe`.
Read `library` first.

Source: the RSMAPI papers.
"""

from conduits.rsm import errors
from conduits.rsm.directory import SegmentDirectory
from conduits.rsm.errors import RsmError
from conduits.rsm.export import ExportSegment
from conduits.rsm.imports import BarrierMode, ImportSegment, RsmBarrier
from conduits.rsm.library import Controller, Rsm, RsmTopology
from conduits.rsm.provider import (
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
    RsmProvider,
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
    "RsmProvider",
    "RsmTopology",
    "SegmentDirectory",
    "errors",
]
