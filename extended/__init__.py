"""The extended API on any conduit, built on the public names of `conduit` alone.

Put, get, barriers, collectives and teams.
"""

from extended.barrier import BarrierMismatch
from extended.collectives.signature import CollectiveMismatch
from extended.events import Handle
from extended.layer import Extended
from extended.teams import Team

__all__ = ["BarrierMismatch", "CollectiveMismatch", "Extended", "Handle", "Team"]
