"""The card's user-level API, after SISCI: segments, mappings, PIO, barriers, DMA queues, reads.

One `Sisci` per process.  Calls that take time take a function to call with the result, because they
are made in events of the simulation: `issued(when)`, `then(when)`.  `when` is a time in picoseconds
that may lie a little ahead of the event; nothing of other hosts is touched ahead of time.  Where
the time is known at once, the call returns it instead and does not call the function.

What the hardware would refuse raises `SciError`, which names the cause.

Announced bytes.  A receiver reads a slot only when its flag is set: until then it cannot tell whether the
bytes have arrived.  So a store with `announced=True` needs no event of its own: its bytes land in the event
of the flags (`SlotWriter.announce`), which must not be stored before a barrier or completion.  In weak
ordering every part lands in an event of its own.

Source: the conduit's paper, sections 2.1 and 4.1; names after the SISCI API.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from conduit.sim.memory import Buffer, Memory, Store
from conduits.sci import constants as c
from conduits.sci.driver.segment import RemoteSegment, SciError, Segment, SegmentMapping, Then
from conduits.sci.hardware import Adapter, SciFabric, StoreTimes, packets

ALIGN = c.whole(c.DMA_ALIGN)
MAP_PS = c.ps(c.MAP)
UNMAP_PS = c.ps(c.UNMAP)


class Sisci:
    """One process's use of its host's card.

    Args:
        fabric: the cluster.
        host: where the process runs.
        rank: its number in the job, for reports.
        patched: whether the kernel has the patch for large contiguous memory.
    """

    __slots__ = ("_waiting", "adapter", "announced", "complete", "fabric", "host", "limit", "pending", "rank", "weak")

    def __init__(self, fabric: SciFabric, host: int, rank: int = -1, *, patched: bool = False) -> None:
        self.fabric = fabric
        self.rank = rank
        self.host = host
        self.weak = fabric.weak
        self.adapter: Adapter = fabric.adapter(host)
        self.limit = segment_limit(patched=patched)
        self.pending = 0
        """Stores of which it is not known yet when they land."""
        self.complete = 0
        """When all others have landed and this side knows it, picoseconds."""
        self._waiting: list[Then] = []
        self.announced: list[tuple[Segment, int, Buffer]] = []
        """What was stored to be announced by flags, beside the contents of their slots."""

    # -- segments ----------------------------------------------------------------------------

    def create_segment(self, number: int, nbytes: int, memory: Store | None = None) -> Segment:
        """Allocate a segment of contiguous memory.

        Args:
            number: an id that is new on this host.
            nbytes: size.
            memory: what it is made of; by default zeros, made when first written to.

        Raises:
            SciError: no contiguous memory of that size, or the id is taken.
        """
        if not 0 < nbytes <= self.limit:
            raise SciError(
                f"host {self.host} cannot allocate segment {number}: {nbytes} bytes of contiguous memory, "
                f"it gives 1 to {self.limit}"
            )
        if number in self.fabric.exports[self.host]:
            raise SciError(f"host {self.host} has a segment {number} already; take another id")
        made = Segment(self.host, number, nbytes, Memory(nbytes) if memory is None else memory)
        self.fabric.exports[self.host][number] = made
        return made

    def create_segments(
        self,
        first: int,
        count: int,
        nbytes: int,
        page: int,
        made: Callable[[Segment], object] | None = None,
        memory: type[Memory] = Memory,
    ) -> None:
        """Allocate and export `count` segments of `nbytes`, with ids from `first` on.

        The simulation makes each when somebody first asks for it, and its memory by `page` bytes.

        Args:
            first: the first id.
            count: how many.
            nbytes: size of each.
            page: bytes of memory made at once; the size of the records is a good choice.
            made: called with each when it is made, so that its owner can watch it.
            memory: what each is made of.

        Raises:
            SciError: no contiguous memory of that size.
        """
        if not 0 < nbytes <= self.limit:
            raise SciError(
                f"host {self.host} cannot allocate segments {first} to {first + count - 1}: {nbytes} bytes of "
                f"contiguous memory each, it gives 1 to {self.limit}"
            )
        self.fabric.reserved.setdefault(self.host, []).append(
            (first, count, nbytes, partial(memory, nbytes, page), made)
        )

    def segment(self, host: int, number: int) -> Segment | None:
        """Return a segment of a host, None if it has none of that id."""
        found: Segment | None = self.fabric.exports[host].get(number)
        if found is None:
            for first, count, nbytes, memory, made in self.fabric.reserved.get(host, ()):
                if first <= number < first + count:
                    found = Segment(host, number, nbytes, memory())
                    found.exported = True
                    self.fabric.exports[host][number] = found
                    if made is not None:
                        made(found)
        return found

    def connect(self, host: int, number: int) -> RemoteSegment:
        """Connect to a segment.

        Raises:
            SciError: there is no such segment, or it is not exported.
        """
        found = self.segment(host, number)
        if found is None:
            raise SciError(f"host {self.host} cannot connect to segment {number} of host {host}: there is none")
        if not found.exported:
            raise SciError(f"host {self.host} cannot connect to segment {number} of host {host}: it is not exported")
        return RemoteSegment(found, self)

    def map(self, remote: RemoteSegment) -> SegmentMapping:
        """Import a segment, so that it can be stored to; takes `MAP_PS` of the caller's CPU."""
        return SegmentMapping(remote, self)

    def unmap(self, mapping: SegmentMapping) -> None:
        """Give an import up; takes `UNMAP_PS` of the caller's CPU."""
        mapping.give_up()

    # -- PIO -----------------------------------------------------------------------------------

    def store(self, mapping: SegmentMapping, offset: int, data: Buffer, issued: Then, announced: bool = False) -> int:
        """Store `data` to remote memory (posted).

        Args:
            mapping: where to.
            offset: in the segment.
            data: at least one byte; must not change until it has landed.
            issued: called as `issued(when)`: the CPU is free again at `when`.
            announced: flags that follow will announce the bytes (see the head of this file).

        Returns:
            When the CPU is free again, if that is known at once, and `issued` is not called; else 0.

        Raises:
            SciError: outside the segment, or it is not mapped any more.
        """
        size = len(data)
        if offset < 0 or not size or offset + size > mapping.nbytes or not mapping.alive:
            self.refuse(mapping, offset, size)
        plan = self.adapter.plan(mapping.way, size, packets(offset, size), 1)
        landed: Then = mapping.placed
        if announced and not self.weak:
            self.announced.append((mapping.segment, offset, data))
        else:
            landed = partial(self._land, mapping, offset, data)
        end = self.adapter.pio(plan, issued, landed)
        self.pending += 1
        if end <= 0:
            return -end
        landed(self.adapter.arrival)
        return end

    def store_times(self, mapping: SegmentMapping, offset: int, size: int) -> StoreTimes:
        """Return what a store of `size` bytes takes.

        Raises:
            SciError: outside the segment, or it is not mapped any more.
        """
        if offset < 0 or not size or offset + size > mapping.nbytes or not mapping.alive:
            self.refuse(mapping, offset, size)
        return self.adapter.times(mapping.way, size, packets(offset, size), 1)

    def barrier(self, then: Then) -> int:
        """Wait until all stores of this process have landed; several may wait at once.

        Args:
            then: called as `then(when)` with the time when that is known here.

        Returns:
            That time, if it is known at once, and `then` is not called; else 0.
        """
        if not self.pending:
            return self.complete
        self._waiting.append(then)
        return 0

    def read(self, mapping: SegmentMapping, offset: int, nbytes: int, then: Callable[[bytes, int], object]) -> None:
        """Read remote memory: `then(data, when)` in the event in which the bytes leave the memory.

        Raises:
            SciError: outside the segment, or it is not mapped any more.
        """
        if offset < 0 or nbytes < 1 or offset + nbytes > mapping.nbytes or not mapping.alive:
            self.refuse(mapping, offset, nbytes)
        segment, response = mapping.segment, mapping.way.response

        def known(when: int) -> None:
            self.adapter.kernel.at(when - response, sample, when)

        def sample(when: int) -> None:
            then(segment.memory.read(offset, nbytes), when)

        self.adapter.read(mapping.way, nbytes, known)

    # -- DMA -----------------------------------------------------------------------------------

    def dma(
        self,
        data: memoryview,
        address: int,
        remote: RemoteSegment,
        offset: int,
        then: Then,
        *,
        announced: bool = False,
    ) -> None:
        """Post a descriptor to the card's DMA queue.

        Args:
            data: the bytes; must not change until they have landed.
            address: where they lie in this process's memory; only its alignment counts.
            remote: the segment to write to; a connection is enough.
            offset: in that segment.
            then: called as `then(when)` with the time when the completion is known here.
            announced: flags that follow will announce the bytes.

        Raises:
            SciError: an address or the size is no multiple of 8, or it leaves the segment.
        """
        size = len(data)
        if address % ALIGN or offset % ALIGN or size % ALIGN or not size:
            raise SciError(
                f"host {self.host}: DMA of {size} bytes from address {address} to offset {offset} refused; "
                f"all three must be multiples of {ALIGN} and the size not 0"
            )
        if offset < 0 or offset + size > remote.nbytes:
            raise SciError(
                f"host {self.host}: DMA of {size} bytes to offset {offset} leaves segment {remote.segment.number} "
                f"of host {remote.segment.host}, which has {remote.nbytes} bytes"
            )
        if announced and not self.weak:
            self.announced.append((remote.segment, offset, data))
            landed: Then = partial(_completed, then, remote.way.response)
        else:
            landed = partial(self._dma_landed, remote, offset, data, then)
        self.adapter.dma.post(remote.way, size, landed)

    def _dma_landed(self, remote: RemoteSegment, offset: int, data: memoryview, then: Then, arrival: int) -> None:
        """Land a DMA's bytes, in weak ordering in parts and in any order."""
        last = arrival
        for start, end in self.adapter.cut(offset, len(data)):
            when = self.adapter.later(arrival, None)
            last = max(last, when)
            self.adapter.kernel.at(when, remote.segment.land, offset + start, data[start:end])
        then(last + remote.way.response)

    # -- landings ------------------------------------------------------------------------------

    def landed(self, response: int, arrival: int) -> None:
        """A store lands at `arrival`; its response comes back after that."""
        arrival += response
        if arrival > self.complete:
            self.complete = arrival
        self.pending -= 1
        if self._waiting and not self.pending:
            waiting, self._waiting = self._waiting, []
            complete = self.complete
            for then in waiting:
                then(complete)

    def _land(self, mapping: SegmentMapping, offset: int, data: Buffer, arrival: int) -> None:
        """Let bytes land in an event of their own, in weak ordering in two parts."""
        if self.weak:
            adapter, view = self.adapter, memoryview(data)
            for start, end in adapter.cut(offset, len(data)):
                arrival = adapter.later(arrival, mapping.segment)
                adapter.kernel.at(arrival, mapping.segment.land, offset + start, view[start:end])
        else:
            self.adapter.kernel.at(arrival, mapping.segment.land, offset, data)
        mapping.placed(arrival)

    def refuse(self, mapping: SegmentMapping, offset: int, size: int) -> None:
        """Raise SciError for bytes that cannot be reached."""
        segment = mapping.segment
        what = f"host {self.host}: {size} bytes at offset {offset} of segment {segment.number} of host {segment.host}"
        if not mapping.alive:
            raise SciError(f"{what}: the segment is not mapped any more")
        raise SciError(f"{what}: outside its {mapping.nbytes} bytes, or none")


def segment_limit(*, patched: bool) -> int:
    """Return the largest contiguous memory in bytes that a host gives."""
    return c.whole(c.MEMORY if patched else c.SEGMENT_MAX)


def _completed(then: Then, response: int, arrival: int) -> None:
    then(arrival + response)
