"""How a kernel ends its job: because of an error, because time stands still, or since all tasks have returned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import trio

from conduit.sim.actions import name_of
from conduit.sim.ending import SimulationEnd
from conduit.sim.livelock import LivelockCounter
from conduit.sim.waiter import Ending, Parked, Waiter


class KernelEnd(ABC):
    """The part of a kernel that ends the job, and lets its tasks out of their waits (rule D6)."""

    __slots__ = ()

    # The kernel sets these, and says what they are.
    now: int
    ending: bool
    end: SimulationEnd
    on_stall: Callable[[str, str | trio.lowlevel.Task], BaseException]
    on_interrupt: Callable[[BaseException], object] | None
    on_failure: Callable[[BaseException, int], object] | None
    over: Waiter
    livelock: LivelockCounter
    _heap: list[Any]
    _parked: Parked

    @abstractmethod
    async def wait(self, waiter: Waiter, *, shielded: bool = False) -> None:
        """Wait until `waiter` is woken."""

    @abstractmethod
    def stop(self) -> None:
        """Let every task of the job out of its wait."""

    def fail(self, error: BaseException, rank: int = -1) -> None:
        """End the job because of `error`, which belongs to `rank` (-1: to none)."""
        if isinstance(error, KeyboardInterrupt) and not self.ending and self.on_interrupt is not None:
            self.on_interrupt(error)
        elif not self.ending and self.on_failure is not None:
            self.on_failure(error, rank)
        self.end.note(self.now, rank, error)
        self.stop()

    def give_up(self, what: str | trio.lowlevel.Task) -> None:
        """End the job as a livelock; if it is ending already, drop the events or throw out the task (D6)."""
        if not self.ending:
            self.fail(self.on_stall("livelock", what))
        elif isinstance(what, str):
            self._heap.clear()
        else:
            self.end.throw_out(what)

    def give_up_events(self, last: Callable[[], object]) -> None:
        """Do so because of events that let no time pass, of which `last` is one."""
        name = self._name_of(last)
        self.give_up(f"events of the simulated hardware follow one another at one instant, such as {name}")

    def _name_of(self, event: Callable[[], object]) -> str:
        """Return the name of what an event runs."""
        return name_of(event)

    async def guard(self) -> None:
        """Wait, as the job's main task, until the job ends; then let everybody out."""
        try:
            await self.wait(self.over)
        except Ending:
            pass
        except KeyboardInterrupt as error:
            self.fail(error)
        if self.ending:
            self.end.closing = True
            self._parked.wake()

    def finish(self) -> None:
        """End the guard's wait because every task has returned."""
        self._parked.leave_to_trio()
        self.over.wake()
