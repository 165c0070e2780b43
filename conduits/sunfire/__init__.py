"""Sun Fire Link, with Active Messages the way of Sun MPI's postboxes and pools."""

from conduits.sunfire.port import Sunfire

__all__ = ["Sunfire"]
