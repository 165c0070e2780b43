"""A script that defines a program and runs nothing: Python passes over that in silence, or tells of a coroutine."""

from __future__ import annotations

import ast
import atexit
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path


def install() -> None:
    """Have such a script told of it when Python ends; only a file that can have run nothing is."""
    atexit.register(_tell)


def _tell() -> None:
    known = vars(sys.modules.get("__main__", object))
    programs = [each for each in known.values() if inspect.isfunction(each) and inspect.iscoroutinefunction(each)]
    own = next((each for each in programs if each.__module__ == "__main__"), None)
    if own is None or hasattr(sys, "last_type") or sys.flags.interactive:
        return
    file = own.__code__.co_filename  # some Pythons have taken the script's __file__ away by now
    with suppress(OSError, SyntaxError, ValueError):  # it has been edited meanwhile
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
        if text := _of_thrown_call(tree, known) or _of_definitions(tree, file, known):
            with suppress(OSError, ValueError, AttributeError):  # standard error is closed
                print(f"{file}{text}", file=sys.stderr)


def _of_definitions(tree: ast.Module, file: str, known: Mapping[str, object]) -> str:
    """Say that a file only defines its program, and how that is run; "" where it may have run something."""
    given = _given(tree) if all(map(_only_defines, tree.body)) and _imports(tree) else ""
    command, write = _ways_to_run(file, given, known) if given else ("", "")
    return f" defines main({given}), and nothing has run it: {command}{write} at its end" if write else ""


def _of_thrown_call(tree: ast.Module, known: Mapping[str, object]) -> str:
    """Say that a file calls its program, or `conduit.run_async`, where nothing awaits that; "" where it does not.

    Such a call gives a coroutine, which does nothing.
    """
    for call in _called_at_top(tree.body):
        match call:
            case ast.Call(func=ast.Name(id="main")) if inspect.iscoroutinefunction(known.get("main")):
                _, write = _ways_to_run("", _given(tree), known)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="run_async")) if _is_ours(known, module):
                run = ast.Attribute(ast.Name(module), "run")
                write = f"`{ast.unparse(ast.Call(run, call.args, call.keywords))}`"
            case _:
                continue
        if write and not _runs_one(tree):
            return f":{call.lineno}: `{ast.unparse(call)}` runs nothing by itself: write {write} in its place"
    return ""


def _called_at_top(body: list[ast.stmt]) -> Iterator[ast.Call]:
    """Yield the calls whose results a file throws away, outside of functions, also under `if __name__ == ...`."""
    for node in body:
        match node:
            case ast.Expr(ast.Call() as call):
                yield call
            case ast.If() if ast.unparse(node.test) == "__name__ == '__main__'":
                yield from _called_at_top(node.body)


def _is_ours(known: Mapping[str, object], module: str) -> bool:
    """Say whether a name of a file's is a module of this project."""
    from conduit.launch.program.public import own_packages

    return getattr(known.get(module), "__name__", "").partition(".")[0] in own_packages()


def _runs_one(tree: ast.Module) -> bool:
    """Say whether a file calls something like `conduit.run` beside, which may have run its program."""
    return any(isinstance(node, ast.Call) and ast.unparse(node.func).endswith("run") for node in ast.walk(tree))


def _ways_to_run(file: str, given: str, known: Mapping[str, object]) -> tuple[str, str]:
    """Return how to run a program, by the command, "" where that cannot, and in a script; ("", "") if not known.

    Args:
        file: which.
        given: its name for what main is given.
        known: its global names.
    """
    # Here, for this module is imported first: what these need may be hidden by a file of the program's.
    from conduit.launch import entry_points
    from conduit.launch.call_words import DEFAULT_RANKS
    from conduit.launch.program import front_ends
    from conduit.launch.program.written_for import imports

    command = f"`conduit run {file}`, or "
    if given == "ep":
        return command, ("" if "conduit" in known else "`import conduit`, then ") + "`conduit.run(main)`"
    for front in entry_points.installed(entry_points.FRONT_ENDS):
        if imports(known.values(), front) and front_ends.first_argument(front) == given:
            by_command = command if known.get("api") == front else ""
            return by_command, front_ends.run_of(front, DEFAULT_RANKS, known)
    return "", ""


def _given(tree: ast.Module) -> str:
    """Return the name of what main is given in a file that defines it, `async def main(ep, ...)`; else ""."""
    defined = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == "main"]
    given = [each.arg for node in defined for each in (*node.args.posonlyargs, *node.args.args)]
    return given[0] if given else ""


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
    from conduit.launch.program.public import own_packages

    own = {*own_packages()}
    return bool(packages & own) and packages <= {*own, "numpy", "trio", *sys.stdlib_module_names}
