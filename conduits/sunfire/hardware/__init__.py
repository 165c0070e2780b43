"""The simulated cluster: parts and their wiring, stores of lines over stripes, tables, faults."""

from conduits.sunfire.hardware.channel import Channel
from conduits.sunfire.hardware.fabric import Fabric
from conduits.sunfire.hardware.faults import Fault, check_faults, schedule
from conduits.sunfire.hardware.parts import LINE, Cable, Counters, Interface, Lane, Part, Status
from conduits.sunfire.hardware.paths import Paths
from conduits.sunfire.hardware.processor import Processor
from conduits.sunfire.hardware.runs import Flight
from conduits.sunfire.hardware.tables import READ, WRITE, Entry, InterruptRange
from conduits.sunfire.hardware.wiring import TOPOLOGIES, Plant, Topology

__all__ = [
    "LINE",
    "READ",
    "TOPOLOGIES",
    "WRITE",
    "Cable",
    "Channel",
    "Counters",
    "Entry",
    "Fabric",
    "Fault",
    "Flight",
    "Interface",
    "InterruptRange",
    "Lane",
    "Part",
    "Paths",
    "Plant",
    "Processor",
    "Status",
    "Topology",
    "check_faults",
    "schedule",
]
