"""The simulated MPI libraries, each on its interconnect's driver, and what several of them have in common.

A library is an `Installation`: options, a machine, and a `Device` for each rank (`installation`).  Matching and
requests are the engine's, once for all (`conduits.mpi.engine`).  Libraries differ in how bytes travel:

    scampi   rings and buffers at the receiver, which the sender's processor stores into over SCI
    sunmpi   postboxes and pools of blocks at the receiver, stored over Sun Fire Link; what a failed link loses, again
    start    packets through a shared network interface, and RDMA by rendezvous

All have two rules in common.  Envelopes always get through, and only payload bytes are flow-controlled: so a send and a
receive that match always complete.  And what a receiver keeps of unexpected messages is bounded, for each sender: a
message that finds no room there goes as a request to send (rendezvous).

Within a host all of them move messages through `rings`, and copies share the host's `memory`.  Collectives of sunmpi
exchange there through buffers that one rank writes and many read (`conduits.mpi.engine.sharing`).
"""
