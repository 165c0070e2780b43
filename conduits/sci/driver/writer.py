"""How a process stores messages into slots of others: the data, a barrier, the flags.

It does so as callbacks, one event for each store.  Where nothing else is about to happen, all is done at once.
"""

from __future__ import annotations

from collections.abc import Callable

from conduit.sim import Cpu
from conduit.sim.memory import Buffer
from conduits.sci.driver.process import Sisci
from conduits.sci.driver.segment import Then
from conduits.sci.driver.slot import RemoteSlot
from conduits.sci.hardware import StorePlan


class SlotWriter:
    """Stores messages into slots of other ranks; one serves all of a process, which is in one send at a time.

    Args:
        driver: the process.
        cpu: its CPU, which is taken until the flags are stored.

    Attributes:
        rank: its rank, for errors of the hardware.
    """

    __slots__ = (
        "_adapter", "_cpu", "_driver", "_end", "_flag", "_flagged", "_kernel", "_landed", "_placed", "_slot",
        "_store", "_stored", "_then", "rank",
    )  # fmt: skip

    _slot: RemoteSlot

    def __init__(self, driver: Sisci, cpu: Cpu) -> None:
        self.rank = driver.rank
        self._driver = driver
        self._cpu = cpu
        self._adapter = driver.adapter
        self._kernel = driver.adapter.kernel
        self._end = 0
        self._then: Callable[[], object] = _nothing
        # Made once, since every message needs them.
        self._store, self._stored, self._placed = self._store_data, self._data_stored, self._data_placed
        self._landed, self._flagged = self._data_landed, self._flags_stored
        self._flag: Callable[..., None] = self._store_flags_weakly if driver.weak else self._store_flags

    def post(self, when: int, slot: RemoteSlot, data: Buffer, then: Callable[[], object]) -> None:
        """Store `data` from the start of a slot at `when`; when they have landed, its flags.

        Args:
            when: time of the first store, picoseconds.
            slot: where.
            data: at least one byte, at most the room; must not change until it has landed.
            then: called as `then()` in the event in which the flags are stored; nothing but CPU time is left.

        Raises:
            SciError: in that event, where a segment is not mapped any more or the data do not fit.
        """
        self._slot = slot
        self._then = then
        slot.data = data
        kernel = self._kernel
        if kernel.queue:
            kernel.call(when, self._store)
        elif not self._post_alone(when):
            kernel.soon(when, self._store)

    def announce(self, slot: RemoteSlot, then: Callable[[], object]) -> None:
        """Store the flags, now, that announce what was stored with `announced=True`; `then` as for `post`.

        Raises:
            SciError: the segment of the flags is not mapped any more.
        """
        self._slot = slot
        self._then = then
        slot.data = b""
        self._flag()

    def _post_alone(self, when: int) -> bool:
        """Do as `post` at once, where nothing else happens until the flags are stored; return whether it is so.

        Of a store that has landed before anything else happens nothing is left but its count.
        """
        driver, adapter, slot = self._driver, self._adapter, self._slot
        flags, times = slot.at, slot.times
        if (
            len(slot.data) != times.nbytes or slot.links is not flags.links or driver.pending or driver.announced
        ):  # fmt: skip
            return False
        landed = adapter.landing(slot, when)
        if not landed:
            return False
        response, kernel = times.response, self._kernel
        known = landed + response
        if known < driver.complete:
            known = driver.complete
        if not kernel.advance_event(known):
            return False
        slot.uses += 1
        arrival = adapter.pio_alone(flags)
        kernel.call(arrival, slot.land)
        driver.complete = arrival + response
        try:
            self._flags_stored(known + flags.times.takes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it is no error of who sends (I5)
            kernel.fail(error, self.rank)
        return True

    def _store_data(self, _: int = 0) -> None:
        """Store the data; once more when the bus has been granted."""
        driver, slot, adapter = self._driver, self._slot, self._adapter
        times = slot.times
        if len(slot.data) != times.nbytes:
            if driver.weak:
                stored = slot.store_weakly(self._stored)
                if stored:
                    self._data_stored(stored)
                return
            slot.plan_data()
            times = slot.times
        end = adapter.try_pio(times, slot.way, slot.links)
        if not end:
            end = self._in_the_way(slot, self._stored, self._placed, self._store)
            if not end:
                return
        slot.uses += 1
        back = adapter.arrival + times.response
        if back > driver.complete:
            driver.complete = back
        if driver.pending:
            self._data_stored(end)
        else:
            self._kernel.soon(driver.complete, self._flag)

    def _in_the_way(self, plan: StorePlan, issued: Then, landed: Then, again: Then) -> int:
        """Store what something is in the way of.

        Args:
            plan: what, and where to.
            issued: called as `issued(when)`, now or later: the CPU is done with it at `when`.
            landed: called as `landed(arrival)` once that is known.
            again: called as `again(when)` if nothing has been done, once the bus is granted.

        Returns:
            When the CPU is done, if nothing is in the way after all: as of `Adapter.try_pio`.  Else 0.
        """
        end = self._adapter.pio_in_the_way(plan, issued, landed, again)
        if end is None or end > 0:
            return end or 0
        plan.uses += 1
        self._driver.pending += 1
        if end:
            issued(-end)
        return 0

    def _data_placed(self, arrival: int) -> None:
        """The data, which links have held up, land at `arrival`."""
        self._driver.landed(self._slot.way.shape.response, arrival)

    def _data_stored(self, end: int) -> None:
        """The CPU is done with the data at `end`: wait until they have landed."""
        driver = self._driver
        if driver.pending:
            self._end = end
            driver.barrier(self._landed)
        else:  # as `barrier`, in which a call would cost
            when = driver.complete
            self._kernel.call(when if when > end else end, self._flag)

    def _data_landed(self, when: int) -> None:
        end = self._end
        self._kernel.call(when if when > end else end, self._flag)

    def _store_flags(self, _: int = 0) -> None:
        """Store the flags; once more when the bus has been granted."""
        driver, slot, adapter = self._driver, self._slot, self._adapter
        flags = slot.at
        times = flags.times
        if not times.nbytes:
            slot.refuse_flags()
            return
        if driver.announced:
            slot.announced, driver.announced = driver.announced, []
        end = adapter.try_pio(times, flags.way, flags.links)
        if not end:
            end = self._in_the_way(flags, self._flagged, slot.placed, self._flag)
            if not end:
                return
        flags.uses += 1
        back = adapter.arrival
        self._kernel.call(back, slot.land)
        back += times.response
        if back > driver.complete:
            driver.complete = back
        self._cpu.free = end  # as `_flags_stored`, in which a call would cost
        then = self._then
        then()

    def _store_flags_weakly(self) -> None:
        driver, slot, adapter = self._driver, self._slot, self._adapter
        flags = slot.at
        if not flags.times.nbytes:
            slot.refuse_flags()
            return
        end = adapter.pio(flags, self._flagged, slot.placed_weakly)
        driver.pending += 1
        if end > 0:
            slot.placed_weakly(adapter.arrival)
        if end:
            self._flags_stored(abs(end))

    def _flags_stored(self, end: int) -> None:
        """The flags have been stored: the CPU is free at `end`."""
        self._cpu.free = end
        then = self._then
        then()


def _nothing() -> None:
    """Stand in for what follows the first message."""
