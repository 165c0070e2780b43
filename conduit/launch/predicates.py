"""What to do about a predicate of `block_until` whose result is neither true nor false: an array of numpy."""

from __future__ import annotations

import ast
from types import CodeType

from conduit.core import written
from conduit.core.handlers import code_of
from conduit.core.steps import steps_of
from conduit.launch.reports.folders import is_own

_AMBIGUOUS = "The truth value of an array with more than one element is ambiguous"
"""How numpy refuses to take an array for one truth value."""
_NAMES = ("predicate", "_ready")


def is_of_predicate(error: BaseException) -> bool:
    """Say whether an error is that a program's predicate has given an array."""
    return _code(error) is not None


def many_truths(error: ValueError) -> str:
    """Say how a predicate is written that has given an array; "" for other errors."""
    code = _code(error)
    if code is None:
        return ""
    what = f"the predicate at {written.at(code.co_filename, code.co_firstlineno)} returned an array"
    bodies = [
        each.body for each in written.nodes(code) if isinstance(each, ast.Lambda) and each.lineno == code.co_firstlineno
    ]
    if code.co_name != "<lambda>" or len(bodies) != 1:
        return f"{what}, which has many truth values: return its `.all()`, or its `.any()`"
    text = ast.unparse(bodies[0])
    value = text if isinstance(bodies[0], ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({text})"
    return f"{what}, which has many truth values: write `lambda: {value}.all()`, or `.any()`"


def _code(error: BaseException) -> CodeType | None:
    """Return the code of the predicate whose result this package has taken for a truth value, None for other errors."""
    steps = steps_of(error) if isinstance(error, ValueError) and str(error).startswith(_AMBIGUOUS) else []
    last = steps[-1].tb_frame if steps else None
    if last is None or not is_own(last.f_code.co_filename):
        return None
    known = last.f_locals
    given = [known.get("predicate"), *(getattr(known.get("self"), name, None) for name in _NAMES)]
    return next((code_of(each) for each in given if callable(each)), None)
