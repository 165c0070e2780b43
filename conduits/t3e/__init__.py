"""Cray T3E-600: a torus of processors that reach all memories through E-registers; see docs/models/t3e.md.

The address space is global and not cached.  A processor moves words between its memory and any other through a large
set of external registers (E-registers), so that many accesses are under way at once.  Puts are posted, and a fence
waits for their acknowledgements.  Moves and messages are those of `conduits.globalmem`; here are the machine, its
driver and its numbers.
"""

from conduits.t3e.port import T3e

__all__ = ["T3e"]
