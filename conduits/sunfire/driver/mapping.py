"""User code's way to another host's memory: stores and loads of whole lines through a mapping.

This is a conduit's hot path: calls that are not async, one event for each run of lines.  `ImportSegment.map()`
of RSM returns a `StoreMapping`.

    end = mapping.store(offset, lines, issued)      a run of lines, posted
    when = mapping.fence(then)                      the memory barrier behind all stores to that host

Each is made in an event at which the CPU is free, and takes no software cost of its own.  Where the time is known at
once, the call returns it, perhaps a little ahead of the event, and the function is not called; else it returns 0.

Announced bytes.  Bytes that no flag announces yet cannot be told from bytes that have not arrived.  A store with
`announced=True` leaves its bytes to land in the event of the process's next store without it, which must come
after a fence.  That spares an event each.  In weak ordering, and where parts may fail, it makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Protocol, TypeAlias

from conduit.sim import Kernel
from conduit.sim.memory import Buffer
from conduits.rsm.errors import BadAlignment, BadLength, BadOffset, PermDenied, SegmentNotMapped
from conduits.sunfire.constants import LANDING_PS
from conduits.sunfire.hardware import (
    LINE,
    READ,
    WRITE,
    FireLinkFabric,
    Flight,
    Stopped,
    StoreChannel,
    TableEntry,
)
from conduits.sunfire.hardware.channel import Fenced

Then: TypeAlias = Callable[[int], object]
Loaded: TypeAlias = Callable[[bytes, int, int], object]
Landing: TypeAlias = Callable[[], object]

_INSIDE = LINE - 1
_NOWHERE = range(0)


class MappingProcess(Protocol):
    """The process that stores, as its mappings know it.

    Attributes:
        kernel: the job's time.
        host: where it runs.
        fabric: the cluster.
        apart: whether lines of a run land by themselves: in weak ordering, and where parts may fail.
        announced: landings of stores whose bytes land with the next one.
    """

    kernel: Kernel
    host: int
    fabric: FireLinkFabric
    apart: bool
    announced: list[Landing]


@lru_cache
def _starts(nbytes: int) -> range:
    """Return where lines begin in so much memory; the same object for all mappings of that size."""
    return range(0, nbytes - _INSIDE, LINE)


class StoreMapping:
    """An imported segment that user code stores to.

    There is one for every pair of processes: what it has in common with the others of its process it asks that for.

    Attributes:
        entry: the memory.
        channel: the way there.
        permission: READ and WRITE, as it was imported.
        alive: whether it has not been unmapped.
    """

    __slots__ = ("_lines", "_process", "alive", "channel", "entry", "permission")

    def __init__(self, process: MappingProcess, entry: TableEntry, channel: StoreChannel, permission: int) -> None:
        self._process = process
        # Where a line may be stored; a line and no other run is stored again and again, and has to be quick.
        self._lines = _starts(entry.nbytes) if permission & WRITE else _NOWHERE
        self.entry = entry
        self.channel = channel
        self.permission = permission
        self.alive = True

    @property
    def nbytes(self) -> int:
        """The size of the segment."""
        return self.entry.nbytes

    def store(self, offset: int, data: Buffer, issued: Then, announced: bool = False) -> int:
        """Store a run of lines (posted).

        A line lands as a whole.  Lines land in no order that one may rely on, those of one run or of two; only
        a fence orders them.

        Args:
            offset: in the segment, a multiple of 64.
            data: a multiple of 64 bytes, at least 64; must not change until it has landed.
            issued: called as `issued(when)`: the CPU is free again at `when`; perhaps before this returns.
            announced: see the head of this file.

        Returns:
            When the CPU is free again, if that is known at once, and `issued` is not called; else 0.

        Raises:
            BadAlignment: `offset` or the size is no multiple of 64.
            BadOffset, BadLength: outside the segment, or nothing.
            PermDenied: imported for reading only.
            SegmentNotMapped: it was unmapped.
        """
        process = self._process
        if process.apart or len(data) != LINE:
            return self._store_run(offset, data, issued, announced)
        if offset not in self._lines:
            self._refuse("store", offset, LINE, WRITE)
        entry = self.entry
        if process.host not in entry.writers:
            return self._store_refused(LINE, announced)
        end = self.channel.issue_line()
        if end and not announced and not process.announced:
            process.kernel.call(end + LANDING_PS, partial(entry.land, offset, data))
            return end
        return self._post(end, offset, data, issued, announced)

    def _store_run(self, offset: int, data: Buffer, issued: Then, announced: bool) -> int:
        """As `store`, for runs of any length, in any order and where parts may fail."""
        size = len(data)
        if offset not in self._lines or size & _INSIDE or not 0 < size <= self.nbytes - offset:
            self._refuse("store", offset, size, WRITE)
        if self._process.host not in self.entry.writers:
            return self._store_refused(size, announced)
        end = self.channel.issue(size >> 6)
        if self._process.apart:
            return self._store_apart(end, offset, data, issued)
        return self._post(end, offset, data, issued, announced)

    def _post(self, end: int, offset: int, data: Buffer, issued: Then, announced: bool) -> int:
        """Let a run land, with what it announces, or with what announces it; `end` is of its issue."""
        process = self._process
        land: Landing = partial(self.entry.land, offset, data)
        if announced:
            process.announced.append(land)
            return end or self.channel.follow(len(data) >> 6, issued, self._settle)
        if process.announced:
            land = partial(_land_all, process.announced, land)
            process.announced = []
        if not end:
            return self.channel.follow(len(data) >> 6, issued, partial(self._land_late, land))
        process.kernel.call(end + LANDING_PS, land)
        return end

    def close(self) -> None:
        """Refuse stores and loads from now on."""
        self.alive = False
        self._lines = _NOWHERE

    def fence(self, then: Fenced) -> int:
        """Wait until all that this process has stored to that host is in its memory, or known to be lost.

        Args:
            then: called as `then(when, status)`: it is known here at `when`; `status` is an `ErrorStatus`, 0 if all
                since the last fence is in memory.  What it does not tell is which stores were lost.

        Returns:
            That time, if it is known at once and all is well, and `then` is not called; else 0.
        """
        return self.channel.fence(then)

    def load(self, offset: int, nbytes: int, then: Loaded) -> None:
        """Load lines, one at a time, there and back.

        Args:
            offset: in the segment, a multiple of 64.
            nbytes: a multiple of 64, at least 64.
            then: called as `then(data, when, status)` in an event: the CPU has them all at `when`; where `status`
                is not 0, there are none.

        Raises:
            BadAlignment: `offset` or the size is no multiple of 64.
            BadOffset, BadLength: outside the segment, or nothing.
            PermDenied: imported for writing only.
            SegmentNotMapped: it was unmapped.
        """
        inside = offset >= 0 and 0 < nbytes <= self.nbytes - offset
        if (offset | nbytes) & _INSIDE or not inside or not self.alive or not self.permission & READ:
            self._refuse("load", offset, nbytes, READ)
        self.channel.read(self.entry, offset, nbytes, then)

    # -- landings ------------------------------------------------------------------------------------

    def _store_refused(self, size: int, announced: bool) -> int:
        """Store what the tables there do not let in; what it would have announced lands all the same."""
        process, end = self._process, self.channel.refuse(size >> 6)
        if not announced:
            for land in process.announced:
                process.kernel.call(end + LANDING_PS, land)
            process.announced = []
        return end

    def _settle(self, run: Flight | Stopped) -> None:
        self.channel.settle(run.arrival)

    def _land_late(self, land: Landing, run: Flight | Stopped) -> None:
        """It is known now when a run lands that had to wait."""
        arrival, kernel = run.arrival, self._process.kernel
        kernel.call(arrival if arrival > kernel.now else kernel.now, land)
        self.channel.settle(arrival)

    def _store_apart(self, end: int, offset: int, data: Buffer, issued: Then) -> int:
        """Go on with a store whose lines land one by one, or of which some may be lost; `end` is of its issue."""
        if not end:
            return self.channel.follow(len(data) >> 6, issued, partial(self._land_apart, offset, data))
        self._spread(end + LANDING_PS, offset, data)
        return end

    def _land_apart(self, offset: int, data: Buffer, run: Flight | Stopped) -> None:
        """A run gets there whose lines land one by one, or of which some may be lost."""
        if not self.channel.may_fail:
            last = self._spread(run.arrival, offset, data)
            self.channel.settle(last)
        else:
            kernel = self._process.kernel
            kernel.at(max(run.arrival, kernel.now), self._land_survivors, offset, data, run)

    def _land_survivors(self, offset: int, data: Buffer, flight: Flight) -> None:
        """Land the lines that were not lost; the others come to light later."""
        lost, view, start = flight.lost(), memoryview(data), 0
        now = last = self._process.kernel.now
        for line in [*lost, flight.lines]:
            if line > start:
                part = view[start * LINE : line * LINE]
                last = max(last, self._spread(now, offset + start * LINE, part))
            start = line + 1
        self.channel.arrived(flight, len(lost), last)

    def _spread(self, arrival: int, offset: int, data: Buffer) -> int:
        """Land a run at `arrival`, in weak ordering line by line and later; return when the last one does."""
        fabric, kernel, land = self._process.fabric, self._process.kernel, self.entry.land
        if not fabric.weak:  # one event for all of it, which may be this one
            if arrival > kernel.now:
                kernel.at(arrival, land, offset, data)
            else:
                kernel.amid(land, offset, data)
            return arrival
        last, view = arrival, memoryview(data)
        for start in range(0, len(data), LINE):
            when = fabric.later(arrival)
            last = max(last, when)
            kernel.at(when, land, offset + start, view[start : start + LINE])
        self.channel.landing(last)
        return last

    # -- refusals ------------------------------------------------------------------------------------

    def _refuse(self, call: str, offset: int, size: int, right: int) -> None:
        entry = self.entry
        what = f"{call} of {size} bytes at offset {offset} of segment {entry.number} of host {entry.host}"
        if not self.alive:
            raise SegmentNotMapped(f"{what}: it was unmapped")
        if not self.permission & right:
            raise PermDenied(f"{what}: it was imported for {'reading' if right == WRITE else 'writing'} only")
        if not size or size > self.nbytes:
            raise BadLength(f"{what}, which has {self.nbytes}")
        if offset < 0 or offset + size > self.nbytes:
            raise BadOffset(f"{what}: outside its {self.nbytes} bytes")
        raise BadAlignment(f"{what}: both must be multiples of {LINE}, the line that the hardware moves")


def _land_all(announced: list[Landing], land: Landing) -> None:
    """Land a run, and before it what it announces."""
    for each in announced:
        each()
    land()
