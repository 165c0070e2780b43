"""The fabric: the Arctic network, and the NIU and pinned memory of every host, made when first used."""

from __future__ import annotations

from conduit.sim.kernel import Kernel
from conduits.startx import constants as c
from conduits.startx.hardware.arctic import Arctic
from conduits.startx.hardware.niu import Niu
from conduits.startx.hardware.pinned import PinnedMemory


class ArcticFabric:
    """Hosts on an Arctic fat tree.

    Args:
        kernel: of the job.
        fifo: whether messages of one source, destination and priority stay in order.
        weak: whether arrivals are put off at random, as far as the rules allow.
        piece: bytes after which an RDMA transfer lets others onto a link.
        high_queue: messages in each queue of high priority.
        low_queue: messages in each queue of low priority.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        fifo: bool = True,
        weak: bool = False,
        piece: int = 4096,
        high_queue: int = c.whole(c.HIGH_QUEUE),
        low_queue: int = c.whole(c.LOW_QUEUE),
    ) -> None:
        self.kernel = kernel
        self.network = Arctic(kernel, fifo=fifo)
        self.fifo = fifo
        self.piece = piece - piece % c.whole(c.RDMA_UNIT)
        self.capacity = (low_queue, high_queue)
        self.spread_ps = c.ps(c.SPREAD) if weak else 0 if fifo else c.ps(c.UNORDERED)
        self._nius: dict[int, Niu] = {}
        self._memories: dict[int, PinnedMemory] = {}

    def niu(self, host: int) -> Niu:
        """Return the NIU of `host`."""
        found = self._nius.get(host)
        if found is None:
            found = self._nius[host] = Niu(self, host)
        return found

    def memory(self, host: int) -> PinnedMemory:
        """Return the pinned memory of `host`."""
        found = self._memories.get(host)
        if found is None:
            found = self._memories[host] = PinnedMemory(host)
        return found
