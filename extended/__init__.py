"""The extended API on any conduit: put, get, barrier, atomics, locks; built on the public names of `conduit` alone."""

from extended.atomics import Atomic
from extended.barrier import BarrierMismatch
from extended.events import Handle
from extended.layer import Extended
from extended.locks import Lock

__all__ = ["Atomic", "BarrierMismatch", "Extended", "Handle", "Lock"]
