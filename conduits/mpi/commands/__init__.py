"""The papers' benchmarks of MPI libraries: the commands `conduit mpi-...`.

Each is a program of MPI alone, so that it runs on every library.  It measures on the ranks' own clock: virtual time on
a simulated library, which has no noise, so that few repetitions suffice; real time on real MPI.
"""
