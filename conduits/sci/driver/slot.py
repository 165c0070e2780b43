"""Slots for messages in remote memory: what is stored there is announced by flags.

Bytes that no flag announces yet cannot be told from bytes that have not arrived, so what a slot gets
lands in the event of its flags; in weak ordering every part lands in an event of its own.

A rank has two slots and more for each peer, and most lie idle: a slot keeps what belongs to it alone.  What all slots
at a peer share is there once (`RemoteSlots`).  What happens in a send is of the rank that sends
(`conduits.sci.driver.writer`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from conduit.sim.memory import Buffer, Flat, Memory
from conduits.sci.driver.process import Sisci
from conduits.sci.driver.segment import Segment, SegmentMapping, Then
from conduits.sci.hardware import NO_STORE, StorePlan

FLAG = b"\1"
"""A flag that is set."""
_Placed: TypeAlias = Memory | Flat


class RemoteSlots(StorePlan):
    """What all slots share that a process has in one remote segment; as a plan, that of the flags of any of them.

    Args:
        driver: the process that stores to them.
        mapping: where they are.
        control: where their flags are, within a page of its memory.
        flags: how many each has.

    Attributes:
        driver: as given.
        mapping: as given.
        control: as given.
        segment: of the flags.
        flag_bytes: its bytes.
    """

    __slots__ = ("control", "driver", "flag_bytes", "mapping", "segment")

    def __init__(self, driver: Sisci, mapping: SegmentMapping, control: SegmentMapping, flags: int) -> None:
        self.driver = driver
        self.mapping = mapping
        self.control = control
        self.segment = control.segment
        memory = control.segment.memory
        assert isinstance(memory, _Placed)
        self.flag_bytes, _ = memory.place(0, 1)
        times = driver.adapter.times(control.way, flags, flags, flags)
        super().__init__(control.way, times if control.alive else NO_STORE)
        control.watchers += (self,)

    def lost(self) -> None:
        """The import of the flags has been given up: they cannot be stored any more."""
        self.driver.adapter.plan_anew(self, NO_STORE)


class RemoteSlot(StorePlan):
    """A place in a remote segment whose contents flags announce, each by a byte of 1; as a plan, that of its data.

    It holds a message at a time: the next is not stored before the last has landed.

    Args:
        at: what it shares with other slots.
        offset: in their segment.
        room: its size in bytes.
        flags: their offsets, in the order in which they are stored; their owner looks at the last first.

    Attributes:
        at: as given.
        data: what is stored from its start on, until it has landed; empty where that lands by itself.
        announced: what else the flags announce.

    Raises:
        SciError: outside a segment.
    """

    __slots__ = ("_bytes", "_flags", "_offset", "_start", "announced", "at", "data")

    at: RemoteSlots

    def __init__(self, at: RemoteSlots, offset: int, room: int, flags: tuple[int, ...]) -> None:
        mapping, control = at.mapping, at.control
        if offset < 0 or offset + room > mapping.nbytes:
            at.driver.refuse(mapping, offset, room)
        if min(flags) < 0 or max(flags) >= control.nbytes:
            at.driver.refuse(control, max(flags), 1)
        super().__init__(mapping.way)
        self.at = at
        self._offset = offset
        self._flags = flags
        memory = mapping.segment.memory
        assert isinstance(memory, _Placed)
        self._bytes, self._start = memory.place(offset, room)
        self.data: Buffer = b""
        self.announced: Sequence[tuple[Segment, int, Buffer]] = ()
        mapping.watchers += (self,)

    @property
    def rank(self) -> int:
        """The rank that stores, for errors of the hardware."""
        return self.at.driver.rank

    def lost(self) -> None:
        """The import has been given up: nothing can be stored any more."""
        self.at.driver.adapter.plan_anew(self, NO_STORE)

    def plan_data(self) -> None:
        """Plan the store of `data`, whose size is another than that of those before.

        Raises:
            SciError: they do not fit, or the segment is not mapped any more.
        """
        at = self.at
        at.driver.adapter.plan_anew(self, at.driver.store_times(at.mapping, self._offset, len(self.data)))

    def refuse_flags(self) -> None:
        """Raise SciError: the segment of the flags is not mapped any more."""
        self.at.driver.refuse(self.at.control, self._flags[-1], 1)

    def store_weakly(self, issued: Then) -> int:
        """Store `data` in weak ordering, where they land by themselves; as `Sisci.store`."""
        data, self.data = self.data, b""
        return self.at.driver.store(self.at.mapping, self._offset, data, issued)

    def placed(self, arrival: int) -> None:
        """The flags, which links have held up, land at `arrival`."""
        at = self.at
        driver = at.driver
        driver.adapter.kernel.call(arrival, self.land)
        driver.landed(at.way.shape.response, arrival)

    def placed_weakly(self, arrival: int) -> None:
        """The flags could land at `arrival`: each does so in an event of its own."""
        at = self.at
        adapter, segment = at.driver.adapter, at.segment
        for offset in self._flags:
            arrival = adapter.later(arrival, segment)
            adapter.kernel.at(arrival, segment.land, offset, FLAG)
        at.control.placed(arrival)

    def land(self) -> None:
        """The flags land, and with them what they announce."""
        data = self.data
        if data:
            start = self._start
            self._bytes[start : start + len(data)] = data
            self.data = b""
        if self.announced:
            for segment, offset, others in self.announced:
                segment.memory.write(offset, others)
            self.announced = ()
        at = self.at
        flags = at.flag_bytes
        for place in self._flags:
            flags[place] = 1
        at.segment.on_landing()
