"""Trio's side of the kernel: what Trio's loop tells of the steps that it makes itself.

Hooks must not raise, or Trio would call them no more (I7).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import trio

from conduit.sim import inspect_tasks
from conduit.sim.livelock import LivelockCounter
from conduit.sim.waiter import OWNER, Owner, Waiter


class TaskHooks(trio.abc.Instrument):
    """The part of a kernel that counts the tasks which Trio has yet to run, and notes which one runs.

    A kernel is its own instrument, so that a test needs nothing beside it: pytest-trio takes a fixture that is a clock
    and an instrument for both.
    """

    __slots__ = (
        "events", "livelock", "messengers", "now", "over", "owner", "program_ran", "recheck", "runnable", "task",
        "untimed",
    )  # fmt: skip

    # The kernel sets these, and says what they are.
    now: int
    events: int
    runnable: int
    program_ran: bool
    untimed: bool
    task: trio.lowlevel.Task | None
    owner: Owner | None
    over: Waiter
    livelock: LivelockCounter
    recheck: list[tuple[Owner, trio.lowlevel.Task]]
    messengers: Sequence[trio.lowlevel.Task]

    @abstractmethod
    def give_up(self, what: str | trio.lowlevel.Task) -> None:
        """End the job, in which time does not pass any more while a task runs, or something else happens."""

    def give_way(self) -> None:
        """Let Trio's loop have its turn soon, not only once the budget is spent (I3); from any thread.

        Trio then seems to have one task more.  A count that a hook changes meanwhile is wrong by one until the kernel
        corrects it, which costs time and nothing else.
        """
        self.runnable = 1
        self.program_ran = True

    def watch_messengers(self) -> None:
        """Take note of Trio's own tasks: a step of one is news from outside virtual time; called by the main task."""
        self.messengers = inspect_tasks.messengers()

    @trio.lowlevel.enable_ki_protection
    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """Count the tasks that Trio has in its queue."""
        self.runnable += 1
        self.program_ran = True

    @trio.lowlevel.enable_ki_protection
    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note which rank runs, and that time has not passed since the last step."""
        self.runnable -= 1
        self.task = task
        owner = self.owner = task.context.get(OWNER)
        if owner is None and self.events and not self.over.done and task in self.messengers:
            self.untimed = True
        if self.livelock.step(self.now, owner, task):
            self.give_up(task)

    @trio.lowlevel.enable_ki_protection
    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio's own loop runs now; what the step changed may be waited for."""
        if self.owner is not None:
            self.recheck.append((self.owner, task))
        self.task = self.owner = None
