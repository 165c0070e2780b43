"""SGI Origin 2000: nodes of two processors with coherent memory on a hypercube; see docs/models/origin.md.

Every processor loads and stores any node's memory, cache line by cache line, and the hardware keeps caches coherent.
So puts, gets and atomic operations are the CPU's own work, and an access to a far node takes longer than one to a near
one.  Moves and messages are those of `conduits.globalmem`; here are the machine, its driver and its numbers.
"""

from conduits.origin.port import Origin

__all__ = ["Origin"]
