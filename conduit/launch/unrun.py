"""A script that defines a program and runs nothing: Python passes over that in silence."""

from __future__ import annotations

import ast
import atexit
import inspect
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def install() -> None:
    """Have such a script told of it when Python ends; only a file that can have run nothing is."""
    atexit.register(_tell)


def _tell() -> None:
    known = vars(sys.modules.get("__main__", object))
    main = known.get("main")
    if not (inspect.isfunction(main) and inspect.iscoroutinefunction(main) and main.__module__ == "__main__"):
        return
    if hasattr(sys, "last_type") or sys.flags.interactive:
        return
    file = main.__code__.co_filename  # some Pythons have taken the script's __file__ away by now
    with suppress(OSError, SyntaxError, ValueError):  # it has been edited meanwhile
        given = _given(ast.parse(Path(file).read_text(encoding="utf-8")))
        if given and (ways := _ways_to_run(file, given, known)):
            with suppress(OSError, ValueError, AttributeError):  # standard error is closed
                print(f"{file} defines main({given}), and nothing has run it: {ways} at its end", file=sys.stderr)


def _ways_to_run(file: str, given: str, known: Mapping[str, object]) -> str:
    """Return how to run a program, "" where that is not known.

    Args:
        file: which.
        given: its name for what main is given.
        known: its global names.
    """
    # Here, for this module is imported first: what these need may be hidden by a file of the program's.
    from conduit.launch import front_ends, registry
    from conduit.launch.processes import DEFAULT_RANKS
    from conduit.launch.written_for import imports

    command = f"`conduit run {file}`, or "
    if given == "ep":
        return command + ("" if "conduit" in known else "`import conduit`, then ") + "`conduit.run(main)`"
    for front in registry.installed(registry.FRONT_ENDS):
        if imports(known.values(), front) and front_ends.first_argument(front) == given:
            return (command if known.get("api") == front else "") + front_ends.run_of(front, DEFAULT_RANKS, known)
    return ""


def _given(tree: ast.Module) -> str:
    """Return what main is given in a file that does nothing but define it, `async def main(ep, ...)`; else ""."""
    defined = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "main"]
    given = [each.arg for node in defined for each in (*node.args.posonlyargs, *node.args.args)]
    return given[0] if given and all(map(_only_defines, tree.body)) and _imports(tree) else ""


def _only_defines(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return not getattr(node, "decorator_list", [])  # which may do anything with what it decorates
        case ast.Expr(ast.Constant()):
            return True
        case ast.Assign() | ast.AnnAssign():
            return not any(isinstance(each, ast.Call) for each in ast.walk(node))
    return False


def _imports(tree: ast.Module) -> bool:
    """Say whether it imports this package and nothing that may have run it."""
    names = [each.name for node in tree.body if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    packages = {name.partition(".")[0] for name in names}
    from conduit.launch.public import own_packages

    own = {*own_packages()}
    return bool(packages & own) and packages <= {*own, "numpy", "trio", *sys.stdlib_module_names}
