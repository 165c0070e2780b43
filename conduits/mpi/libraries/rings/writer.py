"""How a rank stores into its region at another: over a network, or in the memory that the two share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from conduit.sim import Kernel, Memory
from conduit.sim.memory import Buffer
from conduit.simnet import HostModel
from conduit.simnet.chain import Done
from conduits.mpi.libraries.memory import HostMemory


class Writer(Protocol):
    """Stores of one rank into one region, seen there in the order in which they were made."""

    def store(self, offset: int, data: Buffer, done: Done) -> None:
        """Store `data`, from now on; an act of `conduit.simnet.chain`."""


class SharedWriter:
    """Stores into memory of the same host.

    Args:
        kernel: the job's time.
        region: the memory.
        memory: what copies on the host pass through.
        host: the costs of a processor.
        seen: called when the other processor can see a store.
    """

    __slots__ = ("_kernel", "_line_ps", "_memory", "_region", "_seen")

    def __init__(
        self, kernel: Kernel, region: Memory, memory: HostMemory, host: HostModel, seen: Callable[[], object]
    ) -> None:
        self._kernel = kernel
        self._region = region
        self._memory = memory
        self._line_ps = host.line_ps
        self._seen = seen

    def store(self, offset: int, data: Buffer, done: Done) -> None:
        """Store `data`: seen by the other processor a cache line's way after they are stored."""

        def stored(when: int) -> None:
            self._kernel.at(when + self._line_ps, self._land, offset, data)
            done(when)

        self._memory.copy(len(data), stored)

    def _land(self, offset: int, data: Buffer) -> None:
        self._region.write(offset, data)
        self._seen()
