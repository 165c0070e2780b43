"""Sun MPI over RSM: postboxes and pools of blocks in the memory of other hosts, on Sun Fire Link."""

from conduits.mpi.libraries.sunmpi.installation import Sunmpi

__all__ = ["Sunmpi"]
