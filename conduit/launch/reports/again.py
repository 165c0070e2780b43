"""Loops of a program that ask another rank again and again, until an answer comes that does not come."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType, FrameType

from conduit.core import written
from conduit.core.endpoint import Endpoint
from conduit.launch.program.folders import is_own

_WAITS = ast.Await | ast.AsyncFor | ast.AsyncWith
_PAUSES = ("compute", "poll", "sleep")
"""What such a loop may await besides: these ask nobody."""
_PLAIN = (int, bool, float, str)
_LONGEST = 24  # characters of a value that is shown
_MOST = 4  # variables that are shown


def again(frames: Iterable[tuple[FrameType, int]]) -> str:
    """Return the call of a layer that is all that a loop asks for, as it is written, with what its variables have.

    Args:
        frames: of the program, with the lines that they are at, the innermost last.

    Returns:
        the call that the outermost `while` about the innermost line awaits; "" where there is no such loop, or where it
        awaits other calls too.
    """
    found = list(frames)
    if not found:
        return ""
    frame, line = found[-1]
    call, base, names = _asked(frame.f_code, line)
    if not call or not _of_layer(frame, base):
        return ""
    values = list(_values(frame, names))[:_MOST]
    return f"{call} ({', '.join(values)})" if values else call


@lru_cache(maxsize=64)  # all ranks may be in one
def _asked(code: CodeType, line: int) -> tuple[str, str, tuple[str, ...]]:
    """Return what such a loop awaits, the name that this begins with, and those that it reads or gives the result."""
    for loop in written.nodes(code):
        if not isinstance(loop, ast.While) or not code.co_firstlineno <= loop.lineno <= line <= (loop.end_lineno or 0):
            continue
        waits = [each for each in ast.walk(loop) if isinstance(each, _WAITS)]
        asked = {ast.unparse(each): each for each in waits if not _is_pause(each)}
        if len(asked) == 1 and isinstance(found := next(iter(asked.values())), ast.Await):
            call = found.value
            text, base = ast.unparse(call), _base(call)
            if base and len(text) <= written.SHOWN:
                return text, base, (*_read(call), *_given(loop, found))
    return "", "", ()


def _is_pause(node: ast.AST) -> bool:
    match node:
        case ast.Await(value=ast.Call(func=ast.Attribute(attr=name))):
            return name in _PAUSES
    return False


def _base(call: ast.expr) -> str:
    """Return `x` of `x.get(...)`, `a` of `a[i]`; "" for what is no such call."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) | ast.Subscript(value=ast.Name(id=name)):
            return name
    return ""


def _read(call: ast.expr) -> Iterator[str]:
    """Yield the names that a call's arguments read."""
    inner = [*call.args, *(each.value for each in call.keywords)] if isinstance(call, ast.Call) else []
    inner += [call.slice] if isinstance(call, ast.Subscript) else []
    for each in inner:
        yield from (node.id for node in ast.walk(each) if isinstance(node, ast.Name))


def _given(loop: ast.While, found: ast.Await) -> Iterator[str]:
    """Yield the names that a loop gives the result of what it awaits."""
    for each in ast.walk(loop):
        match each:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                if ast.unparse(value) == ast.unparse(found):
                    yield name


def _of_layer(frame: FrameType, name: str) -> bool:
    """Say whether a variable has an object of a layer, which is more than the endpoint."""
    kind = type(_value(frame, name))
    module = sys.modules.get(kind.__module__)
    return not issubclass(kind, Endpoint) and is_own(getattr(module, "__file__", None) or "")


def _values(frame: FrameType, names: Iterable[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        value = _value(frame, name)
        if type(value) in _PLAIN and len(repr(value)) <= _LONGEST:
            yield f"{name} is {value!r}"


def _value(frame: FrameType, name: str) -> object:
    return frame.f_locals.get(name, frame.f_globals.get(name))
