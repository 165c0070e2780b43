"""How Active Messages travel over StarT-X: packets in two priorities, appointments for RDMA."""

from conduits.startx.protocol.path import StartXPath
from conduits.startx.protocol.smp import Setting, Smp

__all__ = ["Setting", "Smp", "StartXPath"]
