"""What to do about a predicate of `block_until` whose result is neither true nor false: an array of numpy."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, CoroutineType

from conduit.core import written
from conduit.core.handlers import code_of
from conduit.core.steps import steps_of
from conduit.launch.program.folders import is_own

_AMBIGUOUS = "The truth value of an array with more than one element is ambiguous"
"""How numpy refuses to take an array for one truth value."""
_NAMES = ("predicate", "_ready")


def is_of_predicate(error: BaseException) -> bool:
    """Say whether an error is that a program's predicate has given an array."""
    return _code(error) is not None


def waits_in_predicate(error: BaseException, said: str) -> bool:
    """Say whether the array is none that was meant: what is compared is a call that was not awaited.

    Args:
        error: that a predicate has given an array.
        said: what is told of a call that was not awaited, with the line that has made it.
    """
    predicate = _predicate(error)
    if predicate is None:
        return False
    code = code_of(predicate)
    assert code is not None
    lines = {line for _, _, line in code.co_lines() if line is not None}
    made = (f" at {written.at(code.co_filename, line)} was called" in said for line in lines)
    return any(made) or any(isinstance(value, CoroutineType) for value in _seen(predicate, code))


def _seen(predicate: Callable[..., object], code: CodeType) -> Iterator[object]:
    """Yield what variables have that a predicate reads."""
    for cell in getattr(predicate, "__closure__", None) or ():
        with suppress(ValueError):  # one that has not been assigned
            yield cell.cell_contents
    names = getattr(predicate, "__globals__", {})
    yield from (names[name] for name in code.co_names if name in names)


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
    predicate = _predicate(error)
    return None if predicate is None else code_of(predicate)


def _predicate(error: BaseException) -> Callable[..., object] | None:
    """Return that predicate."""
    steps = steps_of(error) if isinstance(error, ValueError) and str(error).startswith(_AMBIGUOUS) else []
    last = steps[-1].tb_frame if steps else None
    if last is None or not is_own(last.f_code.co_filename):
        return None
    known = last.f_locals
    given = [known.get("predicate"), *(getattr(known.get("self"), name, None) for name in _NAMES)]
    return next((each for each in given if callable(each) and code_of(each) is not None), None)
