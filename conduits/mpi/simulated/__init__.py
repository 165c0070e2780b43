"""The conduit on a simulated MPI library: ranks are tasks, time is virtual.

A rank has one `port`, as on every simulated network, and its `transport` is the library.  Where the port polls, the
library makes progress, and gives the Active Messages that have come by it.  Programs of MPI use the same port without
any: their rank is a `process`, as the awaited names have it.

    conduit      the network: its options, its costs, and what it makes for each rank
    port         how a call of MPI takes the rank's CPU
    transport    Active Messages, and the library's own progress, as the port polls them
    process      a rank of a program of MPI
    waits        what the tasks of one wait for
    last_sends   where a program has made its last sends
    unreceived   what is said of messages that no receive asks for
"""

from conduits.mpi.simulated.conduit import on

__all__ = ["on"]
