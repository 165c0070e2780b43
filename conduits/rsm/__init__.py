"""RSMAPI, the interface to remote shared memory, with networks as plug-ins.

`Rsm` is the API of one process; `Transport` is what a network supplies; `errors` are RSM's.
"""

from conduits.rsm import errors
from conduits.rsm.errors import RsmError
from conduits.rsm.exchange import Exchange
from conduits.rsm.export import ExportSegment
from conduits.rsm.imports import Barrier, BarrierMode, ImportSegment
from conduits.rsm.library import Controller, Rsm, Topology
from conduits.rsm.transport import (
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
