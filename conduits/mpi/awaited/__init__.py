"""MPI's names as awaitables, on the plain interface: the same in virtual and in real time."""
