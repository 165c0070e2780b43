"""The few things that Trio keeps to itself, all in one place.

Each has a public fallback or a test that fails when Trio changes it (tests/core/test_trio_private.py).
"""

from __future__ import annotations

import ctypes
import math
import os
import random
import threading
import types
from collections.abc import Callable, Iterable, MutableSequence, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import outcome
import trio
import trio._core._run as _run
from trio._core import _traps


class _JobOrder(random.Random):
    """Trio's generator, process-wide; in a thread that runs a job its draws come from that job.

    Where several tasks become runnable at one instant Trio permutes them.  The permutation is a
    function of the job's seed and of virtual time alone: how often Trio draws depends on how often
    tasks were switched, which inline driving changes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._jobs = threading.local()

    def enter(self, source: Callable[[], int]) -> Callable[[], int] | None:
        previous: Callable[[], int] | None = getattr(self._jobs, "source", None)
        self._jobs.source = source
        return previous

    def leave(self, previous: Callable[[], int] | None) -> None:
        self._jobs.source = previous

    def shuffle(self, x: MutableSequence[Any]) -> None:
        source = getattr(self._jobs, "source", None)
        if source is None:
            super().shuffle(x)
        elif len(x) > 1:
            random.Random(source()).shuffle(x)


PACKAGE = "trio._core"
"""Whose modules run the loop."""
TO_THREAD = "to_thread_run_sync"
"""The function in which a task waits for a thread, by the name of its code."""
FROM_THREAD = ("from_thread_run", "from_thread_run_sync")
"""Those in which a thread asks the loop."""
LEAVES_NURSERY = "_nested_child_finished"
"""The function in which a task is at the end of a nursery's block; Trio's book-keeping there must not be disturbed."""
_FOLDER = os.path.dirname(trio.__file__) + os.sep
_METHOD = types.MethodType
_order: _JobOrder | None = None
_order_lock = threading.Lock()


def job_order() -> _JobOrder:
    """Put Trio into its seeded order, once for the process, and return the object it draws from."""
    global _order
    with _order_lock:
        if _order is None:
            _order = _JobOrder()
            _run._r = _order
            _run._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]
        return _order


def deadlines() -> Sequence[object]:
    """Return what is empty while Trio has no deadline registered; it may be longer than needed."""
    try:
        return _run.GLOBAL_RUN_CONTEXT.runner.deadlines._heap
    except AttributeError:
        return (None,)


def next_deadline() -> float:
    """Return the earliest deadline that Trio has registered, inf if there is none."""
    try:
        return _run.GLOBAL_RUN_CONTEXT.runner.deadlines.next_deadline()
    except AttributeError:
        statistics = trio.lowlevel.current_statistics()
        if statistics.seconds_to_next_deadline == math.inf:
            return math.inf
        return trio.current_time() + statistics.seconds_to_next_deadline


def is_in(frames: Iterable[tuple[types.FrameType, int]], *names: str) -> bool:
    """Return whether a function of Trio's with one of these names is among the frames of a task."""
    codes = (frame.f_code for frame, _ in frames)
    return any(code.co_name in names and code.co_filename.startswith(_FOLDER) for code in codes)


def creation(task: Any) -> int:
    """Return a number that grows from task to task; 0 where Trio keeps none."""
    number: int = getattr(task, "_counter", 0)
    return number


def throw(task: Any, error: BaseException) -> None:
    """Let the next step of `task`, which is about to begin, raise `error` where it stands; called by a hook.

    There is no public way for a task that is scheduled already.
    """
    task._next_send_fn, task._next_send = task.coro.throw, error


_kept = ctypes.pythonapi.Py_IncRef
_kept.argtypes, _kept.restype = [ctypes.py_object], None


def leave_behind(task: Any) -> None:
    """Let `task`, whose next step is about to begin, end without it; its children are cancelled."""
    for nursery in task.child_nurseries:
        nursery.cancel_scope.cancel()
    task._child_nurseries.clear()
    _kept(task.coro)  # for ever: closed, also as Python ends, it would go on as it did
    task._next_send_fn, task._next_send = _end_of_task, None


def _end_of_task(_: object) -> None:
    raise StopIteration  # as a coroutine does that returns


