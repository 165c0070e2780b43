"""Algorithms of collectives: generators over a channel, on any MPI library, in virtual and in real time.

An algorithm sends and receives through a `CollectiveChannel`, and yields the requests that must be over before it goes
on.  So it belongs to no task: any poll of its rank carries it on, and a non-blocking collective is the same code as a
blocking one.  All messages of a call have a tag of its own in a hidden context, so that no message of another call or
of the program can match.

Trees take log2 n steps and suit small data.  Rings and pairwise exchanges move each byte as seldom as possible and suit
large data.  Two-level algorithms let one rank of each host speak for the others (`nodes`), because a message within a
host costs less.  Where a library has memory that one rank of a host writes and others read, `local_exchange` is made of
that within a host.  `algorithms` has all of them by name, and what is taken where a program names none.
"""
