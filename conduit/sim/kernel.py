"""Virtual time: a discrete-event kernel that is Trio's clock.

Trio asks its clock how long to sleep exactly when no task can run.  The kernel answers by running
simulated events until one makes a task runnable or the next Trio deadline is reached.  So
nurseries, `trio.sleep`, timeouts and events work unchanged inside programs, in virtual time.

Rules (docs/virtual_time.md, with the reasons):

- Time is an integer number of picoseconds.  Events run in order of (time, sequence).
- An event wakes a `Waiter`, never a task; a cancelled wait detaches its waiter (I6).
- A task that an event wakes, when no other can run, is stepped by the kernel itself (I1-I3).  That
  spares the way through Trio's loop, which costs ten times as much, and must not change any result.
- What an event raises goes to the job, never to a task (I5).
- No event, no deadline, no runnable task, nothing outside: a stall, a fact and not a timeout (D1).
"""

from __future__ import annotations

import itertools
import math
import random
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from heapq import heappop, heappush
from typing import Any

import trio

from conduit import trio_private
from conduit.sim.actions import RunningTimer, error_of, nothing, rank_of
from conduit.sim.closing import KernelEnd
from conduit.sim.ending import SimulationEnd
from conduit.sim.hooks import TaskHooks
from conduit.sim.interrupts import attend
from conduit.sim.livelock import LivelockCounter
from conduit.sim.stalls import plain_stall, wait_or_end
from conduit.sim.units import deadline_ps
from conduit.sim.waiter import OWNER, Ending, Owner, Parked, Waiter
from conduit.sim.waits import KernelWaits
from conduit.trio_private import step
from conduit.words import ANOTHER_RUN, FOREIGN

FOREVER = 1 << 100
FIRST = 1 << 62  # subtracted from its ticket, so that a background event runs before all other events of its time
BUDGET = 1000  # events after which the driver returns to Trio, so that signals and threads are served (I3)


