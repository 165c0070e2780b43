"""The SCI cluster: routes over its rings and what stores take on them, hosts and their adapters.

Hosts stand on a torus of one-way rings.  A packet takes its rings in the order of the dimensions, and its response goes
on around each ring.  An adapter has room for 16 packets without a response: that window, over the time of a response,
bounds what one CPU can store (`ways`).  Where links are busy a transfer waits, piece by piece, so that others get on
(`fabric`).
"""

from conduits.sci.hardware.fabric import SPREAD_PS, Adapter, AdapterStatistics, SciFabric
from conduits.sci.hardware.ways import NO_STORE, StorePlan, StoreTimes, TorusRoute, packets, wire_bytes

__all__ = [
    "NO_STORE",
    "SPREAD_PS",
    "Adapter",
    "AdapterStatistics",
    "SciFabric",
    "StorePlan",
    "StoreTimes",
    "TorusRoute",
    "packets",
    "wire_bytes",
]
