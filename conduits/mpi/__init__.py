"""mpi: Active Messages on MPI's two-sided messages."""

from conduits.mpi.network import Mpi

__all__ = ["Mpi"]
