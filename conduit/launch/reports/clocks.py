"""Predicates that look at the time: what waits for a time alone waits for ever, for time passes by events."""

from __future__ import annotations

import ast
from types import FrameType

from conduit.core import written

_CALLS = ("current_time", "time", "time_ns", "perf_counter", "monotonic", "Wtime")
"""Names of functions that give the time, of Trio, of Python and of MPI."""


def looks_at_time(frame: FrameType) -> list[str]:
    """Return what to write in the place of a predicate that looks at the time, for each clock a line.

    Args:
        frame: of the function of a program that waits for the predicate, which stands there as a lambda.
    """
    call = written.node(frame.f_code, frame.f_lasti)
    predicates = [] if call is None else [each for each in ast.walk(call) if isinstance(each, ast.Lambda)]
    clocks = dict.fromkeys(text for each in predicates for node in ast.walk(each.body) if (text := _clock(node)))
    return [
        f"a predicate that looks at `{clock}` is looked at when a message has been handled, not when that time has "
        "come: write `await trio.sleep(seconds)`, or `while ep.now < when: await ep.poll()`, which handles messages"
        for clock in clocks
    ]


def _clock(node: ast.AST) -> str:
    """Return an expression that gives the time as it is written, "" for every other one."""
    match node:
        case ast.Attribute(attr="now", value=ast.Name() | ast.Attribute()):
            return ast.unparse(node)
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[], keywords=[]) if name in _CALLS:
            return ast.unparse(node)
    return ""
