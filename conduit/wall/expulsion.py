"""Lets tasks out by force that a shield keeps in a job which is ending (rule D6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import perf_counter_ns

import outcome
import trio

from conduit.frames import awaited_frames
from conduit.trio_private import LEAVES_NURSERY, TO_THREAD, is_in, throw

GRACE_NS = 5_000_000_000  # for clean-up under a shield, once the job is ending
STEPS = 20  # of a task after which it makes no more than clean-ups do; a call of a thread takes two


class Expulsion:
    """Who is let out of a job that is ending, and when.

    Args:
        error: makes what is raised in tasks.
        abandoned: gets a line of each that only force has ended.

    Attributes:
        describe: returns a task's name and line.
    """

    def __init__(self, error: Callable[[], BaseException], abandoned: list[str]) -> None:
        self._abandoned = abandoned
        self.describe: Callable[[trio.lowlevel.Task], str] = str
        self._error = error
        self._main: trio.lowlevel.Task | None = None
        self._closed = 0  # when the job began to end
        self._expelled = 0  # when it did, or tasks were last let out of their waits
        self._steps: Counter[trio.lowlevel.Task] = Counter()  # since the job began to end

    def begin(self, main: trio.lowlevel.Task) -> None:
        """Note that from now on the tasks below `main` are on their way out."""
        self._main = main
        self._closed = self._expelled = perf_counter_ns()

    def is_due(self) -> bool:
        """Return whether tasks that still wait have had their time."""
        return perf_counter_ns() - self._expelled > GRACE_NS

    def expel(self) -> None:
        """Let tasks out of bare Trio waits."""
        self._expelled = perf_counter_ns()
        for task in self._waiting_leaves():
            self._tell("a shielded wait", task)
            trio.lowlevel.reschedule(task, outcome.Error(self._error()))

    def step(self, task: trio.lowlevel.Task) -> None:
        """Count a step of `task` that is about to begin; throw it out instead, if it goes on and on.

        So ends a loop of checkpoints, or of calls of threads, each of which ends by itself.
        """
        self._steps[task] += 1
        if self._steps[task] <= STEPS or perf_counter_ns() - self._closed <= GRACE_NS:
            return
        if self._is_below_main(task) and not is_in(awaited_frames(task), LEAVES_NURSERY):
            self._steps[task] = 0
            self._tell("a shielded loop", task)
            throw(task, self._error())

    def _tell(self, what: str, task: trio.lowlevel.Task) -> None:
        line = f"{what} was ended by force: {self.describe(task)}"
        if line not in self._abandoned:
            self._abandoned.append(line)

    def _is_below_main(self, task: trio.lowlevel.Task) -> bool:
        nursery = task.parent_nursery
        while nursery is not None:
            if nursery.parent_task is self._main:
                return True
            nursery = nursery.parent_task.parent_nursery
        return False

    def _waiting_leaves(self) -> list[trio.lowlevel.Task]:
        """Return the tasks that have no children which could end first, and are in no thread's hands."""
        found: list[trio.lowlevel.Task] = []
        pending = [] if self._main is None else _children(self._main)
        while pending:
            task = pending.pop()
            children = _children(task)
            pending += children
            if not children and not is_in(awaited_frames(task), TO_THREAD, LEAVES_NURSERY):
                found.append(task)
        return found


def _children(task: trio.lowlevel.Task) -> list[trio.lowlevel.Task]:
    return [child for nursery in task.child_nurseries for child in nursery.child_tasks]
