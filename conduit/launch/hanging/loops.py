"""Loops of a program that never end by themselves: without an await no handler runs, and nothing can change."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator
from itertools import dropwhile
from types import CodeType, FrameType

from conduit.core import written
from conduit.core.handlers import WAITS
from conduit.core.steps import steps_of
from conduit.launch.program.folders import is_library, is_made, is_own
from conduit.launch.program.polls import polls_of
from conduit.trio_private import PACKAGE

_IN_A_LOOP = "the loop at {}:{} has no `await`, and without one no handler runs: write `{}` in it, or `{}` in its place"
_IN_A_HANDLER = (
    "the loop at {}:{} is in {}, which cannot wait: let that return, and main wait for what is still missing"
)
_ELSEWHERE = "code of a rank's own runs no handlers: where it takes long, write `{}` in it now and then"
_WAITS = ast.Await | ast.AsyncFor | ast.AsyncWith


def program_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of a program from a frame on outwards, None where a job's machinery runs.

    A program that asks a property, or calls what never waits, runs itself meanwhile.
    """
    asked = False
    while frame is not None and (_is_asked(frame) or is_library(frame.f_code.co_filename) or is_made(frame)):
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
    while step is not None and step.f_globals.get("__package__") != PACKAGE:
        step = step.f_back
    return step is not None


def advice(frame: FrameType) -> str:
    """Return what to do about a program that runs a line without an end.

    Args:
        frame: of that line.
    """
    return _endless(_outwards(frame)) or _ELSEWHERE.format(polls_of(each for each, _ in _outwards(frame)).once)


def advice_on_interrupt(error: BaseException) -> str:
    """Return what to do about the loop that an interrupt has broken off, if it never ends by itself; "" else.

    Args:
        error: the interrupt; its steps are read, as its frames have ended.
    """
    steps = [(step.tb_frame, step.tb_lineno) for step in reversed(steps_of(error))]
    return _endless(dropwhile(_is_no_program, steps))


def _outwards(frame: FrameType | None) -> Iterator[tuple[FrameType, int]]:
    while frame is not None:
        yield frame, frame.f_lineno
        frame = frame.f_back


def _is_no_program(step: tuple[FrameType, int]) -> bool:
    """Say whether a frame is none of a program, nor of a call that a program awaits."""
    frame, _ = step
    return _is_asked(frame) or is_library(frame.f_code.co_filename) or is_made(frame)


def _endless(steps: Iterable[tuple[FrameType, int]]) -> str:
    """Return what to do about the loop that frames of a program are in with these lines, innermost first; "": none."""
    called: tuple[CodeType, int] | None = None
    for frame, number in steps:
        code = frame.f_code
        if is_own(code.co_filename):
            return "" if called is None else _in_a_handler(*called)
        if not code.co_flags & inspect.CO_COROUTINE:
            called = code, number
            continue
        called = None
        if line := _loop(code, number):
            polls = polls_of([frame])
            return _IN_A_LOOP.format(code.co_filename, line, polls.once, polls.until)
    return ""


def _in_a_handler(code: CodeType, number: int) -> str:
    """Return what to do about a loop in what this package has called, a handler or a predicate; "" for no loop."""
    line = _loop(code, number)
    return _IN_A_HANDLER.format(code.co_filename, line, code.co_name) if line else ""


def _loop(code: CodeType, line: int) -> int:
    """Return where the outermost `while` begins that a line is in and that awaits nothing; 0: there is none."""
    found = [
        each.lineno
        for each in written.nodes(code)
        if isinstance(each, ast.While)
        and code.co_firstlineno <= each.lineno <= line <= (each.end_lineno or 0)
        and not any(isinstance(inner, _WAITS) for inner in ast.walk(each))
    ]
    return min(found, default=0)
