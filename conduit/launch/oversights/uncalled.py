"""Statements of a program that name a method and do not call it, as `x.barrier`: Python passes over them in silence."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import FunctionType, ModuleType
from typing import Any

from conduit.core.endpoint import Endpoint
from conduit.errors import ConduitWarning
from conduit.launch.program.folders import program_frame
from conduit.launch.program.public import is_ours, public_modules
from conduit.launch.program.uses import call_text

_LOOKED: set[str] = set()
"""Files at which this process has looked for its own calls of `conduit.run`: once is enough."""


def warn_of_caller(*others: Callable[[ast.Module], Sequence[tuple[int, str]]]) -> None:
    """Warn of the program that runs a job, once for each file: at the line of each such statement.

    Args:
        others: what else is looked for, as `uncalled` is.
    """
    frame, _ = program_frame()
    file = "" if frame is None else frame.f_code.co_filename
    if file in _LOOKED or not os.path.isfile(file):  # the last line of a cell of a notebook shows its value
        return
    assert frame is not None
    variables = frame.f_globals
    _LOOKED.add(file)
    with suppress(SyntaxError, ValueError):  # it has been edited meanwhile
        tree = ast.parse("".join(linecache.getlines(file, variables)))
        for look in (uncalled, *others):
            for line, text in look(tree):
                warnings.warn_explicit(text, ConduitWarning, file, line, variables.get("__name__"))


def uncalled(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the line of each such statement and what is to be said of it, in the order of lines.

    Only objects that are seen to be of this project count: what `main` is given, a parameter that says so, and what
    `await Extended.attach(...)` or another `attach` gives.  What is tried, or is to raise, is meant so.

    Args:
        tree: the program.
    """
    found = list(_statements(tree))
    if not found:
        return []
    names = _Names(tree)
    set_here = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _is_stored(node)}
    texts = {}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            known = names.objects(function)
            for node in _statements(function):
                match node:
                    case ast.Attribute(ast.Name(id), attr) if id in known and attr not in set_here:
                        if text := _text(node, inspect.getattr_static(known[id], attr, None)):
                            texts[node.lineno, node.col_offset] = text
    return [(line, texts[line, column]) for line, column in sorted(texts)]


def _text(node: ast.Attribute, method: object) -> str:
    """Return what is to be said of one statement, "" where it names no method."""
    if not isinstance(method, FunctionType) or node.attr.startswith("_"):
        return ""
    name = ast.unparse(node)
    return f"`{name}` names the method and does not call it: `{call_text(name, method)}`"


def _is_stored(node: ast.Attribute | ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _statements(node: ast.AST) -> Iterator[ast.Attribute]:
    """Yield the attributes that are statements below a node, but those that are tried or are to raise."""
    match node:
        case ast.Expr(value=ast.Attribute() as found):
            yield found
        case ast.Try() | ast.TryStar():
            return
        case ast.With(items=items) | ast.AsyncWith(items=items) if any(map(_is_to_raise, items)):
            return
    for each in ast.iter_child_nodes(node):
        yield from _statements(each)


def _is_to_raise(item: ast.withitem) -> bool:
    text = ast.unparse(item).casefold()
    return "raises" in text or "suppress" in text


class _Names:
    """Which names of a program are seen to be objects of this project."""

    def __init__(self, tree: ast.Module) -> None:
        self._imported: dict[str, Any] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._imported.update(_imported(node))
        self._mains = dict(self._started(tree)) or self._main(tree)

    def objects(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, type]:
        """Return the names in a function that are given one value each, an object of this project: with its class."""
        given = Counter(
            node.arg if isinstance(node, ast.arg) else node.id
            for node in ast.walk(function)
            if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and _is_stored(node))
        )
        return {name: kind for name, kind in self._given(function) if given[name] == 1 and isinstance(kind, type)}

    def _given(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, Any]]:
        own = [*function.args.posonlyargs, *function.args.args]
        if own and function.name in self._mains and isinstance(function, ast.AsyncFunctionDef):
            yield own[0].arg, self._mains[function.name]
        for each in own:
            if each.annotation is not None:
                yield each.arg, self._value(each.annotation)
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Await(ast.Call(func=ast.Attribute() as called))):
                    if called.attr == "attach":
                        yield name, _returned(self._value(called))

    def _started(self, tree: ast.Module) -> Iterator[tuple[str, type]]:
        """Yield the functions that the program starts, with the class of what they are given first."""
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=called, args=[ast.Name(id=name), *_]):
                    start = self._value(called)
                    if isinstance(start, FunctionType) and start.__name__ in ("run", "run_async"):
                        for module in map(importlib.import_module, public_modules()):
                            if getattr(module, start.__name__, None) is start:
                                yield name, getattr(module, "_given", ("ep", Endpoint))[1]

    def _main(self, tree: ast.Module) -> dict[str, type]:
        """Return the same for a program that another one starts, as `conduit run` does: its `main(ep)`."""
        if any(isinstance(node, ast.Name) and node.id == "api" and _is_stored(node) for node in ast.walk(tree)):
            return {}
        for node in tree.body:
            match node:
                case ast.AsyncFunctionDef(name="main", args=ast.arguments(args=[ast.arg(arg="ep"), *_])):
                    return {"main": Endpoint}
        return {}

    def _value(self, node: ast.expr) -> Any:
        """Return what an expression of imported names stands for, where that is of this project; else None."""
        match node:
            case ast.Name(id=name):
                found = self._imported.get(name)
            case ast.Attribute(value=owner, attr=name):
                found = getattr(self._value(owner), name, None)
            case _:
                return None
        return found if isinstance(found, ModuleType) or is_ours(getattr(found, "__func__", found)) else None


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Any]]:
    """Yield what a statement imports of the public modules."""
    public = public_modules()
    for each in node.names:
        if isinstance(node, ast.Import) and each.name in public:
            module = each.name if each.asname else each.name.partition(".")[0]
            yield each.asname or module, importlib.import_module(module)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module in public:
            yield each.asname or each.name, getattr(importlib.import_module(node.module), each.name, None)


def _returned(function: Any) -> Any:
    """Return the class that a function's annotation says it gives."""
    function = inspect.unwrap(getattr(function, "__func__", function)) if function is not None else None
    told = getattr(function, "__annotations__", {}).get("return")
    return getattr(function, "__globals__", {}).get(told) if isinstance(told, str) else told
