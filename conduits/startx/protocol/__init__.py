"""How Active Messages travel over StarT-X: packets in two priorities, a rendezvous for RDMA.

A message of up to some packets is stored into the NIU packet by packet (`sending`).  A longer payload goes by RDMA
(`transfers`), part by part, and each part needs a rendezvous with its receiver (`rendezvous`):

    requested  the request to send (RTS) has come; the bytes wait in a pinned buffer of the sender
    put off    a transfer of the same two ranks the other way goes first
    granted    the clear to send (CTS) has been given; engine and buffer of the receiver are this transfer's
    arrived    all bytes are in the buffer
    emptied    the receiver has copied them out

The processes of a host share one NIU: what they keep together is in `smp`.  `transport` is one rank's end of it all.
"""

from conduits.startx.protocol.smp import Smp, StartXConfig
from conduits.startx.protocol.transport import StartXTransport

__all__ = ["Smp", "StartXConfig", "StartXTransport"]
