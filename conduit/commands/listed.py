"""What stands for a command where it is only listed: its docstring, read from the source, its module not imported."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from itertools import accumulate
from typing import Any


def listed(target: str) -> Callable[[], None] | None:
    """Return a function with the docstring of a command, not to be called; None where only its import tells that.

    Args:
        target: where the command is found, `package.module:function`.
    """
    module, _, name = target.partition(":")
    if module in sys.modules:  # which costs nothing to ask
        return None
    try:
        body = ast.parse(_source(module)).body
    except Exception:  # which the import tells better
        return None
    text = _docstring(body, name)
    return None if text is None else _stand_in(text)


def _stand_in(text: str) -> Callable[[], None]:
    def only_listed() -> None:
        raise NotImplementedError("a command that is only listed has been called")

    only_listed.__doc__ = text
    return only_listed


def _source(module: str) -> str:
    """Return the source of a module, which is found without an import of the packages that it is in."""
    found: Any = None
    for name in accumulate(module.split("."), "{}.{}".format):
        found = _found_in(found, name)
    source: str = found.loader.get_source(module)
    return source


def _found_in(package: ModuleSpec | None, name: str) -> ModuleSpec:
    """Return where a module is found, in a package if one is given."""
    folders = None if package is None else package.submodule_search_locations
    return next(filter(None, (finder.find_spec(name, folders) for finder in sys.meta_path)))


def _docstring(body: list[ast.stmt], name: str) -> str | None:
    """Return the docstring of a module's function; None where there is none, or something else may decide it."""
    found: str | None = None
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name == name:
                if isinstance(node, ast.ClassDef) or node.decorator_list:
                    return None
                found = ast.get_docstring(node, clean=False)
        elif any(_names(part, name) for part in ast.walk(node)):
            return None
    return found


def _names(part: ast.AST, name: str) -> bool:
    """Say whether a part of a statement has a name, or may give it to something."""
    match part:
        case (
            ast.Name(id=given)
            | ast.FunctionDef(name=given)
            | ast.AsyncFunctionDef(name=given)
            | ast.ClassDef(name=given)
        ):
            return given == name
        case ast.alias():
            return name == (part.asname or part.name) or part.name == "*"
    return False
