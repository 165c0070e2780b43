"""MPI's awaited names on real MPI: the plain interface that they stand on, made of mpi4py's calls."""

from conduits.mpi.adapter.process import RealProcess

__all__ = ["RealProcess"]
