"""Trio's side of the kernel: what its loop tells of the steps that it makes itself.

Hooks must not raise, or Trio would call them no more (I7).
"""

from __future__ import annotations

from collections.abc import Sequence

import trio

from conduit.sim import inspect_tasks
from conduit.sim.kernel import Kernel
from conduit.sim.waiter import OWNER


class TaskHooks(trio.abc.Instrument):
    """Tells a kernel how many tasks Trio has yet to run, and which one runs.

    Attributes:
        kernel: the kernel.
    """

    __slots__ = ("_messengers", "kernel")

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._messengers: Sequence[trio.lowlevel.Task] = ()

    def watch_messengers(self) -> None:
        """Take note of Trio's own tasks: a step of one is news from outside virtual time; called by the main task."""
        self._messengers = inspect_tasks.messengers()

    @trio.lowlevel.enable_ki_protection
    def task_scheduled(self, task: trio.lowlevel.Task) -> None:
        """Count the tasks that Trio has in its queue."""
        self.kernel.runnable += 1
        self.kernel.program_ran = True

    @trio.lowlevel.enable_ki_protection
    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Note which rank runs, and that time has not passed since the last step."""
        kernel = self.kernel
        kernel.runnable -= 1
        kernel.task = task
        owner = kernel.owner = task.context.get(OWNER)
        if owner is None and kernel.events and not kernel.over.done and task in self._messengers:
            kernel.untimed = True
        if kernel.livelock.step(kernel.now, owner, task):
            kernel.give_up(task)

    @trio.lowlevel.enable_ki_protection
    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        """Trio's own loop runs now; what the step changed may be waited for."""
        kernel = self.kernel
        if kernel.owner is not None:
            kernel.recheck.append((kernel.owner, task))
        kernel.task = kernel.owner = None
