"""Active Messages over UDP datagrams on switched Ethernet, which loses, duplicates and reorders them.

Nothing here is reliable but what the conduit makes so.  A switch drops what its queue has no room for, a socket what
its buffer has no room for.  So each pair of ranks has two streams of numbered datagrams, with windows, acknowledgements
and timers: selective repeat (`protocol`).  A slot for the reply is set aside with each request, as on every network.

What arrives interrupts the processor of its rank, whatever that does.  But a rank retransmits and acknowledges in its
polls alone (rule P1), so a rank that only computes does neither.

`hardware` has adapters, links and the switch, `driver` the sockets.  docs/models/udp.md has the formulas.
"""

from conduits.udp.port import Udp

__all__ = ["Udp"]
