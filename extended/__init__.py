"""The extended API: one-sided transfers, barriers, atomics and locks on any conduit, built on the public core alone."""

from extended.atomics import Atomic
from extended.barrier import BarrierMismatch
from extended.events import Handle
from extended.layer import Extended
from extended.locks import Lock

__all__ = ["Atomic", "BarrierMismatch", "Extended", "Handle", "Lock"]
