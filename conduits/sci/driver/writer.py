"""How a process stores messages into slots of others: the data, a barrier, the flags.

It does so as callbacks, one event for each store.  Where nothing else is about to happen, all is done at once.
"""

from __future__ import annotations

from conduit.sim.memory import Buffer
from conduits.sci.driver.process import Sisci
from conduits.sci.driver.segment import Then
from conduits.sci.driver.slot import RemoteSlot


class SlotWriter:
    """Stores messages into slots of other ranks; one serves all of a process, which is in one send at a time.

    Args:
        driver: the process.

    Attributes:
        rank: its rank, for errors of the hardware.
    """

    __slots__ = (
        "_adapter", "_driver", "_end", "_flag", "_issued", "_kernel", "_landed", "_placed", "_slot", "_store",
        "_stored", "rank",
    )  # fmt: skip

    _slot: RemoteSlot

    def __init__(self, driver: Sisci) -> None:
        self.rank = driver.rank
        self._driver = driver
        self._adapter = driver.adapter
        self._kernel = driver.adapter.kernel
        self._end = 0
        self._issued: Then = _nothing
        # Made once, since every message needs them.
        self._store, self._stored, self._placed = self._store_data, self._data_stored, self._data_placed
        self._landed, self._flag = self._data_landed, self._store_flags

    def post(self, when: int, slot: RemoteSlot, data: Buffer, issued: Then) -> None:
        """Store `data` from the start of a slot at `when`; when they have landed, its flags.

        Args:
            when: time of the first store, picoseconds.
            slot: where.
            data: at least one byte, at most the room; must not change until it has landed.
            issued: called as `issued(end)` in the event in which the flags are stored: the CPU is free again at `end`.

        Raises:
            SciError: in that event, where a segment is not mapped any more or the data do not fit.
        """
        self._slot = slot
        self._issued = issued
        slot.data = data
        kernel = self._kernel
        if kernel.queue:
            kernel.call(when, self._store)
        elif not self._post_alone(when):
            kernel.soon(when, self._store)

    def announce(self, slot: RemoteSlot, issued: Then) -> None:
        """Store the flags, now, that announce what was stored with `announced=True`; `issued` as for `post`.

        Raises:
            SciError: the segment of the flags is not mapped any more.
        """
        self._slot = slot
        self._issued = issued
        slot.data = b""
        self._store_flags()

    def _post_alone(self, when: int) -> bool:
        """Do as `post` at once, where nothing else happens until the flags are stored; return whether it is so.

        Of a store that has landed before anything else happens nothing is left but its count.
        """
        driver, adapter, slot = self._driver, self._adapter, self._slot
        plan, flags = slot.plan, slot.flag_plan
        if (
            plan is None or flags is None or len(slot.data) != plan.times.nbytes or plan.links is not flags.links
            or driver.pending or driver.announced
        ):  # fmt: skip
            return False
        landed = adapter.landing(plan, when)
        if not landed:
            return False
        response, kernel = plan.times.response, self._kernel
        known = landed + response
        if known < driver.complete:
            known = driver.complete
        if not kernel.advance_event(known):
            return False
        plan.uses += 1
        arrival = adapter.pio_alone(flags)
        kernel.call(arrival, slot.land)
        driver.complete = arrival + response
        try:
            self._issued(known + flags.times.takes)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it is no error of who sends (I5)
            kernel.fail(error, self.rank)
        return True

    def _store_data(self) -> None:
        driver, slot, adapter = self._driver, self._slot, self._adapter
        plan = slot.plan
        if plan is None or len(slot.data) != plan.times.nbytes:
            if driver.weak:
                end = slot.store_weakly(driver, self._stored)
                if end:
                    self._data_stored(end)
                return
            plan = slot.find_plan(driver)
        end = adapter.pio(plan, self._stored, self._placed)
        if end <= 0:
            driver.pending += 1
            if end:
                self._data_stored(-end)
            return
        back = adapter.arrival + plan.times.response
        if back > driver.complete:
            driver.complete = back
        if driver.pending:
            self._data_stored(end)
        else:
            self._kernel.soon(driver.complete, self._flag)

    def _data_placed(self, arrival: int) -> None:
        """The data, which links have held up, land at `arrival`."""
        plan = self._slot.plan
        assert plan is not None
        self._driver.landed(plan.times.response, arrival)

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

    def _store_flags(self) -> None:
        driver, slot, adapter = self._driver, self._slot, self._adapter
        plan = slot.flag_plan
        if plan is None:
            slot.refuse_flags(driver)
            return
        if driver.weak:
            self._store_flags_weakly()
            return
        if driver.announced:
            slot.announced, driver.announced = driver.announced, []
        issued = self._issued
        end = adapter.pio(plan, issued, slot.placed)
        if end <= 0:
            driver.pending += 1
            if end:
                issued(-end)
            return
        back = adapter.arrival
        self._kernel.call(back, slot.land)
        back += plan.times.response
        if back > driver.complete:
            driver.complete = back
        issued(end)

    def _store_flags_weakly(self) -> None:
        driver, slot, plan = self._driver, self._slot, self._slot.flag_plan
        assert plan is not None
        issued = self._issued
        end = self._adapter.pio(plan, issued, slot.placed_weakly)
        driver.pending += 1
        if end > 0:
            slot.placed_weakly(self._adapter.arrival)
        if end:
            issued(abs(end))


def _nothing(when: int) -> None:
    """Stand in for what follows the first message."""