class Kernel(KernelEnd, KernelWaits, TaskHooks, trio.abc.Clock):
    """The event queue and the clock of one job.

    Args:
        seed: every random stream of the job comes from it.
        inline: whether the kernel steps tasks itself.
        tickets: yields a distinct number for each event that is scheduled; of events at one time the lowest number runs
            first.  None: the order of scheduling.
    """

    __slots__ = (
        "_apart", "_background", "_budget", "_heap", "_parked", "_stepped", "_steps", "_tickets", "_timeouts", "_woken",
        "carried", "deadlines", "end", "ending", "inline", "observe", "on_failure", "on_interrupt", "on_stall", "queue",
        "seed", "tells_copies", "timers",
    )  # fmt: skip

    def __init__(self, seed: int = 0, *, inline: bool = True, tickets: Iterator[int] | None = None) -> None:
        self.now = 0
        self.seed = seed
        self.inline = inline
        self.task: trio.lowlevel.Task | None = None
        """The task that runs now, None while Trio's loop itself runs events."""
        self.ending = False
        self.untimed = False
        """Whether the job ever waited for something outside virtual time, or was told something by it."""
        self.events = 0
        self.owner: Owner | None = None
        """The rank that goes into `recheck` after this step of Trio's loop.  None where that is not needed."""
        self.on_stall: Callable[[str, str | trio.lowlevel.Task], BaseException] = plain_stall
        self.on_interrupt: Callable[[BaseException], object] | None = None
        """Told of the Ctrl-C that ends the job, while its tasks are still where they were."""
        self.on_failure: Callable[[BaseException, int], object] | None = None
        """Told of any other error that ends the job, and of its rank, likewise."""
        self.observe: Callable[[object], object] | None = None
        """Is shown each link, route, engine and lock made, where an observer listens; else None.

        What is shown becomes one of the class that its own names in `OBSERVED` (`conduit.sim.observed.listen`).
        """
        self.carried: Callable[[str, int, int, int], object] | None = None
        """Is told what these carry, as `carried(name, begin, end, nbytes)`, picoseconds; None where `observe` is."""
        self.tells_copies = False
        """Whether an observer listens to CPUs, so that hosts say which of their costs are copies."""
        self.end = SimulationEnd()
        """What has ended the job."""
        self.recheck: list[tuple[Owner, trio.lowlevel.Task]] = []
        """Tasks that have run, with their ranks: these have yet to look at their predicates (P3)."""
        self.deadlines: Sequence[object] = ()
        """Empty while no timeout of Trio's and no background event is to come; may be longer than needed."""
        self.timers: dict[RunningTimer, None] = {}
        """Those that run (`conduit.sim.timer`)."""
        self._heap: list[tuple[int, int, Callable[[], object]]] = []
        self.queue: Sequence[object] = self._heap
        """Empty while no event is scheduled."""
        self._timeouts: Sequence[object] = ()
        self._background: list[tuple[int, int, Callable[[], object]]] = []
        self._tickets = itertools.count() if tickets is None else tickets
        self.runnable = 0
        """How many tasks Trio has in its queue (`conduit.sim.hooks`), or 1 while its loop is asked for (`give_way`)."""
        self.messengers: Sequence[trio.lowlevel.Task] = ()
        """Tasks of Trio's own, once a job runs."""
        self.program_ran = False
        """Whether `_run_work` has to look again at what limits it.

        Set by an event that ran program code, after which Trio may have tasks or other timeouts, and by
        `background`.
        """
        self._budget = BUDGET
        self._steps, self._stepped = False, -1
        self._apart = not inline
        """Whether every event comes out of the queue, and time passes in no other way."""
        self._parked = Parked()
        self._woken = self._parked.woken
        self.over = Waiter()
        """What the job's main task waits for: all tasks have returned, or the job ends."""
        self.livelock = LivelockCounter()

    # -- events ------------------------------------------------------------------------------

    def at(self, when: int, action: Callable[..., object], *args: Any) -> None:
        """Run `action(*args)` at `when` picoseconds, after what is already due then."""
        heappush(self._heap, (when, next(self._tickets), partial(action, *args) if args else action))

    def call(self, when: int, action: Callable[[], object]) -> None:
        """As `at`, for an action without arguments, which is cheaper; not of the kernel's past."""
        heappush(self._heap, (when, next(self._tickets), action))

    def soon(self, when: int, action: Callable[[], object]) -> None:
        """As `call`, but at once where nothing else is left to happen before: the last act of who calls it.

        A lone chain of events so takes no turn in the queue.  Some event of every chain must, by `call`, or the chain
        would nest ever deeper.
        """
        if self._heap or self.runnable or self._woken or self.recheck or self.deadlines or self._apart:
            heappush(self._heap, (when, next(self._tickets), action))
        else:
            self.now = when
            try:
                action()
            except BaseException as error:  # it is no error of who schedules it (I5)
                self.fail(error_of(error, action), rank_of(action))

    def amid(self, action: Callable[..., object], *args: Any) -> None:
        """Call `action(*args)`, no last act of its event: what it schedules by `soon` waits in the queue."""
        apart, self._apart = self._apart, True
        try:
            action(*args)
        finally:
            self._apart = apart or self.ending

    def background(self, when: int, action: Callable[..., object], *args: Any) -> None:
        """As `at`, for what keeps no job alive: fault schedules, samplers, limits (D3)."""
        heappush(self._background, (when, next(self._tickets), partial(action, *args) if args else action))
        self.deadlines = self._background
        self.program_ran = True  # work may go on until then and no further

    def random(self, name: str) -> random.Random:
        """Return the random stream of the component `name`, its own so that none disturbs another."""
        return random.Random(f"{self.seed}/{name}")

    def stop(self) -> None:
        """Let every task of the job out of its wait (D6)."""
        self.ending = self._parked.ending = self._apart = True
        self._parked.leave_to_trio()
        self.livelock.hurry()
        self.over.wake()

    def _run(self) -> None:
        """Run events until Trio must go on with a task, a timeout has come, or the budget is spent."""
        while self._run_work() and self._background and self._bring_forward():
            pass

    def _bring_forward(self) -> bool:
        """Move the next background event ahead of all events of its time, if it is due; return whether it was."""
        limit = self._next_deadline()
        when, ticket, action = self._background[0]
        if when > limit or (limit == FOREVER and not self._heap and not self._count_timer()):
            return False
        heappop(self._background)
        if not self._background:
            self.deadlines = self._timeouts
        heappush(self._heap, (when, ticket - FIRST, action))  # it counts as others do
        return True

    def _count_timer(self) -> bool:
        """Schedule an empty event at the earliest timer whose `helps()` is true; return whether there is one (D3)."""
        times = [timer.when for timer in self.timers if timer.when is not None and timer.helps()]
        if times:
            self.call(min(times), nothing)
        return bool(times)

    def _run_work(self) -> bool:
        """Run events; return True if what is due next is a background event or a deadline (`_run` then continues)."""
        heap, woken = self._heap, self._woken
        limit = self._horizon() if self.deadlines else None
        start, left = self.now, 0
        action: Callable[[], object] = nothing
        try:
            for left in range(self._budget - 1, -1, -1):
                try:
                    when, ticket, action = heappop(heap)
                except IndexError:  # no event is left: so rare that this is cheaper than a test before each pop
                    left += 1
                    return True
                if limit is not None and when > limit:
                    heappush(heap, (when, ticket, action))
                    left += 1
                    return True
                self.now = when
                action()
                if woken:
                    if not self._go_on():
                        return False
                elif self.program_ran:
                    self.program_ran = False
                    if self.runnable:
                        return False
                else:
                    continue
                if self.deadlines:
                    limit = self._horizon()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.fail(error_of(error, action), rank_of(action))
        finally:
            self.events += self._budget - left
            self._budget = left
            if not left and self.now == start and self.livelock.events(start, BUDGET, len(self._parked)):
                self.give_up_events(action)
        return False

    def _go_on(self) -> bool:
        """Let tasks go on that have been woken, then ranks look at their predicates; return whether events may follow.

        Several tasks that go on at one instant do so in Trio's order, and after the timeouts that are due.
        """
        woken = self._woken
        while not self.runnable:
            if woken:
                if len(woken) > 1 or (self.deadlines and self._next_deadline() <= self.now):
                    return False
                task = self.task = woken[0]
                if self.now == self._stepped and self.livelock.step(self.now, task.context.get(OWNER), task):
                    self.give_up(task)
                    return False
                self._stepped = self.now
                if step(woken):
                    owner = task.context.get(OWNER)
                    if owner is not None:
                        self.recheck.append((owner, task))
                self.task = None
            elif self.recheck:
                self._look_again()
            else:
                return True
        return False

    def _horizon(self) -> int:
        """Return the last instant with events that come before the next timeout and the next background event."""
        limit = self._next_deadline()
        return min(limit, self._background[0][0] - 1) if self._background else limit

    def _none_due(self, when: int) -> bool:
        """Return whether no timeout and no background event comes until then."""
        return self._next_deadline() > when and not (self._background and self._background[0][0] <= when)

    def _next_deadline(self) -> int:
        deadline = trio_private.next_deadline()
        return FOREVER if deadline == math.inf else deadline_ps(deadline)

    # -- waiting -----------------------------------------------------------------------------

    async def wait(self, waiter: Waiter, *, shielded: bool = False) -> None:
        """Wait until `waiter` is woken.

        Args:
            waiter: one that this task alone waits for.
            shielded: whether a cancellation is put off until the wait is over.

        Raises:
            Ending: the job is over.
        """
        if shielded:
            waiter.shielded = True
        if not waiter.done:
            await self.park(waiter)
        elif self.ending:
            raise Ending

    @trio.lowlevel.enable_ki_protection  # or an event would wake a task that has gone
    @types.coroutine
    def park(self, waiter: Waiter) -> Generator[object, Any, None]:
        """Wait until `waiter`, which is not done yet, is.

        Raises:
            Ending: the job is over.
        """
        self.owner = None  # the call has looked already at what its task has changed
        if self.ending:
            raise Ending
        waiter.task = self.task
        waiter.parked = parked = self._parked
        parked[waiter] = None
        try:
            sent = yield waiter.abort if parked.direct else trio_private.waiting(waiter.abort)
            if sent is not None:
                sent.unwrap()
        except BaseException as error:  # a `finally` beside an `except` would cost where neither is needed
            del parked[waiter]
            if str(error).startswith(FOREIGN):
                waiter.abandon()  # by what runs this task, which `waiter.task`, one of the job's, is not
                if isinstance(error, TypeError):
                    raise RuntimeError(ANOTHER_RUN) from None
            raise
        del parked[waiter]
        if parked.ending:
            raise Ending

    def advance(self, when: int) -> bool:
        """Let time pass to `when` at once, from a task, if nothing else happens before; else False."""
        if self.recheck and not self._apart and not self.runnable:
            self._look_again()
        if (
            (not self._heap or self._heap[0][0] > when)
            and not self._apart
            and not self.runnable
            and not self._woken
            and (not self.deadlines or self._none_due(when))
        ):
            self.now = when
            return True
        return False

    advance_event = advance
    """The same from an event, as its last act."""

    def _look_again(self) -> None:
        """Let the ranks with tasks that have run look at their predicates (P3)."""
        while self.recheck:
            owners, self.recheck = self.recheck, []
            for owner, task in dict.fromkeys(owners):
                owner.recheck(task)

    # -- trio.abc.Clock ----------------------------------------------------------------------

    def start_clock(self) -> None:
        """Begin a run of Trio: time is where it is."""
        self._timeouts = trio_private.deadlines()
        self.deadlines = self._background or self._timeouts
        self._steps = self.inline and trio_private.can_step()

    def current_time(self) -> float:
        """Return kernel time in seconds."""
        return self.now / 1e12

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Run events until Trio must go on with a task or `deadline` has come; 0 then, inf to wait outside."""
        return attend(self._let_time_pass, self.fail, 0.0)

    def _let_time_pass(self) -> float:
        if self.runnable:  # Trio has no task here: it has been asked for a turn (`give_way`)
            self.runnable = 0
            return 0
        self._budget = BUDGET
        self._parked.direct = self._steps and not self.over.done
        try:
            if self._go_on():
                self._run()
        finally:
            self._parked.leave_to_trio()
        if self.runnable or not self._budget:
            return 0
        limit = self._next_deadline()
        if self._heap and self._heap[0][0] <= limit:
            return 0
        if limit < FOREVER and not (self.ending and self.end.outstayed()):
            self.now = max(self.now, limit)
            return 0
        return wait_or_end(self)
