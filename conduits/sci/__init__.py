"""Dolphin's SCI cards on a torus, with the GASNet core conduit of Su, Gordon, Oral and George."""

from conduits.sci.port import Sci

__all__ = ["Sci"]
