"""Looks at Trio's tasks from outside: which wait, and whether something outside of virtual time may wake them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import trio

from conduit.frames import awaited_frames
from conduit.trio_private import LEAVES_NURSERY, TO_THREAD, creation, is_in

_OWN = tuple(os.path.dirname(path) + os.sep for path in (trio.__file__, os.path.dirname(__file__)))


def all_tasks() -> Iterator[trio.lowlevel.Task]:
    """Return every task of the running Trio loop, parents before children, these by name and in order of creation."""
    root = trio.lowlevel.current_root_task()
    pending = [root] if root is not None else []
    while pending:
        task = pending.pop()
        yield task
        children = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        pending.extend(sorted(children, key=lambda child: (child.name, creation(child)), reverse=True))


def waits_outside() -> bool:
    """Return whether a task waits for a thread, a socket or a pipe (rule D1)."""
    statistics = trio.lowlevel.current_statistics()
    io = statistics.io_statistics
    # Trio itself always has one reader, of the pipe that wakes its loop.
    if getattr(io, "tasks_waiting_read", 1) > 1 or getattr(io, "tasks_waiting_write", 0) > 0:
        return True
    return bool(in_thread_calls())


def in_thread_calls() -> list[trio.lowlevel.Task]:
    """Return the tasks that wait for a thread."""
    return [task for task in all_tasks() if is_in(awaited_frames(task), TO_THREAD)]


def messengers() -> list[trio.lowlevel.Task]:
    """Return Trio's own tasks, which take a step when a thread has something to say; called by the main task."""
    root, main = trio.lowlevel.current_root_task(), trio.lowlevel.current_task()
    return [task for task in all_tasks() if task is not main and _parent(task) is root]


def _parent(task: trio.lowlevel.Task) -> trio.lowlevel.Task | None:
    nursery = task.parent_nursery
    return nursery.parent_task if nursery is not None else None


def leaves_nursery(task: trio.lowlevel.Task) -> bool:
    """Return whether a task is at the end of a nursery's block, where Trio's own book-keeping must not be disturbed."""
    return is_in(awaited_frames(task), LEAVES_NURSERY)


def describe(task: trio.lowlevel.Task) -> str:
    """Return a task's name and the innermost line of it that is not Trio's or the simulation's."""
    line = ""
    for frame, number in awaited_frames(task):
        if not line or not frame.f_code.co_filename.startswith(_OWN):
            line = f"{frame.f_code.co_filename}:{number} in {frame.f_code.co_name}"
    return f"task {task.name} at {line or 'its end'}"


def waiting_leaves() -> list[trio.lowlevel.Task]:
    """Return the tasks of programs that wait and have no children that could end first."""
    root = trio.lowlevel.current_root_task()
    return [
        task
        for task in all_tasks()
        if _parent(task) not in (None, root) and not any(nursery.child_tasks for nursery in task.child_nurseries)
    ]
