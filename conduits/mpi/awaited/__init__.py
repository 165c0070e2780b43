"""MPI's names as awaitables, on the plain interface: the same in virtual and in real time.

A call checks its arguments as mpi4py does, makes bytes of the buffers, posts, and polls until what it waits for is
over.  Calls that only begin something (`Isend`) are awaited too: on a simulated library a call takes time of the rank's
CPU, and an await is where time can pass.  Read `base` first; `process` is all that the names need of their rank.

Source: the MPI standard, version 4.1; the names are those of mpi4py 4.1.
"""
