"""One rank's rings over SCI, and in the memory of its host."""

from __future__ import annotations

from functools import partial

from conduit.sim.memory import Buffer
from conduit.simnet.chain import Done
from conduits.mpi.engine.device import Matching
from conduits.mpi.libraries.memory import HostMemory
from conduits.mpi.libraries.rings.device import RingCosts, RingDevice
from conduits.mpi.libraries.rings.shared import SharedRegions
from conduits.mpi.libraries.rings.wire import RingLayout
from conduits.mpi.libraries.rings.writer import Writer
from conduits.sci.driver import Segment, SegmentMapping, Sisci


class SciWriter:
    """Stores of a rank into its region at a rank of another host: PIO, whose stores to one segment stay in order.

    Args:
        driver: the rank's.
        mapping: the region.
    """

    __slots__ = ("_driver", "_mapping")

    def __init__(self, driver: Sisci, mapping: SegmentMapping) -> None:
        self._driver = driver
        self._mapping = mapping

    def store(self, offset: int, data: Buffer, done: Done) -> None:
        """Store `data`; posted."""
        end = self._driver.store(self._mapping, offset, data, done)
        if end:
            done(end)


class ScampiDevice(RingDevice):
    """How ScaMPI moves the messages of a rank.

    Args:
        engine: the rank's.
        layout: sizes of the regions.
        costs: what the protocol takes.
        memory: what copies on the rank's host pass through.
        shared: the regions on its host.
        driver: the rank's use of its host's card.
        miss_ps: what a poll takes that finds nothing.
    """

    def __init__(
        self, engine: Matching, layout: RingLayout, costs: RingCosts, memory: HostMemory, shared: SharedRegions,
        driver: Sisci, miss_ps: int,
    ) -> None:  # fmt: skip
        super().__init__(engine, layout, costs, memory)
        self.miss_ps = miss_ps
        self._shared = shared
        self._driver = driver
        shared.join(engine.rank, self)
        first = self._number(engine.rank, 0)
        driver.create_segments(first, engine.size, layout.nbytes, layout.entry, self._made)

    def connect(self, peer: int) -> Writer:
        """Return how this rank stores into its region at `peer`."""
        engine = self.engine
        if engine.hosts[peer] == engine.hosts[engine.rank]:
            return self._shared.writer(engine.rank, peer)
        remote = self._driver.connect(engine.hosts[peer], self._number(peer, engine.rank))
        return SciWriter(self._driver, self._driver.map(remote))

    def _number(self, owner: int, writer: int) -> int:
        """Return the id of the segment at `owner` that `writer` stores to."""
        return owner * self.engine.size + writer

    def _made(self, segment: Segment) -> None:
        """Watch a region here, which a rank of another host has connected to."""
        writer = segment.number - self._number(self.engine.rank, 0)
        segment.on_landing = partial(self.landed, writer, segment.memory)
