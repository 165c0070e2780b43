"""What to write where a program has awaited a call once that gives a handle, and has taken the handle for its result.

The `await` seems to be there already: `await x.get_nb(...) + 1` adds to the handle, which is awaited in its turn.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re

from conduit.core import written
from conduit.core.results import usual_kind
from conduit.launch.program.program_node import ProgramNode, source_of
from conduit.launch.program.public import public_modules
from conduit.words import a_kind

_KINDS = re.compile(r"'([A-Za-z_]\w*)'")
"""How Python names the classes of what it refuses to reckon with."""
_AT_ONCE = "_nb"
"""What the names of calls end in that give a handle; without it they give the result."""


def of_handle(failed: ProgramNode, text: str) -> str:
    """Say what to write where what an `await` gave is a handle and not the result; "" where it is no handle.

    Args:
        failed: the line that failed.
        text: what Python said of it, with the class of each operand.
    """
    for node, name in zip(_operands(failed.tree), _KINDS.findall(text), strict=False):
        kind = _awaited_kind(name) if isinstance(node, ast.Await) else None
        if kind is not None and isinstance(node, ast.Await):
            return awaited_once(failed, node, kind)
    return ""


def awaited_once(failed: ProgramNode, node: ast.Await, kind: type) -> str:
    """Say what to write in the place of an `await` that gives a handle.

    Args:
        failed: the line that failed.
        node: the `await`.
        kind: the class of the handle.
    """
    given = f"`await {source_of(node.value)}` gives {a_kind(kind)}"
    match node.value:
        case ast.Name(id=name):
            found = _made(failed, node.value, kind)
            write = f"write `{name} = await {source_of(found[0])}` at {found[1]}" if found else "await it there"
            return (
                f"{given}, since {name} is a call that was not awaited when it was made: {write}, and then `await "
                f"{name}` gives its result"
            )
        case ast.Call(func=ast.Attribute(value=owner, attr=name) as method) if _has_result(failed, method):
            plain = ast.Call(ast.Attribute(owner, name.removesuffix(_AT_ONCE)), node.value.args, node.value.keywords)
            return (
                f"{given}: write `await {source_of(plain)}` for its result, or keep the handle and `await` that where "
                "the result is needed"
            )
    return f"{given}: write `await (await {source_of(node.value)})` for its result"


def _operands(tree: ast.AST) -> list[ast.expr]:
    """Return what an operation is of, in the order in which Python names their classes."""
    match tree:
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return [left, right]
        case ast.AugAssign(target=left, value=right):
            return [left, right]
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner) | ast.Call(args=[inner]) | ast.For(iter=inner):
            return [inner]
    return []


def _awaited_kind(name: str) -> type | None:
    """Return the public class of that name whose objects are awaited; None where there is none."""
    found = [getattr(importlib.import_module(each), name, None) for each in public_modules()]
    return next((each for each in found if isinstance(each, type) and hasattr(each, "__await__")), None)


def _has_result(failed: ProgramNode, method: ast.Attribute) -> bool:
    """Say whether there is a call like one that gives a handle, which gives the result itself."""
    if not method.attr.endswith(_AT_ONCE):
        return False
    return inspect.isroutine(failed.value(ast.Attribute(method.value, method.attr.removesuffix(_AT_ONCE))))


def _made(failed: ProgramNode, taken: ast.Name, kind: type) -> tuple[ast.Call, str] | None:
    """Return the call that a variable is, which gives a handle when it is awaited, and its line; None for another."""
    code, found = failed.frame.f_code, None
    for each in written.nodes(code):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if name == taken.id:
                before = code.co_firstlineno <= each.lineno <= taken.lineno
                function = failed.function(call) if before else None
                if function is not None and usual_kind(function) is kind:
                    found = call, written.at(code.co_filename, each.lineno)
    return found