def _cancelled_in_public(task: Any) -> bool:
    return trio.current_effective_deadline() == -math.inf


def _cancelled() -> Callable[[Any], Any]:
    names = {field.name for field in getattr(trio.lowlevel.Task, "__attrs_attrs__", ())}
    status = getattr(_run, "CancelStatus", None)
    if "_cancel_status" in names and hasattr(status, "effectively_cancelled"):
        return attrgetter("_cancel_status.effectively_cancelled")
    return _cancelled_in_public


cancelled = _cancelled()
"""Return whether a task, the running one, is inside a cancelled scope."""


def scope(task: Any) -> object:
    """Return what stands for the innermost cancel scope around where `task` is; None where Trio does not tell."""
    return getattr(task, "_cancel_status", None)


_STEPPED = {
    "Task": (
        "_abort_func", "_attempt_delivery_of_any_pending_cancel", "_attempt_delivery_of_pending_ki", "_cancel_points",
        "_cancel_status", "_schedule_points", "context", "coro",
    ),
    "Runner": ("ki_pending", "main_task", "reschedule", "task_exited"),
    "CancelStatus": ("effectively_cancelled",),
}  # fmt: skip


def can_step() -> bool:
    """Return whether all is there that `step` uses to do what Trio's own loop does with a task."""
    if not (hasattr(_run, "GLOBAL_RUN_CONTEXT") and hasattr(_traps, "CancelShieldedCheckpoint")):
        return False
    for kind, names in _STEPPED.items():
        there = getattr(_run, kind, None)
        fields = {field.name for field in getattr(there, "__attrs_attrs__", ())}
        if not all(name in fields or hasattr(there, name) for name in names):
            return False
    return True


Abort: TypeAlias = Callable[[Any], trio.lowlevel.Abort]


def _waiting_in_public(abort: Abort) -> object:
    coroutine = trio.lowlevel.wait_task_rescheduled(abort)  # noqa: ASYNC105  only what it yields is wanted
    message = coroutine.send(None)
    coroutine.close()
    return message


waiting: Callable[[Abort], object] = getattr(_traps, "WaitTaskRescheduled", _waiting_in_public)
"""Return what a task yields that waits, as in `trio.lowlevel.wait_task_rescheduled`."""


@trio.lowlevel.enable_ki_protection  # until the task's own code runs, which is not
def step(woken: list[Any]) -> bool:
    """Let the one task of `woken`, whose wait is over, go on until it waits again or ends; return whether it is Trio's.

    It does what Trio's loop does with a task that is rescheduled, at once, while that loop is asking its clock.  In a
    wait of its own a task yields the method that aborts it instead of what Trio's loop needs, `waiting(abort)`.
    """
    context = _run.GLOBAL_RUN_CONTEXT
    context.task = task = woken.pop()
    task._abort_func = None
    ended: outcome.Outcome[object]
    try:
        message = task.context.run(task.coro.send, None)
    except StopIteration as stop:
        ended = outcome.Value(stop.value)
    except BaseException as error:
        trace = error.__traceback__
        ended = outcome.Error(error.with_traceback(trace and trace.tb_next))
        del trace
    else:
        if message.__class__ is _METHOD:
            task._abort_func = message
            if task._cancel_status.effectively_cancelled:
                task._attempt_delivery_of_any_pending_cancel()
            del context.task
            return False
        _take(task, context.runner, message)
        del context.task
        return True
    context.runner.task_exited(task, ended)
    del ended, context.task
    return True


def _take(task: Any, runner: Any, message: Any) -> None:
    """Do what Trio's loop does with what a task yields."""
    task._schedule_points += 1
    if message is _traps.CancelShieldedCheckpoint:
        runner.reschedule(task)
    elif hasattr(message, "abort_func"):
        task._cancel_points += 1
        task._abort_func = message.abort_func
        if runner.ki_pending and task is runner.main_task:
            task._attempt_delivery_of_pending_ki()
        task._attempt_delivery_of_any_pending_cancel()
    else:  # something for Trio itself, or for another framework
        runner.reschedule(task)
        task._next_send_fn, task._next_send = (lambda unused: message), None
