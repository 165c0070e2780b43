"""The SCI cluster: ways over its rings and what stores take on them, hosts and their adapters."""

from conduits.sci.hardware.fabric import SPREAD_PS, Adapter, AdapterStatistics, Fabric
from conduits.sci.hardware.ways import StorePlan, Way, packets, wire_bytes

__all__ = ["SPREAD_PS", "Adapter", "AdapterStatistics", "Fabric", "StorePlan", "Way", "packets", "wire_bytes"]
