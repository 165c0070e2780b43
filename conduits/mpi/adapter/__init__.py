"""MPI's awaited names on real MPI: the plain interface that they stand on, made of mpi4py's calls.

Only calls that return at once are used.  A blocking call of MPI would stop the thread, and with it all other tasks of
the rank.  So a wait is a loop that tests, and lets Trio run other tasks in between.  Matching, order and progress are
MPI's own.
"""

from conduits.mpi.adapter.process import RealProcess

__all__ = ["RealProcess"]
