"""mpi: MPI, simulated or real, and Active Messages on its two-sided messages.

A program of MPI alone calls MPI's own names, of which those that may take time are awaited (`MPI`, `awaited`).  They
stand on a *plain interface*: calls that post something and return, as MPI's non-blocking ones do.  There are two of
these.  A simulated library has one engine for matching and requests (`engine`) and a device that moves bytes
(`libraries`).  Real MPI has mpi4py (`adapter`).  Algorithms of collectives are written once, on either (`collectives`).

Active Messages need two things that MPI does not give: a receive for a message that was not asked for, and replies that
never wait.  So a rank posts receives in advance, requests and replies apart, and a request takes one of `credits` slots
at its target, which the reply gives back (`messages`, `ring`).

`network` says which library the name `mpi` stands for.  `simulated` is the conduit on a simulated library, `port` that
on real MPI.  README.md has the rest.
"""

from conduits.mpi.network import Mpi

__all__ = ["Mpi"]
