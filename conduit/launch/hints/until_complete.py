"""What to write for `loop.run_until_complete(x.barrier())`: a program runs in a loop already."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Container
from itertools import pairwise

from conduit.core import written
from conduit.core.handlers import WAITS
from conduit.core.steps import steps_of
from conduit.launch.program.program_node import ProgramNode, source_of


def completed(
    error: BaseException, ours: Callable[[object], bool], foreign: Callable[[str], bool], others: Container[str]
) -> str:
    """Return what a program writes in the place of `run_until_complete`, "" where it has not called that.

    Args:
        error: what came of it.
        ours: says of a class whether it is one of this project.
        foreign: says whether a file is asyncio's.
        others: names of asyncio that something else is written for, where they make what is to be completed.
    """
    for step, inner in pairwise(steps_of(error)):
        code = step.tb_frame.f_code
        if foreign(code.co_filename) or not foreign(inner.tb_frame.f_code.co_filename) or code.co_name == "<module>":
            continue
        match tree := written.node(code, step.tb_lasti):
            case ast.Call(func=ast.Attribute(attr="run_until_complete"), args=[given, *_]):
                call = _awaited(given, ProgramNode(tree, step.tb_frame, ours), others)
                if not call or code.co_flags & WAITS:
                    return call and f"`{call}`, and nothing else: main runs already"
                return f"`{call}` in main: {code.co_name} is a plain function, which cannot wait"
    return ""


def _awaited(given: ast.expr, failed: ProgramNode, others: Container[str]) -> str:
    """Return how a program awaits what it gives to be completed, "" where that is made by a name of `others`."""
    if isinstance(given, ast.Call):
        made = getattr(given.func, "attr", getattr(given.func, "id", ""))
        return "" if made in others else f"await {source_of(given)}"
    if not isinstance(given, ast.Name | ast.Attribute):
        return ""
    called = "(...)" if inspect.isroutine(failed.value(given)) else ""
    return f"await {ast.unparse(given)}{called}"
