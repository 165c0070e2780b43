"""Algorithms of collectives: generators over a channel, on any MPI library, in virtual and in real time."""
