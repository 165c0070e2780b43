"""The simulated cluster: parts and their wiring, stores of lines over stripes, tables, faults.

A CPU stores lines of 64 bytes; nothing else moves data.  Lines go in turn over the lanes between two hosts, each a
route through an NI, a cable, perhaps a switch, and an NI (`parts`, `wiring`, `paths`).  A run of lines that finds
every link free is one sum and takes no event (`channel`).  Only a run that waits, is long, or may be lost takes
events (`runs`).

Parts fail and come back by a schedule (`faults`).  What is on a part at that time is lost.  The sender's error register
says that something was, and its next memory barrier does (`processor`).  System software then writes new tables, so
that the stripes are the lanes that work (`fabric`, `tables`).
"""

from conduits.sunfire.hardware.channel import StoreChannel
from conduits.sunfire.hardware.fabric import FireLinkFabric
from conduits.sunfire.hardware.faults import Fault, check_faults, schedule
from conduits.sunfire.hardware.parts import LINE, Cable, Component, Counters, ErrorStatus, Interface, Lane
from conduits.sunfire.hardware.paths import Paths
from conduits.sunfire.hardware.processor import Processor
from conduits.sunfire.hardware.runs import Flight, Stopped
from conduits.sunfire.hardware.tables import READ, WRITE, InterruptRange, TableEntry, WatchfulMemory
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
    "Stopped",
    "StoreChannel",
    "TableEntry",
    "WatchfulMemory",
    "check_faults",
    "schedule",
]
