"""How Active Messages get over a network that loses: windows, acknowledgements, parts of messages, one rank's end."""

from conduits.udp.protocol.transport import UdpConfig, UdpTransport

__all__ = ["UdpConfig", "UdpTransport"]
