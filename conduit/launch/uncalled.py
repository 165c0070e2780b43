"""Statements of a program that name a method and do not call it, as `x.barrier`: Python passes over them in silence."""

from __future__ import annotations

import ast
import importlib
import inspect
import linecache
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

from conduit.errors import ConduitWarning
from conduit.launch.hints import is_ours, public_modules
from conduit.launch.tracebacks import program_frame

_VALUES = property, cached_property, MemberDescriptorType, GetSetDescriptorType
_LOOKED: set[str] = set()
"""Files at which this process has looked for its own calls of `conduit.run`: once is enough."""


def warn_of_caller() -> None:
    """Warn of the program that runs a job, once for each file: at the line of each such statement."""
    frame, _ = program_frame()
    if frame is None or frame.f_code.co_filename in _LOOKED:
        return
    file, variables = frame.f_code.co_filename, frame.f_globals
    _LOOKED.add(file)
    with suppress(SyntaxError, ValueError):  # it has been edited meanwhile
        for line, text in uncalled(ast.parse("".join(linecache.getlines(file, variables)))):
            warnings.warn_explicit(text, ConduitWarning, file, line, variables.get("__name__"))


def uncalled(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the line of each such statement and what is to be said of it, in the order of lines.

    Only names of methods are looked for that no public class has as anything else, nor a class of the program.

    Args:
        tree: the program.
    """
    found = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute)
    ]
    if not found:
        return []
    own = set(_defined(tree))
    texts = []
    for node in sorted(found, key=lambda node: node.lineno):
        methods = [] if node.attr in own or node.attr.startswith("_") else _methods(node.attr)
        if methods and not _is_module(node.value, tree):
            wait = "await " if all(map(_is_awaited, methods)) else ""
            name = ast.unparse(node)
            call = f"{wait}{name}({'...' if any(map(_takes, methods)) else ''})"
            texts.append((node.lineno, f"`{name}` names the method and does not call it: `{call}`"))
    return texts


def _defined(tree: ast.Module) -> Iterator[str]:
    """Yield the names that classes of the program define, or that it assigns to attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _is_module(node: ast.expr, tree: ast.Module) -> bool:
    """Say whether an expression begins with the name of a module that the program imports."""
    while isinstance(node, ast.Attribute):
        node = node.value
    imports = [each for each in ast.walk(tree) if isinstance(each, ast.Import)]
    names = {(each.asname or each.name).partition(".")[0] for node in imports for each in node.names}
    return isinstance(node, ast.Name) and node.id in names


def _methods(name: str) -> list[FunctionType]:
    """Return the methods of that name of all public classes; none where one of these has it as anything else."""
    found = []
    for kind in _classes():
        there = inspect.getattr_static(kind, name, None)
        if isinstance(there, FunctionType):
            found.append(there)
        elif there is not None and (isinstance(there, _VALUES) or not hasattr(there, "__get__")):
            return []
    return found


def _classes() -> set[type]:
    """Return the classes whose objects programs work with."""
    found = set()
    for each in public_modules():
        module = importlib.import_module(each)
        values = [getattr(module, name) for name in module.__all__] + list(getattr(module, "_given", ()))
        found |= {value for value in values if isinstance(value, type) and is_ours(value)}
    return found


def _is_awaited(method: Any) -> bool:
    told = str(method.__annotations__.get("return", "")).partition("[")[0]
    if inspect.iscoroutinefunction(method) or told in ("Coroutine", "Awaitable") or "check" in vars(method):
        return True
    inside = getattr(method, "__wrapped__", None)
    return inside is not None and _is_awaited(inside)


def _takes(method: FunctionType) -> bool:
    """Say whether a method needs arguments beside its object."""
    try:
        inspect.signature(method).bind(None)
    except TypeError:
        return True
    return False
