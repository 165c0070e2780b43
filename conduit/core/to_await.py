"""What to write in the place of a call that was never awaited, by where it stands: not everywhere can anything wait."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import deepcopy
from types import CodeType
from typing import Any, TypeVar

from conduit.core.array_tests import one_truth
from conduit.core.handlers import WAITS

_Tree = TypeVar("_Tree", bound=ast.AST)

_SHOWN = 90
"""Characters of an expression that is to be written in the place of another one."""
_WAIT = "await {}"
NO_WAIT = "a predicate cannot wait: let it look at what this rank has, as ep.segment or what a handler has kept"


def instead(
    around: Sequence[ast.AST],
    made: str,
    write: str = _WAIT,
    *,
    code: CodeType | None = None,
    gives: type | None = None,
    number: str = "",
) -> str:
    """Return what to do: "write `await x.barrier()`".

    Args:
        around: what the call stands in, the outermost first and itself last; empty where that is not known.
        made: the call, as it is shown.
        write: what to write, with {} for the call.
        code: of the function that has made it, for where `around` is not known.
        gives: the class of what the call gives when it is awaited, None where that is not known.
        number: the method that gives a number in the place of the bytes which the call gives; "" where there is none.
    """
    inside = [node for node in around if not _apart(node, around)]
    match around[-2:]:
        case [ast.Subscript(value=value, slice=index), call] if value is call and write == _WAIT:
            write = f"({_WAIT})[{ast.unparse(index)}]"  # `await` takes what the brackets give
        case [ast.BinOp() | ast.Compare() | ast.UnaryOp() | ast.AugAssign(), _] if hasattr(gives, "__await__"):
            write = f"await ({_WAIT})"  # one awaits the call, the other the handle that this gives
    for place in reversed(range(len(inside))):
        match inside[place]:
            case ast.Lambda() as function:
                return _in_lambda(function, inside[:place], around[-1], gives, number)
            case ast.GeneratorExp() as generator:
                return f"write `{_listed(generator, around[-1])}`, with the brackets{_of_function(inside)}"
            case ast.FunctionDef(name=name) if _is_predicate(name, inside[0]):
                return f"{NO_WAIT}, or write a loop in its place, which may `await`"
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                break
    plain = f"write `{write.replace('{}', made, 1)}`"
    if around:
        return plain + _of_function(inside)
    waits = code is None or code.co_flags & WAITS or code.co_name.startswith("<")
    return plain if code is None or waits else plain + _as_async(code.co_name)


def _is_predicate(name: str, whole: ast.AST) -> bool:
    """Say whether a part of the program gives a function of that name to `ep.block_until`."""
    for node in ast.walk(whole):
        match node:
            case ast.Call(func=ast.Attribute(attr="block_until"), args=[ast.Name(id=given), *_]) if given == name:
                return True
    return False


def _apart(node: ast.AST, around: Sequence[ast.AST]) -> bool:
    """Say whether something that a call stands in does not run it: it is what is gone through, or a default value."""
    match node:
        case ast.GeneratorExp(generators=[first, *_]):
            return first.iter in around
        case ast.Lambda(args=given) | ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            decorators = getattr(node, "decorator_list", [])
            return any(each in around for each in (*given.defaults, *given.kw_defaults, *decorators))
    return False


def _of_function(inside: Sequence[ast.AST]) -> str:
    """Say what a plain function is to be before it can await anything; "" where it can."""
    functions = [each for each in inside if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return _as_async(functions[-1].name) if functions and isinstance(functions[-1], ast.FunctionDef) else ""


def _as_async(name: str) -> str:
    if name == "__init__":
        return " where the object is made, and give __init__ what that gives: it cannot wait itself"
    if name.startswith("__"):
        return f" in an async method of another name: {name} cannot wait"
    return f", and {name} as `async def`, which is awaited too"


def _in_lambda(function: ast.Lambda, outside: Sequence[ast.AST], call: ast.AST, gives: type | None, number: str) -> str:
    """Say what to do where a call stands in a lambda, which cannot await it."""
    match outside[-1] if outside else None:
        case ast.Call(func=ast.Attribute(attr="block_until"), args=[first, *_]) if first is function:
            if gives is type(None) and function.body is call:  # in a loop it would be made for ever
                return f"{NO_WAIT}, or write `await {ast.unparse(call)}` in its place"
            body, call = _copied(function.body, call)
            test, besides = one_truth(_Awaiting(call).visit(body), call, gives, number)
            loop = ast.unparse(ast.UnaryOp(ast.Not(), test))
            return f"{NO_WAIT}, or write a loop in its place, `while {loop}: pass`{besides}"
        case ast.Call(func=ast.Name(id="map"), args=[first, given]) if first is function and len(_names(function)) == 1:
            body, call = _copied(function.body, call)
            body = _Awaiting(call).visit(body)
            (name,) = _names(function)
            return f"a lambda cannot wait: write `[{_short(body)} for {name} in {_short(given)}]` in the place of `map`"
        case parent if function.body is call and not isinstance(parent, ast.Call):
            return "a lambda cannot wait itself: write `await` where the lambda is called"
    names = ", ".join(_names(function))
    made = _short(ast.Await(call)) if isinstance(call, ast.expr) else "await ..."
    if names:
        return f"a lambda cannot wait: write `[{made} for {names} in ...]` before it, and use what that gives"
    return f"a lambda cannot wait: write `value = {made}` before it, and use that"


def _names(function: ast.Lambda) -> list[str]:
    return [each.arg for each in function.args.args]


def _listed(generator: ast.GeneratorExp, call: ast.AST) -> str:
    """Return a generator as a list in which a call is awaited."""
    generator, call = _copied(generator, call)
    elt = _Awaiting(call).visit(generator.elt)
    generators = [_Awaiting(call).visit(each) for each in generator.generators]
    return _short(ast.ListComp(elt, generators), "[await ... for ...]")


def _short(tree: ast.expr, otherwise: str = "...") -> str:
    text = ast.unparse(tree)
    return text if len(text) <= _SHOWN else otherwise


def _copied(tree: _Tree, call: ast.AST) -> tuple[_Tree, ast.AST]:
    """Return a copy of a part of the program, and of the call in it: the part itself is that of others too."""
    copies: dict[int, Any] = {}
    copied = deepcopy(tree, copies)
    return copied, copies.get(id(call), call)


class _Awaiting(ast.NodeTransformer):
    """Puts `await` before one call, where it has none.

    Args:
        call: which.
    """

    def __init__(self, call: ast.AST) -> None:
        self._call = call

    def visit(self, node: ast.AST) -> Any:
        """Return a part of the program with its `await`."""
        if node is self._call and isinstance(node, ast.expr):
            return ast.Await(node)
        return node if isinstance(node, ast.Await) and node.value is self._call else self.generic_visit(node)
