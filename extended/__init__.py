"""The extended API on any conduit, built on the public names of `conduit` alone.

One-sided transfers, barriers, collectives, teams, atomics, locks and a symmetric heap.
"""

from extended.atomics import Atomic
from extended.barrier import BarrierMismatch
from extended.collectives.signature import CollectiveMismatch
from extended.events import Handle
from extended.layer import Extended
from extended.locks import Lock
from extended.teams import Team

__all__ = ["Atomic", "BarrierMismatch", "CollectiveMismatch", "Extended", "Handle", "Lock", "Team"]
