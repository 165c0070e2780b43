"""Predicates that give nothing, whatever comes: a `return` was forgotten, or the predicate changes what it looks at.

This is read in the source.  A predicate that has given None so far may give something when a message has come.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import NamedTuple

from conduit.core import written
from conduit.launch.reports.static_values import static_value

_CHANGES: dict[type, tuple[str, ...]] = {
    list: ("append", "clear", "extend", "insert", "remove", "reverse", "sort"),
    dict: ("clear", "update"),
    set: ("add", "clear", "discard", "remove", "update"),
    deque: ("append", "appendleft", "clear", "extend", "extendleft", "insert", "remove", "reverse", "rotate"),
    bytearray: ("append", "clear", "extend", "insert", "remove", "reverse"),
}
"""Methods of Python's own containers that return nothing."""


class _Predicate(NamedTuple):
    """A predicate as it is written, where, and what the names in it stand for."""

    tree: ast.Lambda | ast.FunctionDef
    file: str
    names: Mapping[str, object]


def returns_nothing(frame: FrameType) -> list[str]:
    """Return, for the function of a program that waits for a predicate, what to write where that never gives anything.

    Args:
        frame: of the function.
    """
    found = _predicate(frame)
    if found is None:
        return []
    given = list(_given(found.tree))
    if not all(_is_nothing(each, found.names) for each in given):
        return []
    what = f"the predicate at {written.at(found.file, found.tree.lineno)} returns None"
    if isinstance(found.tree, ast.FunctionDef):
        return [f"{what}, which is never true: {_to_return(found)}"]
    body = found.tree.body
    text = ast.unparse(body)
    why = f", as {text} does," if isinstance(body, ast.Call) and len(text) <= written.SHOWN else ","
    return [f"{what}{why} which is never true: let it give whether the wait is over{_instead(body, found.names)}"]


def _to_return(found: _Predicate) -> str:
    """Return what is to be written in a function: its last line with `return`, where that is a value."""
    assert isinstance(found.tree, ast.FunctionDef)
    match found.tree.body[-1]:
        case ast.Expr(value=value) if not isinstance(value, ast.Constant) and not _is_nothing(value, found.names):
            text = ast.unparse(value)
            return f"write `return {text if len(text) <= written.SHOWN else '...'}` in it"
    return "write `return ...` in it, with whether the wait is over"


def _instead(body: ast.expr, names: Mapping[str, object]) -> str:
    """Return an example of a predicate that looks at the container which one changes; "" for others."""
    match body:
        case ast.Call(func=ast.Attribute(value=owner)) if _container(owner, names):
            return f", as `lambda: len({ast.unparse(owner)}) > 0`"
    return ""


def _predicate(frame: FrameType) -> _Predicate | None:
    """Return the predicate that the running line of a function waits for, None where its source is not known."""
    node = written.node(frame.f_code, frame.f_lasti)
    call = node.value if isinstance(node, ast.Await) else node
    if not isinstance(call, ast.Call):
        return None
    names = {**vars(builtins), **frame.f_globals, **frame.f_locals}
    match [*call.args[:1], *(each.value for each in call.keywords if each.arg == "predicate")]:
        case [ast.Lambda() as inline]:
            return _Predicate(inline, frame.f_code.co_filename, names)
        case [ast.Name() | ast.Attribute() as named]:
            return _of_function(static_value(named, names))
    return None


def _of_function(given: object) -> _Predicate | None:
    """Return a function of a program as it is written, None where that is not known."""
    function = given.__func__ if isinstance(given, MethodType) else given
    if not isinstance(function, FunctionType):
        return None
    code = function.__code__
    trees = [each for each in written.nodes(code) if _is_of(each, code)]
    if len(trees) != 1:
        return None
    inner = _filled(code.co_freevars, function.__closure__ or ())
    (tree,) = trees
    assert isinstance(tree, ast.Lambda | ast.FunctionDef)
    return _Predicate(tree, code.co_filename, {**vars(builtins), **function.__globals__, **inner})


def _filled(names: tuple[str, ...], cells: tuple[CellType, ...]) -> dict[str, object]:
    """Return the variables that a function has of those around it, as far as they have been assigned."""
    found = {}
    for name, cell in zip(names, cells, strict=True):
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def _is_of(node: ast.AST, code: CodeType) -> bool:
    """Say whether a part of a file is the function that a code is of; a generator's call gives a generator."""
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    match node:
        case ast.Lambda(lineno=line):
            return code.co_name == "<lambda>" and line == code.co_firstlineno
        case ast.FunctionDef(name=name, lineno=line, decorator_list=[]):
            return name == code.co_name and line == code.co_firstlineno
    return False


def _container(node: ast.expr, names: Mapping[str, object]) -> type | None:
    """Return the class of one of Python's own containers, None for everything else."""
    kind = type(static_value(node, names))
    return kind if kind in _CHANGES else None


def _given(tree: ast.AST) -> Iterator[ast.expr | None]:
    """Yield what a function returns, None where that is no value."""
    if isinstance(tree, ast.Lambda):
        yield tree.body
        return
    for each in ast.iter_child_nodes(tree):
        if isinstance(each, ast.Return):
            yield each.value
        elif not isinstance(each, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _given(each)


def _is_nothing(node: ast.expr | None, names: Mapping[str, object], *, deep: bool = True) -> bool:
    """Say whether an expression gives None, whatever its variables have.

    Args:
        node: the expression, None for none.
        names: what names in it stand for.
        deep: whether functions of the program's that it calls are looked into.
    """
    match node:
        case None | ast.Constant(value=None):
            return True
        case ast.Call(func=ast.Attribute(value=owner, attr=name)) if kind := _container(owner, names):
            return name in _CHANGES[kind]
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            function = static_value(called, names)
            found = _of_function(function) if deep else None
            if found is not None:
                return all(_is_nothing(each, found.names, deep=False) for each in _given(found.tree))
            return function is print
    return False
