"""How Active Messages get over a network that loses datagrams: selective repeat, and messages in parts.

A message is cut into parts that each fit a datagram, and put together by its receiver (`parts`).  From each rank to
each other lead two streams, of requests and of replies, each with a window of its own: so a reply never waits behind
requests.  A datagram is outstanding until it is acknowledged, and is sent again when its timer has expired, each time
after twice as long (`windows`).  Streams deliver out of order: Active Messages are not ordered, so a lost datagram
holds up its own message alone.

A duplicate is known by its number.  `transport` is one rank's end, `peers` what it keeps of each other rank.
"""

from conduits.udp.protocol.transport import UdpConfig, UdpTransport

__all__ = ["UdpConfig", "UdpTransport"]
