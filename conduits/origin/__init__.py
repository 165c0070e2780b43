"""SGI Origin 2000: nodes of two processors with coherent memory on a hypercube; see docs/models/origin.md."""

from conduits.origin.port import Origin

__all__ = ["Origin"]
