"""Parts that simulated networks are made of: the port, transports, the shared memory of a host.

All simulated networks share one port (`port`).  It knows the calls of a rank, whose turn it is on the CPU, which tasks
are blocked, and when the polling CPU notices an arrival.  A network supplies its `Transport` alone (`transport`):
how to set a slot aside, how to send, how to take what has arrived.  A rank has one transport for each way that
its messages may go, such as the network and the memory of its host (`shm`).

A polling CPU is not simulated look by look.  The port works out at which look an arrival would be noticed, and charges
for the looks in between.  From there on a *poll pass* handles up to 10 messages (`port`).

What a rank does to anything shared is done in an event, at the time of the act.  A sequence of such acts is a *chain*:
each act is given what to call when it is done (`chain`).

Read `transport`, then `port`; docs/writing_a_conduit.md is the step list.
"""

from conduit.simnet.barrier import HardwareBarrier
from conduit.simnet.host import HostModel
from conduit.simnet.onesided import OneSidedPort, Unit
from conduit.simnet.port import SimulatedPort
from conduit.simnet.shm import SharedMemoryTransport
from conduit.simnet.simulated import SimulatedConduit
from conduit.simnet.transport import Transport

__all__ = [
    "HardwareBarrier",
    "HostModel",
    "OneSidedPort",
    "SharedMemoryTransport",
    "SimulatedConduit",
    "SimulatedPort",
    "Transport",
    "Unit",
]
