"""What to do where Python refuses how a program uses an object of this project: calls, awaits, enters, adds it.

Python names the type alone: "object int can't be used in 'await' expression".  The program's own line says more.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import NamedTuple

from conduit.core import written
from conduit.core.steps import steps_of
from conduit.launch.reports.folders import is_own
from conduit.options import like
from conduit.words import is_a

_UNKNOWN = object()
_METHODS = re.compile(r"'(builtin_function_or_)?(method|function)'")
_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_TIMEOUT = "; for a limit of time write `with trio.fail_after(seconds):` around the call"


class ProgramNode(NamedTuple):
    """What a program's line that failed is made of.

    Attributes:
        tree: the expression or statement.
        frame: whose line it is.
        ours: says of a class whether it is one of this project.
    """

    tree: ast.AST
    frame: FrameType
    ours: Callable[[type], bool]

    def value(self, node: ast.AST) -> object:
        """Return what a name, or an attribute of an object of this project, stands for; nothing is called."""
        match node:
            case ast.Name(id=name):
                for names in (self.frame.f_locals, self.frame.f_globals):
                    if name in names:
                        return names[name]
            case ast.Attribute(value=owner, attr=name) if self.is_ours(there := self.value(owner)):
                try:
                    return getattr(there, name)
                except Exception:  # out of a property, while the report of another error is made
                    return _UNKNOWN
        return _UNKNOWN

    def is_ours(self, there: object) -> bool:
        """Say whether an object is one of this project, or a module."""
        return self.ours(there if isinstance(there, type) else type(there)) or isinstance(there, ModuleType)

    def is_method(self, node: ast.AST) -> bool:
        """Say whether an expression is a method or function of this project that is not called."""
        return isinstance(node, ast.Attribute) and inspect.isroutine(self.value(node))

    def calls_ours(self, node: ast.AST) -> bool:
        """Say whether an expression is a call of such a one."""
        return isinstance(node, ast.Call) and self.is_method(node.func)


def program_node(
    error: BaseException, ours: Callable[[type], bool], *, beyond: Callable[[str], bool] = lambda _: False
) -> ProgramNode | None:
    """Return what the innermost line of a program that an error came through is made of.

    Args:
        error: the error.
        ours: says of a class whether it is one of this project.
        beyond: says of a file whether the line that is meant comes before it.

    Returns:
        None where the error came through no program, or its source cannot be found.
    """
    for step in reversed(steps_of(error)):
        code = step.tb_frame.f_code
        if not is_own(code.co_filename) and not beyond(code.co_filename):
            tree = written.node(code, step.tb_lasti)
            return None if tree is None else ProgramNode(tree, step.tb_frame, ours)
    return None


def misuse(error: TypeError, ours: Callable[[type], bool]) -> str:
    """Return what to do about a TypeError of Python's own, "" where it is not of an object of this project.

    Args:
        error: as it was raised.
        ours: says of a class whether it is one of this project.
    """
    failed, text = program_node(error, ours), str(error)
    if failed is None:
        return ""
    if found := _KEYWORD.search(text):
        return _keyword(failed, found[1]) if "Did you mean" not in text else ""
    if text.startswith("Trio was expecting an async function, but instead it got a coroutine"):
        return _started(failed.tree)
    if "context manager protocol" in text:
        return "; ".join(filter(None, (_entered(failed, node) for node in _contexts(failed.tree))))
    if "__aiter__" in text and "got coroutine" not in text:
        node = failed.tree.iter if isinstance(failed.tree, ast.AsyncFor) else failed.tree
        return (
            f"{_shown(node)} is an ordinary iterator: write `for`, not `async for`" if failed.calls_ours(node) else ""
        )
    if "await" in text:
        return _awaited(failed, failed.tree.value if isinstance(failed.tree, ast.Await) else failed.tree)
    if "object is not callable" in text and isinstance(failed.tree, ast.Call):
        return _called(failed, failed.tree.func)
    if text == "'int' object is not iterable":
        return _counted(failed, failed.tree.iter if isinstance(failed.tree, ast.For) else failed.tree)
    return _reckoned(failed, methods=_METHODS.search(text) is not None)


def _keyword(failed: ProgramNode, name: str) -> str:
    if not failed.calls_ours(failed.tree):
        return ""
    assert isinstance(failed.tree, ast.Call)
    function = failed.value(failed.tree.func)
    known, all_taken = [], []
    for each in inspect.signature(function).parameters.values():  # type: ignore[arg-type]
        if each.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            known.append(each.name)
            all_taken.append(each.name)
        elif each.kind is inspect.Parameter.VAR_POSITIONAL:
            all_taken.append(f"*{each.name}")
    takes = ", ".join(all_taken) or "none"
    called = ast.unparse(failed.tree.func)
    return f"{called} has no argument {name}={like(name, known)}; it takes {takes}" + _TIMEOUT * (name == "timeout")


def _started(tree: ast.AST) -> str:
    match tree:
        case ast.Call(func=function, args=[ast.Call() as made, *rest]):
            given = [made.func, *made.args, *(keyword.value for keyword in made.keywords), *rest]
            words = ", ".join(ast.unparse(each) for each in given)
            return f"give the function and its arguments apart, without calling it: `{ast.unparse(function)}({words})`"
    return ""


def _awaited(failed: ProgramNode, node: ast.AST) -> str:
    if failed.calls_ours(node):
        return f"{_shown(node)} is a plain call, which never waits: write it without `await`"
    if failed.is_method(node):
        return f"{_shown(node)} is a method: call it, `await {_called_as(failed, node)}`"
    if isinstance(node, ast.List | ast.Tuple):
        return "a list cannot be awaited: await its calls one by one, or start each in a nursery of Trio"
    value = failed.value(node)
    if value is _UNKNOWN:
        return ""
    if text := getattr(type(value), "_instead", {}).get("await"):
        return f"{_shown(node)} {is_a(value)}, which is no call: {text}"
    if isinstance(node, ast.Attribute):
        return f"{_shown(node)} {is_a(value)}, which is there at once: write it without `await`"
    return ""


def _contexts(tree: ast.AST) -> list[ast.expr]:
    """Return what a `with` enters."""
    if isinstance(tree, ast.With | ast.AsyncWith):
        return [item.context_expr for item in tree.items]
    return [tree] if isinstance(tree, ast.expr) else []


def _entered(failed: ProgramNode, node: ast.expr) -> str:
    if failed.is_method(node):
        return f"{_shown(node)} is a method: call it, `async with {_called_as(failed, node)}:`"
    value = failed.value(node)
    made = node.value if isinstance(node, ast.Await) else node
    if failed.calls_ours(made) or (value is not _UNKNOWN and failed.ours(type(value))):
        return f"to enter it may take time: write `async with {_shown(node)}:`"
    return ""


def _called(failed: ProgramNode, node: ast.expr) -> str:
    value = failed.value(node)
    if isinstance(node, ast.Attribute) and value is not _UNKNOWN:
        return f"{_shown(node)} {is_a(value)} and no method: write it without parentheses"
    return ""


def _counted(failed: ProgramNode, node: ast.AST) -> str:
    value = failed.value(node)
    if isinstance(node, ast.Attribute) and isinstance(value, int):
        return f"{_shown(node)} {is_a(value)}: write `range({_shown(node)})`"
    return ""


def _reckoned(failed: ProgramNode, *, methods: bool) -> str:
    """Say what of an expression is not what it was taken for: a method not called, a handle not awaited."""
    for node in _not_called(failed.tree):
        if methods and failed.is_method(node):
            return f"{_shown(node)} is a method: call it, `{_called_as(failed, node)}`"
        value = failed.value(node)
        if value is not _UNKNOWN and failed.ours(type(value)) and hasattr(value, "__await__"):
            return f"{_shown(node)} {is_a(value)}: write `await {_shown(node)}` for its result"
    return ""


def _not_called(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in one that are not what a call calls."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(tree, ast.Call) and child is tree.func) and isinstance(child, ast.expr):
            yield child
        yield from _not_called(child)


def _called_as(failed: ProgramNode, node: ast.AST) -> str:
    """Return how a method is called: with parentheses that are empty where it needs no argument."""
    try:
        inspect.signature(failed.value(node)).bind()  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return f"{_shown(node)}(...)"
    return f"{_shown(node)}()"


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    if len(text) <= written.SHOWN or not isinstance(node, ast.Call):
        return text
    return f"{ast.unparse(node.func)}(...)"
