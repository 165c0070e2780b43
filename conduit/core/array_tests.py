"""How a program tests what an awaited call gives where that is an array, which has no one truth value for a `while`."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

_LONGEST = 8
"""Bytes of the longest number that such a method gets."""
_WHERE_ARRAY = "; end it with `.all()` where that gives an array"


def one_truth(test: ast.expr, call: ast.AST, gives: type | None, number: str = "") -> tuple[ast.expr, str]:
    """Return a test so that it has one truth value, and what to say besides.

    Args:
        test: with the `await` of a call in it.
        call: the call.
        gives: the class of what that gives, None where it is not known.
        number: the method that takes the same and gives a number in the place of its bytes; "" where there is none.
    """
    inside = _path(test, call)
    if not inside or not isinstance(call, ast.Call) or any(each.arg == "out" for each in call.keywords):
        return test, ""
    named_get = isinstance(call.func, ast.Attribute) and call.func.attr == "get"
    many = _elementwise(inside)
    if gives is None and named_get and many is test:
        return test, _WHERE_ARRAY
    if gives is None or not issubclass(gives, np.ndarray) or many is None:
        return test, ""
    match inside[1:]:
        case [] | [ast.Compare(comparators=[ast.Constant(int())]), *_] if number and _is_short(call):
            assert isinstance(call.func, ast.Attribute)
            call.func.attr = number
            return test, ""
        case [ast.Compare(comparators=[ast.Constant(bytes())]), *_]:
            return _Putting(inside[0], ast.Call(ast.Name("bytes"), [inside[0]], [])).visit(test), ""
    return _Putting(many, ast.Call(ast.Attribute(many, "all"), [], [])).visit(test), ", or with `.any()`"


def _path(test: ast.AST, call: ast.AST) -> list[ast.expr]:
    """Return what the result of a call is part of in a test: its `await` first, the whole test last."""
    if isinstance(test, ast.Await) and test.value is call:
        return [test]
    below = next(filter(None, (_path(each, call) for each in ast.iter_child_nodes(test))), [])
    return [*below, test] if below and isinstance(test, ast.expr) else below


def _elementwise(inside: list[ast.expr]) -> ast.expr | None:
    """Return the largest part of a test that is an array where the first part is one; None where no truth is asked."""
    last = inside[0]
    for each in inside[1:]:
        match each:
            case ast.BinOp() | ast.UnaryOp(op=ast.USub() | ast.Invert()):
                last = each
            case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()]):
                last = each
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return last
            case _:  # it is taken apart, or given to a function
                return None
    return last


def _is_short(call: ast.Call) -> bool:
    """Say whether a call gets the bytes of one number: `x.get(rank, offset, 8)`."""
    match call:
        case ast.Call(args=[_, _, ast.Constant(int(nbytes))], keywords=[]):
            return 0 < nbytes <= _LONGEST
    return False


class _Putting(ast.NodeTransformer):
    """Puts one part of a test in the place of another.

    Args:
        old: that one.
        new: what has it inside, perhaps.
    """

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        """Return a part of the test, the new one in the place of the old."""
        return self._new if node is self._old else self.generic_visit(node)
