"""The card's user-level API, after SISCI: segments, mappings, PIO, barriers, DMA queues, reads.

One `Sisci` per process.  Calls that take time take a function to call with the result, because they
are made in events of the simulation: `issued(when)`, `then(when)`.  `when` is a time in picoseconds
that may lie a little ahead of the event; nothing of other hosts is touched ahead of time.  Where
the time is known at once, the call returns it instead and does not call the function.

What the hardware would refuse raises `SciError`, which names the cause.

Announced bytes.  Bytes that no flag announces yet cannot be told from bytes that have not arrived.
So a store with `announced=True` leaves its bytes to land in the event of the flags that announce
them (`flags`), which must not be stored before a barrier or completion.  That spares an event
each.  In weak ordering every part lands in an event of its own.

Source: the conduit's paper, sections 2.1 and 4.1; names after the SISCI API.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from conduit.errors import NetworkError
from conduit.sim.memory import Buffer, Flat, Memory, Store
from conduits.sci import constants as c
from conduits.sci.hardware import Adapter, Fabric, StorePlan

Then: TypeAlias = Callable[[int], object]

ALIGN = c.whole(c.DMA_ALIGN)
MAP_PS = c.ps(c.MAP)
UNMAP_PS = c.ps(c.UNMAP)
_ONE = b"\1"


class SciError(NetworkError):
    """The card or its driver refuses a call; the text says why."""


class Segment:
    """Contiguous memory of one process that others can reach once it is exported.

    Attributes:
        host: where it is.
        number: its id on that host.
        nbytes: its size.
        memory: its bytes, for the owner.
        on_landing: called in the event in which bytes of another host have landed; stands for the
            owner's next look at its memory.
    """

    __slots__ = ("exported", "host", "memory", "nbytes", "number", "on_landing")

    def __init__(self, host: int, number: int, nbytes: int, memory: Store) -> None:
        self.host = host
        self.number = number
        self.nbytes = nbytes
        self.memory = memory
        self.exported = False
        self.on_landing: Callable[[], object] | None = None

    def export(self) -> None:
        """Let others connect to it."""
        self.exported = True

    def land(self, offset: int, data: Buffer) -> None:
        """Take bytes that arrive, in the event of their arrival."""
        self.memory.write(offset, data)
        if self.on_landing is not None:
            self.on_landing()


class Remote:
    """A connection to another process's segment: enough for DMA, not for stores."""

    __slots__ = ("nbytes", "segment", "way")

    def __init__(self, segment: Segment, driver: Sisci) -> None:
        self.segment = segment
        self.nbytes = segment.nbytes
        self.way = driver.adapter.fabric.route(driver.host, segment.host)


class Mapping:
    """An imported segment: its bytes can be stored to and read."""

    __slots__ = ("alive", "driver", "nbytes", "segment", "way")

    def __init__(self, remote: Remote, driver: Sisci) -> None:
        self.segment = remote.segment
        self.nbytes = remote.nbytes
        self.way = remote.way
        self.alive = True
        self.driver = driver

    def placed(self, arrival: int) -> None:
        """A store lands at `arrival`."""
        self.driver._landed(self.way.response, arrival)


