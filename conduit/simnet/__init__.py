"""Parts that simulated networks are made of: the port, paths, the shared memory of a host."""

from conduit.simnet.host import HostModel
from conduit.simnet.onesided import OneSidedPort, Unit
from conduit.simnet.path import Path
from conduit.simnet.port import SimulatedPort
from conduit.simnet.shm import SharedMemoryPath
from conduit.simnet.simulated import SimulatedConduit

__all__ = ["HostModel", "OneSidedPort", "Path", "SharedMemoryPath", "SimulatedConduit", "SimulatedPort", "Unit"]
