"""The SCI cluster: ways over its rings and what stores take on them, hosts and their adapters."""

from conduits.sci.hardware.fabric import SPREAD_PS, Adapter, AdapterStatistics, SciFabric
from conduits.sci.hardware.ways import StorePlan, TorusRoute, packets, wire_bytes

__all__ = ["SPREAD_PS", "Adapter", "AdapterStatistics", "SciFabric", "StorePlan", "TorusRoute", "packets", "wire_bytes"]
