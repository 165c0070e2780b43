"""What to say where a program's own limit of time has ended a wait: which one, and what it waited for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from types import FrameType

import trio

from conduit.core import written
from conduit.core.steps import steps_of
from conduit.launch.printing.phrases import named
from conduit.launch.program.folders import is_between


def too_slow(error: trio.TooSlowError) -> str:
    """Return what took longer than a program allowed it, by `trio.fail_after`, and what for; "" where that is unknown.

    Args:
        error: as Trio raises it; what it has cancelled is its context.
    """
    limit = _limit(error)
    return "; ".join(dict.fromkeys(text for each in cancelled(error.__context__) if (text := _wait(each, limit))))


def cancelled(context: BaseException | None) -> Iterator[BaseException]:
    """Yield what Trio has cancelled, of one task or of several."""
    if isinstance(context, BaseExceptionGroup):
        for each in context.exceptions:
            yield from cancelled(each)
    elif isinstance(context, trio.Cancelled):
        yield context


def _limit(error: BaseException) -> str:
    """Return the limit as it is written, such as `trio.fail_after(0.001)`."""
    for step in reversed(steps_of(error)):
        if not is_between(step.tb_frame.f_code.co_filename):
            tree = written.node(step.tb_frame.f_code, step.tb_lasti)
            if isinstance(tree, ast.With | ast.AsyncWith):
                tree = tree.items[0].context_expr
            if isinstance(tree, ast.Call):
                return f"`{ast.unparse(tree)}` allows"
    return "was allowed"


def _wait(error: BaseException, limit: str) -> str:
    """Return which wait of a program was ended, and what it was for."""
    steps = steps_of(error)
    own = [number for number, step in enumerate(steps) if not is_between(step.tb_frame.f_code.co_filename)]
    if not own:
        return ""
    last = steps[own[-1]]
    tree = written.node(last.tb_frame.f_code, last.tb_lasti)
    text = "" if tree is None else ast.unparse(tree)
    call = f"`{text}` at " if isinstance(tree, ast.expr) and len(text) <= written.SHOWN else ""
    where = written.place(last.tb_frame.f_code, last.tb_lasti)
    inside = [step.tb_frame for step in steps[own[-1] + 1 :]]
    return f"{call or 'what is at '}{where} took longer than {limit}{_what_for(inside)}"


def _what_for(frames: list[FrameType]) -> str:
    """Return what a wait was for, by the frames inside its line, outermost first."""
    for frame in reversed(frames):
        for value in frame.f_locals.values():
            what, peers = getattr(value, "what", None), getattr(value, "peers", None)
            if isinstance(what, str) and callable(peers):  # what a port waits for
                ranks: list[int] = []
                with suppress(Exception):  # who is missing is worked out only now
                    ranks = sorted(set(peers()))
                # Of others nothing is known here: who is named may have come to a barrier, and wait for others itself.
                whom = f", which depended on {named(ranks)}" if ranks else ""
                return f": it waited for {what or 'its predicate to become true'}{whom}"
    return ""
