"""RSM's put, get, barrier and signal on the NI: whole lines by stores, ragged ends through the target's kernel.

A remote interrupt is one line, for which the target's kernel signals a process, or merges a write of less than a line:

    bytes 0-7    sender: host and processor, written by the receiving NI
    bytes 8-11   what: SIGNAL or MERGE
    bytes 12-15  bytes to merge
    bytes 16-23  offset in the segment
    bytes 24-27  number of the segment
    bytes 28-63  bytes to merge, 36 at most

Source: Sistare and Jackson, section 2.6; the layout of the line is ours.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Protocol

from conduit.sim.memory import Buffer
from conduits.rsm import Done, Got, ImportWindow, Permission, RsmError
from conduits.rsm.errors import BarrierFailure, ConnectionAborted, RemoteUnreachable
from conduits.sunfire import constants as c
from conduits.sunfire.constants import LANDING_PS
from conduits.sunfire.driver.mapping import MappingProcess, StoreMapping
from conduits.sunfire.hardware import (
    LINE,
    READ,
    WRITE,
    ErrorStatus,
    FireLinkFabric,
    Flight,
    InterruptRange,
    Processor,
    StoreChannel,
    TableEntry,
)
from conduits.sunfire.hardware.tables import SENDER

INTERRUPT_PS = c.ps(c.INTERRUPT)
SIGNAL, MERGE = 1, 2

_WHAT = struct.Struct("<IIQI")
_DATA = SENDER.size + _WHAT.size
ROOM = LINE - _DATA
"""Bytes that one line can merge."""


def pack(what: int, number: int, offset: int = 0, data: bytes = b"") -> bytes:
    """Return the line of an interrupt, the sender still blank."""
    return (bytes(SENDER.size) + _WHAT.pack(what, len(data), offset, number) + data).ljust(LINE, b"\0")


class WindowProcess(MappingProcess, Protocol):
    """The process that imports, as its windows know it.

    Attributes:
        processor: its CPU, as the NIs know it.
    """

    processor: Processor

    def unreachable(self, host: int) -> RemoteUnreachable:
        """Return the error that names the path to a host, and what was down when system software looked."""


class SunfireWindow(ImportWindow):
    """An import of one process.

    Args:
        process: the one that it belongs to.
        entry: the memory.
        channel: the way there.
    """

    __slots__ = ("_channel", "_entry", "_mapping", "_number", "_own", "_process", "nbytes")

    def __init__(self, process: WindowProcess, entry: TableEntry, channel: StoreChannel) -> None:
        self.nbytes = entry.nbytes
        self._process = process
        self._entry = entry
        self._channel = channel
        self._number = entry.number
        self._own: StoreMapping | None = None
        self._mapping: StoreMapping | None = None

    @property
    def _inner(self) -> StoreMapping:
        """What puts and gets go through, whatever user code has mapped; who only maps has none."""
        if self._own is None:
            self._own = StoreMapping(self._process, self._entry, self._channel, READ | WRITE)
        return self._own

    def map(self, permission: Permission) -> StoreMapping:
        """Return a mapping for user code."""
        self._mapping = StoreMapping(self._process, self._entry, self._channel, permission)
        return self._mapping

    def unmap(self) -> None:
        """End the mapping."""
        if self._mapping is not None:
            self._mapping.close()
            self._mapping = None

    def put(self, offset: int, data: Buffer, then: Done) -> None:
        """Store the whole lines; send what is left at the ends to the target's kernel, which merges it."""
        _Put(self, offset, bytes(data), then).go_on(self._process.kernel.now)

    def get(self, offset: int, nbytes: int, then: Got) -> None:
        """Load the lines that hold the bytes."""
        first = offset - offset % LINE
        whole = -(-(offset + nbytes) // LINE) * LINE - first

        def loaded(data: bytes, when: int, status: int) -> None:
            then(data[offset - first : offset - first + nbytes], when, self.error(status))

        self._inner.load(first, whole, loaded)

    def fence(self, then: Done) -> None:
        """Wait for the memory barrier."""

        def fenced(when: int, status: int) -> None:
            then(when, self.error(status))

        when = self._channel.fence(fenced)
        if when:
            self._process.kernel.at(when, then, when, None)

    def signal(self, then: Done) -> None:
        """Interrupt the exporter's host."""
        self.interrupt(pack(SIGNAL, self._number), lambda when: then(when, None))

    def store(self, offset: int, data: bytes, issued: Callable[[int], object]) -> int:
        """Store whole lines, as a mapping does."""
        return self._inner.store(offset, data, issued)

    def merge(self, offset: int, data: bytes, issued: Callable[[int], object]) -> None:
        """Send bytes to the target's kernel, which merges them."""
        self.interrupt(pack(MERGE, self._number, offset, data), issued)

    def interrupt(self, line: bytes, issued: Callable[[int], object]) -> None:
        """Store a line to the target's kernel; `issued(when)` in an event."""
        kernel, channel = self._process.kernel, self._channel
        if not self._entry.lets_write(self._process.host):
            end = channel.refuse(1)
        else:
            end = channel.issue(1)
            if end:
                channel.pending += 1
                kernel.at(end + LANDING_PS, self._deliver, line)
            else:
                end = channel.follow(1, lambda when: kernel.at(when, issued, when), partial(self._flown, line))
        if end:
            kernel.at(end, issued, end)

    def error(self, status: int) -> RsmError | None:
        """Return what RSM says to a status of the hardware."""
        entry = self._entry
        what = f"segment {self._number} of host {entry.host} from host {self._process.host}"
        if not status:
            return None
        if status & ErrorStatus.NO_PATH:
            return self._process.unreachable(entry.host)
        if status & ErrorStatus.REFUSED:
            return ConnectionAborted(f"{what}: its host does not let it in any more")
        return BarrierFailure(f"{what}: not everything since the last barrier has arrived; write it again")

    def _flown(self, line: bytes, flight: Flight) -> None:
        kernel = self._process.kernel
        kernel.at(max(flight.arrival, kernel.now), self._arrive, line, flight)

    def _arrive(self, line: bytes, flight: Flight) -> None:
        if flight.lost():
            self._channel.arrived(flight, 1, 0)
        else:
            self._deliver(line)

    def _deliver(self, line: bytes) -> None:
        process = self._process
        when = process.fabric.interrupts[self._entry.host].land(process.processor, line)
        self._channel.settle(when)


class _Put:
    """A put: the ragged beginning, the whole lines, the ragged end; each when the CPU is done with the one before."""

    __slots__ = ("_at", "_data", "_kernel", "_offset", "_then", "_window")

    def __init__(self, window: SunfireWindow, offset: int, data: bytes, then: Done) -> None:
        self._window = window
        self._kernel = window._process.kernel
        self._offset = offset
        self._data = data
        self._then = then
        self._at = 0

    def go_on(self, when: int) -> None:
        """Store the next part when the CPU is free, at `when`."""
        if when > self._kernel.now:
            self._kernel.at(when, self.go_on, when)
            return
        left = len(self._data) - self._at
        if not left:
            self._then(when, None)
            return
        offset = self._offset + self._at
        whole = left - left % LINE
        if offset % LINE or not whole:
            size = min(left, LINE - offset % LINE, ROOM)
            self._window.merge(offset, self._take(size), self.go_on)
            return
        end = self._window.store(offset, self._take(whole), self._stored)
        if end:
            self.go_on(end)

    def _stored(self, when: int) -> None:
        """The whole lines are on their way; not from within the store itself."""
        self._kernel.at(max(when, self._kernel.now), self.go_on, when)

    def _take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        self._at += size
        return part


class HostKernel:
    """A host's operating system, as far as its NIs interrupt it; CPU 0 takes them, one after the other.

    Args:
        fabric: the cluster.
        host: which.
    """

    OBSERVED: ClassVar[type[HostKernel]]

    def __init__(self, fabric: FireLinkFabric, host: int) -> None:
        self._fabric = fabric
        self._host = host
        self.name = f"interrupts {host}"
        if fabric.kernel.observe is not None:
            fabric.kernel.observe(self)
        self._processor = fabric.processor(host, 0)
        self._free = 0  # when the CPU has dealt with all that have come
        fabric.interrupts[host] = InterruptRange(fabric.inventory.interfaces[host, 0], self._processor, self._take)

    def _take(self, line: bytes) -> int:
        """Interrupt the CPU; return when the line has been dealt with."""
        if self._processor.stolen is not None:
            self._processor.stolen(INTERRUPT_PS)
        kernel = self._fabric.kernel
        self._free = when = max(self._free, kernel.now) + INTERRUPT_PS
        kernel.at(when, self._handle, line)
        return when

    def _handle(self, line: bytes) -> None:
        """Signal the owner of a segment, or merge bytes into it."""
        source, _ = SENDER.unpack_from(line)
        what, size, offset, number = _WHAT.unpack_from(line, SENDER.size)
        entry = self._fabric.entry(self._host, number)
        if entry is None:
            return  # taken out of the tables while the line was under way
        if what == SIGNAL:
            if entry.signalled is not None:
                entry.signalled()
        elif entry.lets_write(source):
            entry.land(offset, line[_DATA : _DATA + size])


class _ObservedKernel(HostKernel):
    """An operating system that tells for how long interrupts take its CPU."""

    def _take(self, line: bytes) -> int:
        kernel = self._fabric.kernel
        begin = max(self._free, kernel.now)
        end = super()._take(line)
        assert kernel.carried is not None
        kernel.carried(self.name, begin, end, len(line))
        return end


HostKernel.OBSERVED = _ObservedKernel
