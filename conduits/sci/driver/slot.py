"""Slots for messages in remote memory: what is stored there is announced by flags.

Bytes that no flag announces yet cannot be told from bytes that have not arrived, so what a slot gets
lands in the event of its flags; in weak ordering every part lands in an event of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
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

    Raises:
        SciError: outside a segment.
    """

    __slots__ = (
        "_adapter", "_announced", "_bytes", "_control", "_data", "_driver", "_flag", "_flag_bytes", "_flag_plan",
        "_flags", "_issued", "_kernel", "_land", "_mapping", "_offset", "_placed", "_places", "_plan", "_response",
        "_start", "_store", "_stored",
    )  # fmt: skip

    def __init__(
        self,
        driver: Sisci,
        mapping: SegmentMapping,
        offset: int,
        room: int,
        control: SegmentMapping,
        flags: Sequence[int],
    ) -> None:
        if offset < 0 or offset + room > mapping.nbytes:
            driver.refuse(mapping, offset, room)
        if min(flags) < 0 or max(flags) >= control.nbytes:
            driver.refuse(control, max(flags), 1)
        self._driver = driver
        self._adapter = driver.adapter
        self._kernel = driver.adapter.kernel
        self._mapping = mapping
        self._offset = offset
        self._control = control
        self._flags = tuple(flags)
        self._plan: StorePlan | None = None  # of the last data
        self._flag_plan = driver.adapter.plan(control.way, len(flags), len(flags), len(flags))
        self._response = mapping.way.response
        memory, flag_memory = mapping.segment.memory, control.segment.memory
        assert isinstance(memory, _Placed)
        assert isinstance(flag_memory, _Placed)
        self._bytes, self._start = memory.place(offset, room)
        first = min(flags)
        self._flag_bytes, start = flag_memory.place(first, max(flags) + 1 - first)
        self._places = tuple([start - first + flag for flag in flags])
        self._data: Buffer = b""
        self._announced: Sequence[tuple[Segment, int, Buffer]] = ()
        self._issued: Then = _nothing
        # Made once, since every message needs them.
        self._store, self._stored, self._flag = self._store_data, self._data_stored, self._store_flags
        self._placed, self._land = self._flags_placed, self._landing

    @property
    def rank(self) -> int:
        """The rank that stores, for errors of the hardware."""
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
        if self._kernel.queue or not self._post_alone(when):
            self._kernel.soon(when, self._store)

    def _post_alone(self, when: int) -> bool:
        """Do as `post` at once, where nothing else happens until the flags are stored; return whether it is so.

        Of a store that has landed before anything else happens nothing is left but its count.
        """
        driver, adapter, plan, flags = self._driver, self._adapter, self._plan, self._flag_plan
        if (
            plan is None or len(self._data) != plan.nbytes or plan.links is not flags.links
            or driver.pending or driver.announced or not self._mapping.alive or not self._control.alive
        ):  # fmt: skip
            return False
        landed = adapter.landing(plan, when)
        if not landed:
            return False
        response, kernel = self._response, self._kernel
        known = landed + response
        if known < driver.complete:
            known = driver.complete
        if not kernel.advance_event(known):
            return False
        plan.uses += 1
        arrival = adapter.pio_alone(flags)
        kernel.call(arrival, self._land)
        driver.complete = arrival + response
        issued = self._issued
        try:
            issued(known + flags.takes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it is no error of who sends (I5)
            kernel.fail(error, driver.rank)
        return True

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
        plan = self._plan
        if plan is None or len(self._data) != plan.nbytes or not mapping.alive:
            plan = self._find_plan()
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
            self._kernel.soon(driver.complete, self._flag)

    def _find_plan(self) -> StorePlan | None:
        """Return the plan of a store of this size; None where it has been made, in weak ordering."""
        driver, size = self._driver, len(self._data)
        if not driver.weak:
            self._plan = driver.store_plan(self._mapping, self._offset, size)
            return self._plan
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
                self._kernel.at(arrival, control.segment.land, offset, FLAG)
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
            self._announced = ()
        flags = self._flag_bytes
        for place in self._places:
            flags[place] = 1
        on_landing = self._control.segment.on_landing
        if on_landing is not None:
            on_landing()


def _nothing(when: int) -> None:
    """Stand in for what follows the first message."""
