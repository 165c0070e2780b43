"""The extended API: put, get and barrier on any conduit, built on the public names of `conduit` alone."""

from extended.barrier import BarrierMismatch
from extended.events import Handle
from extended.layer import Extended

__all__ = ["BarrierMismatch", "Extended", "Handle"]
