"""Cray T3E-600: a torus of processors that reach all memories through E-registers; see docs/models/t3e.md."""

from conduits.t3e.port import T3e

__all__ = ["T3e"]
