"""The tables of a host's NIs: what the receiving NI finds under the address of a line, memory or an interrupt.

An *entry* is a range of memory that others reach, and what they may do there.  What a table says counts for accesses
that are issued from then on; what is under way still lands.

An *interrupt range* is declared to be no memory.  An interrupt is an ordinary store of a line, so user code may send
one.  The receiving NI writes the sender's identity over the line's first bytes, where it cannot be forged, and hands
the line to the processor that the table names.

Source: Sistare and Jackson, sections 2.5 and 2.6; that the identity is host and processor, 4 bytes each, is ours.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping
from functools import lru_cache
from typing import Protocol

from conduit.sim.memory import Buffer, Store
from conduits.sunfire.hardware.parts import Interface

READ, WRITE = 1, 2
SENDER = struct.Struct("<II")
_ALL, _NONE = range(1 << 32), ()
"""Hosts."""


class HostCpu(Protocol):
    """A processor, by its place.

    Attributes:
        host: where it is.
        index: which CPU of the host.
    """

    host: int
    index: int


@lru_cache
def _hosts(named: tuple[int, ...]) -> frozenset[int]:
    """Return a set of hosts, the same object for all entries that let the same ones do something."""
    return frozenset(named)


class WatchfulMemory(ABC):
    """Memory that looks at what arrives as it is written: a call for each line less than by `TableEntry.landing`."""

    __slots__ = ()

    @abstractmethod
    def write(self, address: int, data: Buffer, /) -> None:
        """Store `data` at `address`, in the event of its arrival."""

    @abstractmethod
    def read(self, address: int, nbytes: int, /) -> bytes:
        """Return `nbytes` from `address`."""


class TableEntry:
    """A range of a host's memory in the tables of its NIs.

    Attributes:
        host: its host.
        memory: its bytes.
        nbytes: its size.
        number: its id, -1 while it is in no table.
        readers, writers: the hosts that may read and write; none while it is in no table.
        land: called as `land(offset, data)` in the event in which bytes of another host arrive: its last act, or
            `Kernel.amid`, but for what later bytes announce.
        landing: called by that as `landing(offset, data)`, but for a `WatchfulMemory`.
        signalled: called when a signal for it has arrived.
    """

    __slots__ = ("host", "land", "landing", "memory", "nbytes", "number", "readers", "signalled", "writers")

    readers: Container[int]
    writers: Container[int]

    def __init__(self, host: int, memory: Store, nbytes: int) -> None:
        self.host = host
        self.memory = memory
        self.nbytes = nbytes
        self.number = -1
        self.readers = self.writers = _NONE
        self.land: Callable[[int, Buffer], object] = memory.write if isinstance(memory, WatchfulMemory) else self._land
        self.landing: Callable[[int, Buffer], object] | None = None
        self.signalled: Callable[[], object] | None = None

    def again(self) -> TableEntry:
        """Return the same memory as something that is in no table yet."""
        made = TableEntry(self.host, self.memory, self.nbytes)
        made.landing, made.signalled = self.landing, self.signalled
        return made

    def strike(self) -> None:
        """Be in no table any more."""
        self.number = -1
        self.readers = self.writers = _NONE

    def grant(self, rights: Mapping[int, int] | None) -> None:
        """Let each host named do READ, WRITE, or both, and the others nothing; None: let all do both."""
        if rights is None:
            self.readers = self.writers = _ALL
        else:
            self.readers = _hosts(tuple(host for host, right in rights.items() if right & READ))
            self.writers = _hosts(tuple(host for host, right in rights.items() if right & WRITE))

    def lets_read(self, host: int) -> bool:
        """Return whether a host may read it."""
        return host in self.readers

    def lets_write(self, host: int) -> bool:
        """Return whether a host may write it."""
        return host in self.writers

    def _land(self, offset: int, data: Buffer) -> None:
        self.memory.write(offset, data)
        landing = self.landing
        if landing is not None:
            landing(offset, data)


class InterruptRange:
    """A range in the tables of a host whose lines go to a processor.

    Args:
        interface: the NI that counts it.
        processor: which CPU of the host the table names.
        taken: called as `taken(line)` in the event of an arrival; returns when the CPU has dealt with it.
    """

    __slots__ = ("_interface", "_taken", "processor")

    def __init__(self, interface: Interface, processor: HostCpu, taken: Callable[[bytes], int]) -> None:
        self._interface = interface
        self._taken = taken
        self.processor = processor

    def land(self, sender: HostCpu, line: bytes) -> int:
        """Take a line that arrives; return when it has been dealt with, picoseconds."""
        self._interface.interrupts += 1
        return self._taken(SENDER.pack(sender.host, sender.index) + line[SENDER.size :])
