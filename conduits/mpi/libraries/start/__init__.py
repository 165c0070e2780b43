"""MPI-StarT: MPICH on StarT-X network interfaces, for SMPs."""

from conduits.mpi.libraries.start.installation import Start

__all__ = ["Start"]
