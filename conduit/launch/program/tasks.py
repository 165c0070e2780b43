"""Where Trio's tasks stand in a program, for reports; the same in virtual and in real time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType

import trio

from conduit.core.calls import begun_at
from conduit.core.started import STARTED, Where
from conduit.core.steps import steps_of
from conduit.frames import awaited_frames
from conduit.trio_private import LEAVES_NURSERY, TO_THREAD, creation, is_in

Own = Callable[[str], bool]
"""Says of a file whether it is none of a program."""


def all_tasks() -> Iterator[trio.lowlevel.Task]:
    """Return every task of the running Trio loop, parents before children.

    Children are in order of their names, of where they stand, and of their making.  Trio keeps them in a set: without
    an order of our own reports would differ from run to run.
    """
    root = trio.lowlevel.current_root_task()
    pending = [root] if root is not None else []
    while pending:
        task = pending.pop()
        yield task
        children = [child for nursery in task.child_nurseries for child in nursery.child_tasks]
        pending.extend(sorted(children, key=_order, reverse=True))


def _order(task: trio.lowlevel.Task) -> tuple[str, list[int], int]:
    return task.name, [line for _, line in frames(task)], creation(task)


def frames(task: trio.lowlevel.Task) -> Iterator[tuple[FrameType, int]]:
    """Return the frames of a task with their lines, outermost first, also where the task is the one that runs."""
    if not getattr(task.coro, "cr_running", False):
        return awaited_frames(task)
    outermost = task.coro.cr_frame
    found: list[tuple[FrameType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        found.append((frame, frame.f_lineno))
        if frame is outermost:
            break
        frame = frame.f_back
    return reversed(found)


def at_end_of_nursery(task: trio.lowlevel.Task) -> bool:
    """Say whether a task has come to the end of a nursery whose tasks run: they are what keeps it.

    One that waits in the nursery's body keeps itself.
    """
    return any(nursery.child_tasks for nursery in task.child_nurseries) and is_in(frames(task), LEAVES_NURSERY)


def in_threads() -> Iterator[trio.lowlevel.Task]:
    """Return the tasks of the running Trio loop that wait for a thread."""
    return (task for task in all_tasks() if is_in(frames(task), TO_THREAD))


def program_place(task: trio.lowlevel.Task, own: Own) -> Where | None:
    """Return the innermost line of `task` in a file that is not `own`, None if there is none."""
    found = None
    for frame, line in frames(task):
        if not own(frame.f_code.co_filename):
            found = frame.f_code.co_filename, line, frame.f_code.co_name
    return found


def outermost_place(task: trio.lowlevel.Task) -> Where | None:
    """Return the first line of a task, of any task; None at its end."""
    for frame, line in frames(task):
        return frame.f_code.co_filename, line, frame.f_code.co_name
    return None


def error_line(error: BaseException, own: Own) -> str:
    """Return `file:line in function` of the innermost line of a file that is not `own` which an error was raised in."""
    found = ""
    for step in steps_of(error):
        code = step.tb_frame.f_code
        if not own(code.co_filename):
            found = f"{code.co_filename}:{step.tb_lineno} in {code.co_name}"
    return found


def _first_frame() -> FrameType | None:
    """Return the outermost frame of the task that runs, None where none does."""
    try:
        return getattr(trio.lowlevel.current_task().coro, "cr_frame", None)
    except RuntimeError:
        return None


class Starts(trio.abc.Instrument):
    """Takes note of the line that starts a task, where the task is a call of a package and will never tell.

    `nursery.start_soon(ep.block_until, ...)` leaves no frame of the program behind.

    Args:
        own: says of a file whether it is none of a program.
    """

    def __init__(self, own: Own) -> None:
        self._own = own

    @trio.lowlevel.enable_ki_protection  # Trio drops what an instrument raises
    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        """Look who has called `start_soon`, which is still running."""
        code = getattr(task.coro, "cr_code", None)
        if code is None or not self._own(code.co_filename):
            return
        frame: FrameType | None = sys._getframe(1)
        first = _first_frame()
        while frame is not None:
            if not self._own(frame.f_code.co_filename):
                where = frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
                task.context.run(STARTED.set, where)
                begun_at(task.coro, frame.f_code, frame.f_lasti)
                return
            if frame is first:  # below it is what runs the loop; a task of Trio's own that starts others has its place
                return
            frame = frame.f_back
