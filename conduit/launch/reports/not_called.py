"""Comparisons of methods that a program does not call, as `if comm.Get_rank == 0`: all ranks take one way, and wait.

This is read in the source of functions that wait; nothing of the program's is run.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from types import FrameType

from conduit.core import written
from conduit.launch.reports.static_values import static_value


def compares_methods(frame: FrameType) -> list[str]:
    """Return, for a function of a program that waits, what to write where it compares a method with a number or text.

    Args:
        frame: of the function.
    """
    code, names = frame.f_code, {**frame.f_globals, **frame.f_locals}
    lines = {line for _, _, line in code.co_lines() if line is not None}
    found = []
    for node in written.nodes(code):
        match node:
            case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq()], comparators=[right]) if node.lineno in lines:
                for method, other in ((left, right), (right, left)):
                    if _is_plain(other, names) and _is_method(method, names):
                        where, text = written.at(code.co_filename, node.lineno), ast.unparse(method)
                        found.append(
                            f"{where} compares {text}, a method, which equals nothing else: call it, `{text}()`"
                        )
    return found


def _is_plain(node: ast.expr, names: Mapping[str, object]) -> bool:
    """Say whether an expression is a number or a text, or a variable that has one."""
    if isinstance(node, ast.Name):
        return isinstance(static_value(node, names), int | float | str)
    return isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp) and ast.unparse(node) != "None"


def _is_method(node: ast.expr, names: Mapping[str, object]) -> bool:
    """Say whether an expression is a method of what a variable has."""
    return isinstance(node, ast.Attribute) and inspect.isroutine(static_value(node, names))
