"""Looks at Trio's tasks from outside: where they stand and whether something outside may wake them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from types import FrameType

import trio

_OWN = tuple(os.path.dirname(path) + os.sep for path in (trio.__file__, os.path.dirname(__file__)))


def all_tasks() -> Iterator[trio.lowlevel.Task]:
    """Return every task of the running Trio loop, parents before children, in order of creation."""
    root = trio.lowlevel.current_root_task()
    pending = [root] if root is not None else []
    while pending:
        task = pending.pop()
        yield task
        children = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        pending.extend(sorted(children, key=lambda child: child.name, reverse=True))


def waits_outside() -> bool:
    """Return whether a task waits for a thread, a socket or a pipe (rule D1)."""
    statistics = trio.lowlevel.current_statistics()
    io = statistics.io_statistics
    # Trio itself always has one reader, of the pipe that wakes its loop.
    if getattr(io, "tasks_waiting_read", 1) > 1 or getattr(io, "tasks_waiting_write", 0) > 0:
        return True
    return any(_in_thread_call(task) for task in all_tasks())


def messengers() -> list[trio.lowlevel.Task]:
    """Return Trio's own tasks, which take a step when a thread has something to say; called by the main task."""
    root, main = trio.lowlevel.current_root_task(), trio.lowlevel.current_task()
    return [task for task in all_tasks() if task is not main and _parent(task) is root]


def _parent(task: trio.lowlevel.Task) -> trio.lowlevel.Task | None:
    nursery = task.parent_nursery
    return nursery.parent_task if nursery is not None else None


def _in_thread_call(task: trio.lowlevel.Task) -> bool:
    return any(
        frame.f_code.co_name == "to_thread_run_sync" and frame.f_code.co_filename.startswith(_OWN[0])
        for frame, _ in task.iter_await_frames()
    )


def user_line(task: trio.lowlevel.Task, own: tuple[str, ...] = _OWN) -> str:
    """Return `file:line in function` of the innermost frame of `task` outside the folders `own`."""
    found: tuple[FrameType, int] | None = None
    for frame, line in task.iter_await_frames():
        if found is None or not frame.f_code.co_filename.startswith(own):
            found = (frame, line)
    if found is None:
        return "a task that has not started"
    frame, line = found
    return f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"


def describe(task: trio.lowlevel.Task, own: tuple[str, ...] = _OWN) -> str:
    """Return a task's name and line for a report."""
    return f"task {task.name} at {user_line(task, own)}"


def waiting_leaves() -> list[trio.lowlevel.Task]:
    """Return the tasks of programs that wait and have no children that could end first."""
    root = trio.lowlevel.current_root_task()
    return [
        task
        for task in all_tasks()
        if _parent(task) not in (None, root) and not any(nursery.child_tasks for nursery in task.child_nurseries)
    ]
