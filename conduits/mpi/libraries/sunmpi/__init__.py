"""Sun MPI over RSM: postboxes and pools of blocks in the memory of other hosts, on Sun Fire Link.

A short message is eager: postboxes of 64 bytes with the data.  A longer one is eager in blocks of a pool that its
sender keeps, behind a memory barrier, or a rendezvous where there is no room.  One rank writes each piece of memory, so
nothing is locked.  What may be lost with a link is kept until it is acknowledged (`repair`).  A connection has two
directions, each made at its first message (`connections`).  docs/models/sunmpi.md has the formulas.
"""

from conduits.mpi.libraries.sunmpi.installation import Sunmpi

__all__ = ["Sunmpi"]