class FlagStore:
    """Flags that a protocol stores again and again; made by `Sisci.flags`.

    One serves all messages of a slot: the next is not stored before the last has landed.

    Args:
        driver: the process that stores them.
        mapping: where to.
        offsets: in the segment, in order.
    """

    __slots__ = (
        "_adapter", "_announced", "_driver", "_kernel", "_mapping", "_memory", "_offsets", "_plan",
        "_response", "_segment",
    )  # fmt: skip

    def __init__(self, driver: Sisci, mapping: Mapping, offsets: tuple[int, ...]) -> None:
        count = len(offsets)
        self._driver = driver
        self._adapter = driver.adapter
        self._kernel = driver.adapter.kernel
        self._mapping = mapping
        self._segment = mapping.segment
        self._memory = mapping.segment.memory
        self._offsets = offsets
        self._plan = driver.adapter.plan(mapping.way, count, count, count)
        self._response = mapping.way.response
        self._announced: list[tuple[Segment, int, Buffer]] = []

    def store(self, issued: Then) -> int:
        """Store the flags, and land what they announce before them.  Returns as `Sisci.store` does.

        Raises:
            SciError: the segment is not mapped any more.
        """
        driver, adapter = self._driver, self._adapter
        if not self._mapping.alive:
            driver._refuse(self._mapping, self._offsets[-1], 1)
        self._announced, driver._announced = driver._announced, []
        end = adapter.pio(self._plan, issued, self._placed)
        if end <= 0 or driver.weak:
            driver.pending += 1
            if end <= 0:
                return -end
            self._placed(adapter.arrival)
            return end
        arrival = adapter.arrival
        self._kernel.call(arrival, self._land)
        arrival += self._response
        if arrival > driver.complete:
            driver.complete = arrival
        return end

    def _placed(self, arrival: int) -> None:
        driver, mapping = self._driver, self._mapping
        if driver.weak:
            for offset in self._offsets:
                arrival = driver.adapter.later(arrival, mapping.segment)
                self._kernel.at(arrival, mapping.segment.land, offset, _ONE)
        else:
            self._kernel.call(arrival, self._land)
        mapping.placed(arrival)

    def _land(self) -> None:
        for segment, offset, data in self._announced:
            segment.memory.write(offset, data)
        segment, memory = self._segment, self._memory
        if type(memory) is Flat:
            view = memory.view
            for offset in self._offsets:
                view[offset] = 1
        else:
            for offset in self._offsets:
                memory.write(offset, _ONE)
        if segment.on_landing is not None:
            segment.on_landing()


