"""How Active Messages get over a network that loses: windows, acknowledgements, parts of messages, one rank's end."""

from conduits.udp.protocol.path import UdpConfig, UdpPath

__all__ = ["UdpConfig", "UdpPath"]
