"""Slots for messages in remote memory: what is stored there is announced by flags.

Bytes that no flag announces yet cannot be told from bytes that have not arrived, so what a slot gets
lands in the event of its flags; in weak ordering every part lands in an event of its own.

A rank has two slots and more for each peer, and most lie idle: a slot keeps what belongs to it alone.  What happens in
a send is of the rank that sends (`conduits.sci.driver.writer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from conduit.sim.memory import Buffer, Flat, Memory
from conduits.sci.driver.process import Sisci
from conduits.sci.driver.segment import Segment, SegmentMapping, Then
from conduits.sci.hardware import StorePlan

FLAG = b"\1"
"""A flag that is set."""
_Placed: TypeAlias = Memory | Flat


class RemoteSlot:
    """A place in a remote segment whose contents flags announce, each by a byte of 1.

    It holds a message at a time: the next is not stored before the last has landed.

    Args:
        driver: the process that stores to it.
        mapping: where it is.
        offset: in that segment.
        room: its size in bytes.
        control: where the flags are.
        flags: their offsets there, in the order in which they are stored; their owner looks at the last first.

    Attributes:
        data: what is stored from its start on, or has been; empty where that lands by itself.
        announced: what else the flags announce.
        plan: of the last data that were stored; None where that must be found.
        flag_plan: of the flags; None where they cannot be stored any more.

    Raises:
        SciError: outside a segment.
    """

    __slots__ = (
        "_bytes", "_control", "_flag_bytes", "_flags", "_mapping", "_offset", "_places", "_segment", "_start",
        "announced", "data", "flag_plan", "plan",
    )  # fmt: skip

    def __init__(
        self,
        driver: Sisci,
        mapping: SegmentMapping,
        offset: int,
        room: int,
        control: SegmentMapping,
        flags: tuple[int, ...],
    ) -> None:
        if offset < 0 or offset + room > mapping.nbytes:
            driver.refuse(mapping, offset, room)
        if min(flags) < 0 or max(flags) >= control.nbytes:
            driver.refuse(control, max(flags), 1)
        self._mapping = mapping
        self._offset = offset
        self._control = control
        self._flags = flags
        self.plan: StorePlan | None = None
        self.flag_plan: StorePlan | None = None
        if control.alive:
            self.flag_plan = driver.adapter.plan(control.way, len(flags), len(flags), len(flags))
        memory, flag_memory = mapping.segment.memory, control.segment.memory
        assert isinstance(memory, _Placed)
        assert isinstance(flag_memory, _Placed)
        self._bytes, self._start = memory.place(offset, room)
        first = min(flags)
        self._flag_bytes, start = flag_memory.place(first, max(flags) + 1 - first)
        self._places = flags if start == first else tuple([start - first + flag for flag in flags])
        self._segment = control.segment
        self.data: Buffer = b""
        self.announced: Sequence[tuple[Segment, int, Buffer]] = ()
        for each in (mapping, control):
            each.watchers += (self,)

    @property
    def rank(self) -> int:
        """The rank that stores, for errors of the hardware."""
        return self._control.driver.rank

    def lost(self, mapping: SegmentMapping) -> None:
        """An import has been given up: what it served cannot be stored any more."""
        if mapping is self._mapping:
            self.plan = None
        if mapping is self._control:
            self.flag_plan = None

    def find_plan(self, driver: Sisci) -> StorePlan:
        """Return the plan of a store of `data`.

        Raises:
            SciError: they do not fit, or the segment is not mapped any more.
        """
        self.plan = found = driver.store_plan(self._mapping, self._offset, len(self.data))
        return found

    def refuse_flags(self, driver: Sisci) -> None:
        """Raise SciError: the segment of the flags is not mapped any more."""
        driver.refuse(self._control, self._flags[-1], 1)

    def store_weakly(self, driver: Sisci, issued: Then) -> int:
        """Store `data` in weak ordering, where they land by themselves; as `Sisci.store`."""
        data, self.data = self.data, b""
        return driver.store(self._mapping, self._offset, data, issued)

    def placed(self, arrival: int) -> None:
        """The flags, which links have held up, land at `arrival`."""
        control = self._control
        driver = control.driver
        driver.adapter.kernel.call(arrival, self.land)
        driver.landed(control.way.response, arrival)

    def placed_weakly(self, arrival: int) -> None:
        """The flags could land at `arrival`: each does so in an event of its own."""
        control = self._control
        adapter, segment = control.driver.adapter, control.segment
        for offset in self._flags:
            arrival = adapter.later(arrival, segment)
            adapter.kernel.at(arrival, segment.land, offset, FLAG)
        control.placed(arrival)

    def land(self) -> None:
        """The flags land, and with them what they announce."""
        data = self.data
        if data:
            start = self._start
            self._bytes[start : start + len(data)] = data
        if self.announced:
            for segment, offset, others in self.announced:
                segment.memory.write(offset, others)
            self.announced = ()
        flags = self._flag_bytes
        for place in self._places:
            flags[place] = 1
        on_landing = self._segment.on_landing
        if on_landing is not None:
            on_landing()
