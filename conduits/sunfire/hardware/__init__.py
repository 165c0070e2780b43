"""The simulated cluster: parts and their wiring, stores of lines over stripes, tables, faults."""

from conduits.sunfire.hardware.channel import Channel
from conduits.sunfire.hardware.entry import READ, WRITE, Entry
from conduits.sunfire.hardware.fabric import Fabric, Paths
from conduits.sunfire.hardware.faults import Fault, check_faults, schedule
from conduits.sunfire.hardware.flight import Flight
from conduits.sunfire.hardware.interrupts import InterruptRange
from conduits.sunfire.hardware.parts import LINE, Cable, Counters, Interface, Lane, Part
from conduits.sunfire.hardware.processor import Processor
from conduits.sunfire.hardware.status import Status
from conduits.sunfire.hardware.wiring import MACHINES, Machine, Plant, cluster

__all__ = [
    "LINE",
    "MACHINES",
    "READ",
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
    "Machine",
    "Part",
    "Paths",
    "Plant",
    "Processor",
    "Status",
    "check_faults",
    "cluster",
    "schedule",
]
