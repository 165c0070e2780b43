"""ScaMPI: Scali's MPI on SCI, which stores messages of every size by the processor.

Between hosts and within one it is `conduits.mpi.libraries.rings`: inline, eager and rendezvous by size.  What differs
is where a region lies and what a store to it takes: over SCI through a mapping of the receiver's segment, whose stores
stay in order, so that no store barrier is needed; within a host through its memory.  docs/models/scampi.md has the
formulas.
"""

from conduits.mpi.libraries.scampi.installation import Scampi

__all__ = ["Scampi"]
