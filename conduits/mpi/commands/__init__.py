"""The papers' benchmarks of MPI libraries: the commands `conduit mpi-...`."""
