"""The simulated MPI libraries, each on its interconnect's driver, and what several of them have in common."""
