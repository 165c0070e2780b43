"""StarT-X network interfaces on an Arctic fat tree, between SMPs: Husbands and Hoe's MPI-StarT as a conduit."""

from conduits.startx.port import StartX

__all__ = ["StartX"]
