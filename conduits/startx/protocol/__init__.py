"""How Active Messages travel over StarT-X: packets in two priorities, appointments for RDMA."""

from conduits.startx.protocol.path import StartXPath
from conduits.startx.protocol.smp import Smp, StartXConfig

__all__ = ["Smp", "StartXConfig", "StartXPath"]
