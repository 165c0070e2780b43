"""MPI-StarT: MPICH on StarT-X network interfaces, for SMPs.

Between SMPs a short message is a control message with its data, cut into packets that the processor stores and loads.
A long one is a rendezvous: request to send, ok to send, then RDMA between two pinned system buffers (`transfers`).
RDMA needs a second agreement, since an NIU receives one transfer at a time: the right to send to that SMP (`rights`).

The processes of an SMP share its NIU under a lock.  So any of them loads packets for all, and files those of others in
their inboxes (`smp`).  Within an SMP messages go through rings in memory.

`device` is one rank's end of it all.  docs/models/start.md has the formulas, and the tables of who may begin.

Source: Husbands and Hoe, MPI-StarT, SC98.
"""

from conduits.mpi.libraries.start.installation import Start

__all__ = ["Start"]
