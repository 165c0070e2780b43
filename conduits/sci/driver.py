"""The card's user-level API, after SISCI: segments, mappings, PIO, barriers, DMA queues, reads.

One `Sisci` per process.  Calls that take time take a function to call with the result, because they
are made in events of the simulation: `issued(when)`, `then(when)`.  `when` is a time in picoseconds
that may lie a little ahead of the event; nothing of other hosts is touched ahead of time.  Where
the time is known at once, the call returns it instead and does not call the function.

What the hardware would refuse raises `SciError`, which names the cause.

Announced bytes.  Bytes that no flag announces yet cannot be told from bytes that have not arrived.
So a store with `announced=True` leaves its bytes to land in the event of the flags that announce
them (`RemoteSlot.announce`), which must not be stored before a barrier or completion.  That spares an event
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
from conduits.sci.hardware import Adapter, Fabric, StorePlan, packets

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


class RemoteSlot:
    """A place in a remote segment whose contents flags announce; made by `Sisci.slot`.

    It holds a message at a time: the next is not stored before the last has landed.

    Args:
        driver: the process that stores to it.
        mapping: where it is.
        offset: in that segment.
        room: its size in bytes.
        control: where the flags are.
        flags: their offsets there, in the order in which they are stored.
    """

    __slots__ = (
        "_adapter", "_announced", "_bytes", "_control", "_data", "_driver", "_flag", "_flag_bytes", "_flag_plan",
        "_flags", "_issued", "_kernel", "_land", "_mapping", "_offset", "_placed", "_places", "_plans", "_response",
        "_start", "_store", "_stored",
    )  # fmt: skip

    def __init__(
        self, driver: Sisci, mapping: Mapping, offset: int, room: int, control: Mapping, flags: tuple[int, ...]
    ) -> None:
        self._driver = driver
        self._adapter = driver.adapter
        self._kernel = driver.adapter.kernel
        self._mapping = mapping
        self._offset = offset
        self._control = control
        self._flags = flags
        self._plans: dict[int, StorePlan] = {}
        self._flag_plan = driver.adapter.plan(control.way, len(flags), len(flags), len(flags))
        self._response = mapping.way.response
        memory, flag_memory = mapping.segment.memory, control.segment.memory
        assert isinstance(memory, Memory | Flat)
        assert isinstance(flag_memory, Memory | Flat)
        self._bytes, self._start = memory.place(offset, room)
        first = min(flags)
        self._flag_bytes, start = flag_memory.place(first, max(flags) + 1 - first)
        self._places = tuple(start + flag - first for flag in flags)
        self._data: Buffer = b""
        self._announced: list[tuple[Segment, int, Buffer]] = []
        self._issued: Then = _nothing
        # Made once, since every message needs them.
        self._store, self._stored, self._flag = self._store_data, self._data_stored, self._store_flags
        self._placed, self._land = self._flags_placed, self._landing

    @property
    def rank(self) -> int:
        """Whose stores they are, for errors of the hardware."""
        return self._driver.rank

    def post(self, when: int, data: Buffer, issued: Then) -> None:
        """Store `data` from the start of the place at `when`; when they have landed, the flags.

        Args:
            when: time of the first store, picoseconds.
            data: at least one byte, at most the room; must not change until it has landed.
            issued: called as `issued(end)` in the event in which the flags are stored: the CPU is free again at `end`.

        Raises:
            SciError: in that event, where a segment is not mapped any more or the data do not fit.
        """
        self._data = data
        self._issued = issued
        self._kernel.call(when, self._store)

    def announce(self, issued: Then) -> None:
        """Store the flags, now, that announce what was stored with `announced=True`; `issued` as for `post`.

        Raises:
            SciError: the segment of the flags is not mapped any more.
        """
        self._data = b""
        self._issued = issued
        self._store_flags()

    def _store_data(self) -> None:
        driver, adapter, mapping = self._driver, self._adapter, self._mapping
        plan = self._plans.get(len(self._data))
        if plan is None or not mapping.alive:
            plan = self._plan()
            if plan is None:
                return
        end = adapter.pio(plan, self._stored, mapping.placed)
        if end <= 0:
            driver.pending += 1
            if end:
                self._data_stored(-end)
            return
        back = adapter.arrival + self._response
        if back > driver.complete:
            driver.complete = back
        if driver.pending:
            self._data_stored(end)
        else:
            self._kernel.call(driver.complete, self._flag)

    def _plan(self) -> StorePlan | None:
        """Return the plan of a store of this size; None where it has been made, in weak ordering."""
        driver, size = self._driver, len(self._data)
        if not driver.weak:
            plan = self._plans[size] = driver.store_plan(self._mapping, self._offset, size)
            return plan
        data, self._data = self._data, b""
        end = driver.store(self._mapping, self._offset, data, self._stored)
        if end:
            self._data_stored(end)
        return None

    def _data_stored(self, end: int) -> None:
        """The CPU is done with the data at `end`: wait until they have landed."""
        when = self._driver.barrier(partial(self._data_landed, end))
        if when:
            self._data_landed(end, when)

    def _data_landed(self, end: int, when: int) -> None:
        self._kernel.call(max(when, end), self._flag)

    def _store_flags(self) -> None:
        driver, adapter = self._driver, self._adapter
        if not self._control.alive:
            driver.refuse(self._control, self._flags[-1], 1)
        if driver.announced:
            self._announced, driver.announced = driver.announced, []
        issued = self._issued
        end = adapter.pio(self._flag_plan, issued, self._placed)
        if end <= 0 or driver.weak:
            driver.pending += 1
            if end > 0:
                self._flags_placed(adapter.arrival)
            if end:
                issued(abs(end))
            return
        back = adapter.arrival
        self._kernel.call(back, self._land)
        back += self._response
        if back > driver.complete:
            driver.complete = back
        issued(end)

    def _flags_placed(self, arrival: int) -> None:
        driver, control = self._driver, self._control
        if driver.weak:
            for offset in self._flags:
                arrival = driver.adapter.later(arrival, control.segment)
                self._kernel.at(arrival, control.segment.land, offset, _ONE)
        else:
            self._kernel.call(arrival, self._land)
        control.placed(arrival)

    def _landing(self) -> None:
        data, start = self._data, self._start
        if data:
            self._bytes[start : start + len(data)] = data
        if self._announced:
            for segment, offset, others in self._announced:
                segment.memory.write(offset, others)
            self._announced = []
        flags = self._flag_bytes
        for place in self._places:
            flags[place] = 1
        on_landing = self._control.segment.on_landing
        if on_landing is not None:
            on_landing()


class Sisci:
    """One process's use of its host's card.

    Args:
        fabric: the cluster.
        host: where the process runs.
        rank: its number in the job, for reports.
        patched: whether the kernel has the patch for large contiguous memory.
    """

    __slots__ = ("_waiting", "adapter", "announced", "complete", "fabric", "host", "limit", "pending", "rank", "weak")

    def __init__(self, fabric: Fabric, host: int, rank: int = -1, *, patched: bool = False) -> None:
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
        self._waiting: Then | None = None
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
        plan = self.store_plan(mapping, offset, len(data))
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

    def store_plan(self, mapping: Mapping, offset: int, size: int) -> StorePlan:
        """Return what a store of `size` bytes takes.

        Raises:
            SciError: outside the segment, or it is not mapped any more.
        """
        if offset < 0 or not size or offset + size > mapping.nbytes or not mapping.alive:
            self.refuse(mapping, offset, size)
        return self.adapter.plan(mapping.way, size, packets(offset, size), 1)

    def slot(self, mapping: Mapping, offset: int, room: int, control: Mapping, flags: Sequence[int]) -> RemoteSlot:
        """Return a place for messages, `room` bytes at `offset`, announced by a byte of 1 at each of `flags`.

        The last flag is what the owner of the segment `control` looks at first.

        Raises:
            SciError: outside a segment.
        """
        if offset < 0 or offset + room > mapping.nbytes:
            self.refuse(mapping, offset, room)
        if min(flags) < 0 or max(flags) >= control.nbytes:
            self.refuse(control, max(flags), 1)
        return RemoteSlot(self, mapping, offset, room, control, tuple(flags))

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
            self.announced.append((remote.segment, offset, data))
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

    def refuse(self, mapping: Mapping, offset: int, size: int) -> None:
        """Raise SciError for bytes that cannot be reached."""
        segment = mapping.segment
        what = f"host {self.host}: {size} bytes at offset {offset} of segment {segment.number} of host {segment.host}"
        if not mapping.alive:
            raise SciError(f"{what}: the segment is not mapped any more")
        raise SciError(f"{what}: outside its {mapping.nbytes} bytes, or none")


def _nothing(when: int) -> None:
    """Stand in for what follows the first message."""


def segment_limit(*, patched: bool) -> int:
    """Return the largest contiguous memory in bytes that a host gives."""
    return c.whole(c.MEMORY if patched else c.SEGMENT_MAX)


def _completed(then: Then, response: int, arrival: int) -> None:
    then(arrival + response)
