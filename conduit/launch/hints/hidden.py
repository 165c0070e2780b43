"""A file of the user's own that is imported in the place of a package, because it stands beside the program.

Whatever it hides may be what this package needs itself: so nothing but Python's own modules is imported here.
"""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_MISSED = re.compile(r"^cannot import name '(\w+)'")
_BESIDE, _NAME = os.path.split(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
"""The folder that this package is in, and what it is called there."""
_CIRCLE = "partially initialized module"


def hiding(error: BaseException) -> str:
    """Return which file hides a package that an error's import or attribute is of, and what to do; "" for none.

    It is said only where it is known: the file stands beside the program, and what the error misses is in the other.
    """
    if not isinstance(error, ImportError | AttributeError):
        return ""
    folders = {_folder(_script()), os.path.realpath(sys.path[0] if sys.path else ""), _begun(error)}
    for name, file, missed in _suspects(error):
        if missed and (text := _not_imported(name, missed, folders)):
            return text
        if os.path.basename(file) == f"{name}.py" and _folder(file) in folders and not _is_installed(file):
            spec = _elsewhere(name, os.path.dirname(file))
            if spec is not None and spec.origin is not None and (not missed or _has(spec, missed)):
                kind = "module" if spec.submodule_search_locations is None else "package"
                return f"{file} hides the {kind} {name}: give the file another name, such as my_{name}.py"
    return ""


def hider(folder: str) -> str:
    """Return which file in a folder hides this package from the Python that begins there, "" for none."""
    spec = PathFinder.find_spec(_NAME, [folder])
    file = "" if spec is None else spec.origin or ""
    return file if os.path.basename(file) == f"{_NAME}.py" and not os.environ.get("PYTHONSAFEPATH") else ""


def _not_imported(name: str, missed: str, folders: set[str]) -> str:
    """Return which file is not imported because it is called as this package, which has not what is missed; or ""."""
    for folder in sorted(folders) if name == _NAME else ():
        file = os.path.join(folder, f"{name}.py")
        if folder and _has(ModuleSpec(name, None, origin=file), missed):
            return (
                f"`{name}` is this package, and {file} has {missed}: give the file another name, such as my_{name}.py"
            )
    return ""


def _suspects(error: ImportError | AttributeError) -> Iterator[tuple[str, str, str]]:
    """Yield names of modules with their files, and what the error misses in them; "" where it is the whole module."""
    there = getattr(error, "obj", None)
    if isinstance(there, ModuleType):
        yield _module(there.__name__, error.name or "")
    elif isinstance(error, ModuleNotFoundError):
        name, _, missed = (error.name or "").partition(".")
        if missed:
            yield _module(name, missed.partition(".")[0])
    elif isinstance(error, ImportError) and (found := _MISSED.match(str(error))):
        yield _module(error.name or "", found[1])
    if _CIRCLE in str(error):
        yield from ((name, file, "") for name, file in _imported_by_others(error))


def _module(name: str, missed: str) -> tuple[str, str, str]:
    return name, getattr(sys.modules.get(name), "__file__", None) or "", missed


def _imported_by_others(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield the modules beside the program whose import by a package has led to an error."""
    step, before = error.__traceback__, ""
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith("<"):
            if step.tb_frame.f_code.co_name == "<module>" and before and _is_of_package(before):
                yield step.tb_frame.f_globals.get("__name__", ""), file
            before = file
        step = step.tb_next


def _script() -> str:
    return getattr(sys.modules.get("__main__"), "__file__", None) or ""


def _begun(error: BaseException) -> str:
    """Return the folder of the program in whose lines an error begins, "" for none: the command has started it."""
    step = error.__traceback__
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not file.startswith("<") and not _is_of_package(file):
            return _folder(file)
        step = step.tb_next
    return ""


def _is_of_package(file: str) -> bool:
    """Say whether a file is one of this package, of a layer beside it, of an installed package, or of Python."""
    if _is_installed(file):
        return True
    beside, real = _BESIDE + os.sep, os.path.realpath(file)
    package, inside, _ = real.removeprefix(beside).partition(os.sep)
    return real.startswith(beside) and bool(inside) and os.path.exists(f"{beside}{package}{os.sep}__init__.py")


def _is_installed(file: str) -> bool:
    python = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
    folder = _folder(file) + os.sep
    return folder.startswith(python) or not {"site-packages", "dist-packages"}.isdisjoint(folder.split(os.sep))


def _folder(file: str) -> str:
    return os.path.dirname(os.path.realpath(file)) if file else ""


def _has(spec: ModuleSpec, name: str) -> bool:
    """Say whether a module that is not imported is seen to have a name: its source has it, or its folder."""
    with suppress(OSError):
        for folder in spec.submodule_search_locations or ():
            if any(each.partition(".")[0] == name for each in os.listdir(folder)):
                return True
    try:
        with open(spec.origin or "", "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return False
    return name in _names(tree)


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a module gives to something at its top level."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.alias(name=name, asname=other):
                yield other or name.partition(".")[0]
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
        yield from _names(node)


def _elsewhere(name: str, folder: str) -> ModuleSpec | None:
    """Return where else a module of that name is than in a folder."""
    hidden = os.path.realpath(folder)
    path = [each for each in sys.path if os.path.realpath(each) != hidden]
    for finder in sys.meta_path:
        spec = PathFinder.find_spec(name, path) if finder is PathFinder else finder.find_spec(name, None)
        if spec is not None and os.path.realpath(spec.origin or folder) != os.path.join(hidden, f"{name}.py"):
            return spec
    return None
