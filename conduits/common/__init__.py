"""Parts that simulated networks are made of: the port, paths, the shared memory of a host."""

from conduits.common.host import HostModel
from conduits.common.path import Path
from conduits.common.port import SimulatedPort
from conduits.common.shm import SharedMemoryPath
from conduits.common.simulated import SimulatedConduit

__all__ = ["HostModel", "Path", "SharedMemoryPath", "SimulatedConduit", "SimulatedPort"]
