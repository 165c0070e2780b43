"""StarT-X network interfaces on an Arctic fat tree, between SMPs: Husbands and Hoe's MPI-StarT as a conduit.

A network interface (NIU) has message queues of two priorities, in hardware.  Sending is cheap, since it is a posted
store; receiving is dear, since it is a load over PCI.  High priority may hold up low priority, never the reverse.  So
requests go in low priority and replies in high, and a reply always gets through.

Long payloads go by RDMA, which needs a rendezvous: the receiver's NIU serves one transfer at a time, and the sender
must have the right to it first.

The processes of a host share its NIU.  Any process that polls takes messages for all of them (`protocol.smp`).
docs/models/startx.md has the formulas and the constants' sources.
"""

from conduits.startx.port import StartX

__all__ = ["StartX"]