class Sisci:
    """One process's use of its host's card.

    Args:
        fabric: the cluster.
        host: where the process runs.
        patched: whether the kernel has the patch for large contiguous memory.
    """

    __slots__ = ("_announced", "_waiting", "adapter", "complete", "fabric", "host", "limit", "pending", "weak")

    def __init__(self, fabric: Fabric, host: int, *, patched: bool = False) -> None:
        self.fabric = fabric
        self.host = host
        self.weak = fabric.weak
        self.adapter: Adapter = fabric.adapter(host)
        self.limit = segment_limit(patched=patched)
        self.pending = 0
        """Stores of which it is not known yet when they land."""
        self.complete = 0
        """When all others have landed and this side knows it, picoseconds."""
        self._waiting: Then | None = None
        self._announced: list[tuple[Segment, int, Buffer]] = []

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
        if (self.host, number) in self.fabric.exports:
            raise SciError(f"host {self.host} has a segment {number} already; take another id")
        made = Segment(self.host, number, nbytes, Memory(nbytes) if memory is None else memory)
        self.fabric.exports[self.host, number] = made
        return made

    def create_segments(
        self, first: int, count: int, nbytes: int, page: int, made: Callable[[Segment], object] | None = None
    ) -> None:
        """Allocate and export `count` segments of `nbytes`, with ids from `first` on.

        The simulation makes each when somebody first asks for it, and its memory by `page` bytes.

        Args:
            first: the first id.
            count: how many.
            nbytes: size of each.
            page: bytes of memory made at once; the size of the records is a good choice.
            made: called with each when it is made, so that its owner can watch it.

        Raises:
            SciError: no contiguous memory of that size.
        """
        if not 0 < nbytes <= self.limit:
            raise SciError(
                f"host {self.host} cannot allocate segments {first} to {first + count - 1}: {nbytes} bytes of "
                f"contiguous memory each, it gives 1 to {self.limit}"
            )
        self.fabric.reserved.setdefault(self.host, []).append((first, count, nbytes, page, made))

    def segment(self, host: int, number: int) -> Segment | None:
        """Return a segment of a host, None if it has none of that id."""
        found: Segment | None = self.fabric.exports.get((host, number))
        if found is None:
            for first, count, nbytes, page, made in self.fabric.reserved.get(host, ()):
                if first <= number < first + count:
                    found = Segment(host, number, nbytes, Memory(nbytes, page))
                    found.exported = True
                    self.fabric.exports[host, number] = found
                    if made is not None:
                        made(found)
        return found

    def connect(self, host: int, number: int) -> Remote:
        """Connect to a segment.

        Raises:
            SciError: there is no such segment, or it is not exported.
        """
        found = self.segment(host, number)
        if found is None:
            raise SciError(f"host {self.host} cannot connect to segment {number} of host {host}: there is none")
        if not found.exported:
            raise SciError(f"host {self.host} cannot connect to segment {number} of host {host}: it is not exported")
        return Remote(found, self)

    def map(self, remote: Remote) -> Mapping:
        """Import a segment, so that it can be stored to; takes `MAP_PS` of the caller's CPU."""
        return Mapping(remote, self)

    def unmap(self, mapping: Mapping) -> None:
        """Give an import up; takes `UNMAP_PS` of the caller's CPU."""
        mapping.alive = False

    # -- PIO -----------------------------------------------------------------------------------

    def store(self, mapping: Mapping, offset: int, data: Buffer, issued: Then, announced: bool = False) -> int:
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
            self._refuse(mapping, offset, size)
        adapter, way, kind = self.adapter, mapping.way, (size, (offset % 64 + size + 63) // 64, 1)
        plan = way.plans.get(kind) or adapter.plan(way, *kind)
        if self.weak or not announced:
            return self._store(plan, issued, partial(self._land, mapping, offset, data))
        self._announced.append((mapping.segment, offset, data))
        end = adapter.pio(plan, issued, mapping.placed)
        if end > 0:
            back = adapter.arrival + way.response
            if back > self.complete:
                self.complete = back
            return end
        self.pending += 1
        return -end

    def flags(self, mapping: Mapping, offsets: Sequence[int]) -> FlagStore:
        """Return a store of a byte of 1 at each of `offsets`, in that order, to be made any number of times.

        The last flag is what the owner of the segment looks at first.

        Raises:
            SciError: outside the segment.
        """
        if min(offsets) < 0 or max(offsets) >= mapping.nbytes:
            self._refuse(mapping, max(offsets), 1)
        return FlagStore(self, mapping, tuple(offsets))

    def _store(self, plan: StorePlan, issued: Then, landed: Then) -> int:
        """Store what lands in an event of its own."""
        end = self.adapter.pio(plan, issued, landed)
        self.pending += 1
        if end <= 0:
            return -end
        landed(self.adapter.arrival)
        return end

    def barrier(self, then: Then) -> int:
        """Wait until all stores of this process have landed.

        Args:
            then: called as `then(when)` with the time when that is known here.

        Returns:
            That time, if it is known at once, and `then` is not called; else 0.
        """
        if not self.pending:
            return self.complete
        if self._waiting is not None:
            raise SciError(f"host {self.host}: a process is in a store barrier already")
        self._waiting = then
        return 0

    def read(self, mapping: Mapping, offset: int, nbytes: int, then: Callable[[bytes, int], object]) -> None:
        """Read remote memory: `then(data, when)` in the event in which the bytes leave the memory.

        Raises:
            SciError: outside the segment, or it is not mapped any more.
        """
        if offset < 0 or nbytes < 1 or offset + nbytes > mapping.nbytes or not mapping.alive:
            self._refuse(mapping, offset, nbytes)
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
        remote: Remote,
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
            self._announced.append((remote.segment, offset, data))
            landed: Then = partial(_completed, then, remote.way.response)
        else:
            landed = partial(self._dma_landed, remote, offset, data, then)
        self.adapter.dma.post(remote.way, size, landed)

    def _dma_landed(self, remote: Remote, offset: int, data: memoryview, then: Then, arrival: int) -> None:
        """Land a DMA's bytes, in weak ordering in parts and in any order."""
        last = arrival
        for start, end in self.adapter.cut(offset, len(data)):
            when = self.adapter.later(arrival, None)
            last = max(last, when)
            self.adapter.kernel.at(when, remote.segment.land, offset + start, data[start:end])
        then(last + remote.way.response)

    # -- landings ------------------------------------------------------------------------------

    def _landed(self, response: int, arrival: int) -> None:
        """A store lands at `arrival`; its response comes back after that."""
        arrival += response
        if arrival > self.complete:
            self.complete = arrival
        self.pending -= 1
        if self._waiting is not None and not self.pending:
            then, self._waiting = self._waiting, None
            then(self.complete)

    def _land(self, mapping: Mapping, offset: int, data: Buffer, arrival: int) -> None:
        """Let bytes land in an event of their own, in weak ordering in two parts."""
        if self.weak:
            adapter, view = self.adapter, memoryview(data)
            for start, end in adapter.cut(offset, len(data)):
                arrival = adapter.later(arrival, mapping.segment)
                adapter.kernel.at(arrival, mapping.segment.land, offset + start, view[start:end])
        else:
            self.adapter.kernel.at(arrival, mapping.segment.land, offset, data)
        mapping.placed(arrival)

    def _refuse(self, mapping: Mapping, offset: int, size: int) -> None:
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
