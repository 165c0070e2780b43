"""The tables of a host's NIs: which ranges of its memory others reach, and what they may do there.

What a table says counts for accesses that are issued from then on; what is under way still lands.

Source: Sistare and Jackson, sections 2.5 and 2.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

READ, WRITE = 1, 2


class Bytes(Protocol):
    """Memory that can be exported."""

    def write(self, address: int, data: Buffer, /) -> None:
        """Store `data` at `address`."""

    def read(self, address: int, nbytes: int, /) -> bytes:
        """Return `nbytes` from `address`."""


class Entry:
    """A range of a host's memory in the tables of its NIs.

    Attributes:
        host: whose memory it is.
        memory: its bytes.
        nbytes: its size.
        number: its id, -1 while it is in no table.
        rights: what each host may do, READ and WRITE; None: all may do both.
        landing: called as `landing(offset, nbytes)` in the event in which bytes of another host have landed.
        signalled: called when a signal for it has arrived.
    """

    __slots__ = ("host", "landing", "memory", "nbytes", "number", "rights", "signalled")

    def __init__(self, host: int, memory: Bytes, nbytes: int) -> None:
        self.host = host
        self.memory = memory
        self.nbytes = nbytes
        self.number = -1
        self.rights: Mapping[int, int] | None = None
        self.landing: Callable[[int, int], object] | None = None
        self.signalled: Callable[[], object] | None = None

    def lets(self, host: int, right: int) -> bool:
        """Return whether a host may do that."""
        return self.number >= 0 and (self.rights is None or bool(self.rights.get(host, 0) & right))

    def land(self, offset: int, data: Buffer) -> None:
        """Take bytes that arrive, in the event of their arrival."""
        self.memory.write(offset, data)
        if self.landing is not None:
            self.landing(offset, len(data))
