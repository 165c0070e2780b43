"""Tasks whose wait is the last that they do: no other rank can wait for what they do after it."""

from __future__ import annotations

import ast
from functools import lru_cache
from types import CodeType, FrameType

import trio

from conduit.core import written
from conduit.launch.program import tasks
from conduit.launch.program.folders import is_own

_WAITS = ("_block_until", "sleep_forever")
"""Functions of the endpoint and of Trio that do nothing but wait."""


def ends(task: trio.lowlevel.Task) -> bool:
    """Say whether a task is over, and lets no other one go on, when what it waits for comes.

    That is known of one that is in `block_until` or `sleep_forever`, in the last statement of each of its functions:
    others may send something then.
    """
    if not _waits_last(task):
        return False
    nursery = task.parent_nursery
    if nursery is None or not tasks.at_end_of_nursery(nursery.parent_task):
        return True
    return not all(map(_waits_last, nursery.child_tasks))  # else the one at its end goes on then


def _waits_last(task: trio.lowlevel.Task) -> bool:
    for frame, line in tasks.frames(task):
        code = frame.f_code
        if is_own(code.co_filename) or _is_of_trio(frame):
            return code.co_name in _WAITS
        if not _is_last(code, line):
            return False
    return False


def _is_of_trio(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] == "trio"


@lru_cache(maxsize=64)  # all ranks may be in one
def _is_last(code: CodeType, line: int) -> bool:
    """Say whether a line of a function is of its last statement, which awaits something and does no more."""
    for each in written.nodes(code):
        if not isinstance(each, ast.AsyncFunctionDef) or each.name != code.co_name:
            continue
        if code.co_firstlineno not in (each.lineno, *(one.lineno for one in each.decorator_list)):
            continue
        match each.body[-1]:
            case ast.Expr(value=ast.Await()) | ast.Return(value=ast.Await()) as last:
                return last.lineno <= line <= (last.end_lineno or 0)
    return False
