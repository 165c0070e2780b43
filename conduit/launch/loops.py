"""Loops of a program that never end by themselves: without an await no handler runs, and nothing can change."""

from __future__ import annotations

import ast
import inspect
from types import CodeType, FrameType

from conduit.core import written
from conduit.core.handlers import WAITS
from conduit.launch.reports.folders import is_library, is_own

_IN_A_LOOP = (
    "the loop at {}:{} has no `await`, and without one no handler runs: write `await ep.poll()` in it, or `await "
    "ep.block_until(predicate)` in its place"
)
_ELSEWHERE = "code of a rank's own runs no handlers: where it takes long, write `await ep.poll()` in it now and then"
_TRIO = "trio._core"
_WAITS = ast.Await | ast.AsyncFor | ast.AsyncWith


def program_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of a program from a frame on outwards, None where a job's machinery runs.

    A program that asks a property, or calls what never waits, runs itself meanwhile.
    """
    asked = False
    while frame is not None and (_is_asked(frame) or is_library(frame.f_code.co_filename)):
        asked = asked or is_own(frame.f_code.co_filename)
        frame = frame.f_back
    if frame is None or is_own(frame.f_code.co_filename):
        return None
    return None if asked and not _is_in_trio(frame) else frame


def _is_asked(frame: FrameType) -> bool:
    """Say whether a frame is of a plain function of this project or of Trio, which nobody awaits."""
    return not frame.f_code.co_flags & WAITS and is_own(frame.f_code.co_filename)


def _is_in_trio(frame: FrameType) -> bool:
    """Say whether Trio runs what a frame is of; else it may have called `conduit.run`."""
    step: FrameType | None = frame
    while step is not None and step.f_globals.get("__package__") != _TRIO:
        step = step.f_back
    return step is not None


def advice(frame: FrameType) -> str:
    """Return what to do about a program that runs a line without an end.

    Args:
        frame: of that line.
    """
    step: FrameType | None = frame
    while step is not None and not is_own(step.f_code.co_filename):
        if line := _loop(step.f_code, step.f_lineno):
            return _IN_A_LOOP.format(step.f_code.co_filename, line)
        step = step.f_back
    return _ELSEWHERE


def _loop(code: CodeType, line: int) -> int:
    """Return where the outermost `while` begins that a line is in and that awaits nothing, though it could; 0: none."""
    if not code.co_flags & inspect.CO_COROUTINE:
        return 0
    found = [
        each.lineno
        for each in written.nodes(code)
        if isinstance(each, ast.While)
        and code.co_firstlineno <= each.lineno <= line <= (each.end_lineno or 0)
        and not any(isinstance(inner, _WAITS) for inner in ast.walk(each))
    ]
    return min(found, default=0)
