"""Where Trio's tasks stand in a program, for reports; the same in virtual and in real time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

import trio


def all_tasks() -> Iterator[trio.lowlevel.Task]:
    """Return every task of the running Trio loop, parents before children, in order of creation."""
    root = trio.lowlevel.current_root_task()
    pending = [root] if root is not None else []
    while pending:
        task = pending.pop()
        yield task
        children = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        pending.extend(sorted(children, key=lambda child: child.name, reverse=True))


def frames(task: trio.lowlevel.Task) -> Iterator[tuple[FrameType, int]]:
    """Return the frames of a task with their lines, outermost first, also where the task is the one that runs."""
    if not getattr(task.coro, "cr_running", False):
        return task.iter_await_frames()
    outermost = task.coro.cr_frame
    found: list[tuple[FrameType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found.append((frame, frame.f_lineno))
        if frame is outermost:
            break
        frame = frame.f_back
    return reversed(found)


def program_line(task: trio.lowlevel.Task, own: tuple[str, ...]) -> str:
    """Return `file:line in function` of the innermost frame of `task` outside the folders `own`, "" for none."""
    found = ""
    for frame, line in frames(task):
        if not frame.f_code.co_filename.startswith(own):
            found = f"{frame.f_code.co_filename}:{line} in {frame.f_code.co_name}"
    return found


def error_line(error: BaseException, own: tuple[str, ...]) -> str:
    """Return what `program_line` does, of where an error was raised."""
    found = ""
    step = error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if not code.co_filename.startswith(own):
            found = f"{code.co_filename}:{step.tb_lineno} in {code.co_name}"
        step = step.tb_next
    return found


def user_line(task: trio.lowlevel.Task, own: tuple[str, ...]) -> str:
    """Return what `program_line` does, of a task that is nowhere in a program its outermost line."""
    line = program_line(task, own)
    if not line:
        for frame, number in frames(task):
            return f"{frame.f_code.co_filename}:{number} in {frame.f_code.co_name}"
    return line or "its end"


def describe(task: trio.lowlevel.Task, own: tuple[str, ...]) -> str:
    """Return a task's name and line for a report."""
    return f"task {task.name} at {user_line(task, own)}"
