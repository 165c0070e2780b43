"""What machines share on which every processor reaches the memory of every node: memories, moves, queues of messages.

On such a machine a *move* does everything.  The processor pushes bytes to another node, pulls them from there, or
changes a word there (`mover`); the other node's processor has no part in it.  A move goes line by line.  Its rate is
that of the slowest of what it passes: the processor (`pace`), the links (`fabric`), the memory (`memory`).

Native one-sided operations are moves, with the cost of the vendor's library in front (`unit`).  Active Messages are
moves too: a message is pushed into a slot of its receiver, and its name into the receiver's queue, at a place that an
atomic ticket gives (`queues`).

`model` says what all this takes without contention.  The networks are `conduits.origin` and `conduits.t3e`.
"""
