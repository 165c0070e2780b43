"""Loops of a program that wait for a handler and await nothing but local work, or time: that polls nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType, FrameType

from conduit.core import written
from conduit.launch.program.polls import polls_of

_OF_TRIO = ("trio.sleep", "trio.lowlevel.checkpoint")
_WAITS = ast.Await | ast.AsyncFor | ast.AsyncWith
_ADVICE = (
    "the loop at {} awaits nothing but {}, which polls nothing, and only a poll runs handlers: write `{}` in its "
    "place, or `{}` in it"
)


def on_loops(frames: Iterable[tuple[FrameType, int]]) -> list[str]:
    """Return what to do about such a loop that the innermost of frames of a program is in; nothing for others.

    Args:
        frames: with the lines that they are at, the innermost last.
    """
    *_, (frame, line) = frames
    loop, call = _loop(frame.f_code, line)
    if not loop:
        return []
    polls = polls_of([frame])
    return [_ADVICE.format(written.at(frame.f_code.co_filename, loop), call, polls.until, polls.once)]


@lru_cache(maxsize=64)  # all ranks may be in one
def _loop(code: CodeType, line: int) -> tuple[int, str]:
    """Return where the outermost such `while` begins that a line is in, and what it awaits; 0: there is none."""
    for each in written.nodes(code):
        if not isinstance(each, ast.While) or not code.co_firstlineno <= each.lineno <= line <= (each.end_lineno or 0):
            continue
        awaited = [inner for inner in ast.walk(each) if isinstance(inner, _WAITS)]
        calls = {_polls_nothing(inner) for inner in awaited}
        if len(calls) == 1 and (call := calls.pop()):
            return each.lineno, call
    return 0, ""


def _polls_nothing(node: ast.AST) -> str:
    """Return the call of local work, or of Trio's, that a node awaits, as it is written; "" for any other."""
    match node:
        case ast.Await(value=ast.Call(func=ast.Attribute(attr=attr) as name)):
            called = ast.unparse(name)
            return called if attr == "compute" or called in _OF_TRIO else ""
    return ""
