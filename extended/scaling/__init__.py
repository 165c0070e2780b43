"""Five tests of how one-sided communication scales, by SHMEM and by MPI-2, on any conduit (docs/commands.md).

The tests move `n` numbers of eight bytes between `p` PEs in five patterns.  Each is written once, against what both
libraries offer (`OneSidedLibrary`).  The harness times a test in a series of trials and filters them as the paper does.

Source: Luecke, Spanoyannis and Kraeva, The performance and scalability of SHMEM and MPI-2 one-sided routines on a SGI
Origin 2000 and a Cray T3E-600.
"""
