"""A script that defines a program and runs nothing: Python passes over that in silence."""

from __future__ import annotations

import ast
import atexit
import inspect
import sys
from contextlib import suppress
from pathlib import Path


def install() -> None:
    """Have such a script told of it when Python ends; only a file that can have run nothing is."""
    atexit.register(_tell)


def _tell() -> None:
    main = getattr(sys.modules.get("__main__"), "main", None)
    if not (inspect.isfunction(main) and inspect.iscoroutinefunction(main) and main.__module__ == "__main__"):
        return
    if hasattr(sys, "last_type") or sys.flags.interactive:
        return
    file = main.__code__.co_filename  # some Pythons have taken the script's __file__ away by now
    with suppress(OSError, SyntaxError, ValueError):  # it has been edited meanwhile
        if is_unrun(ast.parse(Path(file).read_text(encoding="utf-8"))):
            told = f"{file} defines main(ep), and nothing has run it"
            with suppress(OSError, ValueError, AttributeError):  # standard error is closed
                print(f"{told}: `conduit run {file}`, or `conduit.run(main)` at its end", file=sys.stderr)


def is_unrun(tree: ast.Module) -> bool:
    """Say whether a file defines `async def main(ep, ...)` and does nothing but define: no call, no condition."""
    for node in tree.body:
        match node:
            case ast.Import() | ast.ImportFrom() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if getattr(node, "decorator_list", []):
                    return False  # which may do anything with what it decorates
            case ast.Expr(ast.Constant()):
                pass
            case ast.Assign() | ast.AnnAssign() if not any(isinstance(each, ast.Call) for each in ast.walk(node)):
                pass
            case _:
                return False
    defined = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "main"]
    given = [each.arg for node in defined for each in (*node.args.posonlyargs, *node.args.args)]
    return given[:1] == ["ep"] and _imports(tree)


def _imports(tree: ast.Module) -> bool:
    """Say whether it imports this package and nothing that may have run it."""
    names = [each.name for node in tree.body if isinstance(node, ast.Import) for each in node.names]
    names += [node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)]
    packages = {name.partition(".")[0] for name in names}
    return "conduit" in packages and packages <= {"conduit", "numpy", "trio", *sys.stdlib_module_names}
