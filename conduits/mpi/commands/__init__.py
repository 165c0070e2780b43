"""The papers' benchmarks of MPI libraries: `conduit mpi-pingpong`, `mpi-bandwidth`, `mpi-coll`."""
