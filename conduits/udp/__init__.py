"""Active Messages over UDP datagrams on switched Ethernet, which loses, doubles and reorders them."""

from conduits.udp.port import Udp

__all__ = ["Udp"]
