"""The simulated cluster: parts and their wiring, stores of lines over stripes, tables, faults."""

from conduits.sunfire.hardware.channel import StoreChannel
from conduits.sunfire.hardware.fabric import FireLinkFabric
from conduits.sunfire.hardware.faults import Fault, check_faults, schedule
from conduits.sunfire.hardware.parts import LINE, Cable, Component, Counters, ErrorStatus, Interface, Lane
from conduits.sunfire.hardware.paths import Paths
from conduits.sunfire.hardware.processor import Processor
from conduits.sunfire.hardware.runs import Flight
from conduits.sunfire.hardware.tables import READ, WRITE, InterruptRange, TableEntry
from conduits.sunfire.hardware.wiring import TOPOLOGIES, ClusterTopology, Inventory

__all__ = [
    "LINE",
    "READ",
    "TOPOLOGIES",
    "WRITE",
    "Cable",
    "ClusterTopology",
    "Component",
    "Counters",
    "ErrorStatus",
    "Fault",
    "FireLinkFabric",
    "Flight",
    "Interface",
    "InterruptRange",
    "Inventory",
    "Lane",
    "Paths",
    "Processor",
    "StoreChannel",
    "TableEntry",
    "check_faults",
    "schedule",
]
