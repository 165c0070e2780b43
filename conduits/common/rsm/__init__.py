"""RSMAPI, the interface to remote shared memory, with networks as plug-ins.

`Rsm` is the API of one process; `Transport` is what a network supplies; `errors` are RSM's.
"""

from conduits.common.rsm import errors
from conduits.common.rsm.errors import RsmError
from conduits.common.rsm.exchange import Exchange
from conduits.common.rsm.export import ExportSegment
from conduits.common.rsm.imports import Barrier, BarrierMode, ImportSegment
from conduits.common.rsm.library import Controller, Rsm, Topology
from conduits.common.rsm.transport import (
    Attributes,
    Backing,
    Call,
    Done,
    Got,
    Landing,
    Mapped,
    Permission,
    Rights,
    Transport,
    Window,
)

__all__ = [
    "Attributes",
    "Backing",
    "Barrier",
    "BarrierMode",
    "Call",
    "Controller",
    "Done",
    "Exchange",
    "ExportSegment",
    "Got",
    "ImportSegment",
    "Landing",
    "Mapped",
    "Permission",
    "Rights",
    "Rsm",
    "RsmError",
    "Topology",
    "Transport",
    "Window",
    "errors",
]
