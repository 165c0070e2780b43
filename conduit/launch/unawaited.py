"""What is said of a program's own `async def` functions that are called and not awaited: once, with line and remedy.

Python warns of each such call where its coroutine dies.  For a call whose result nobody keeps that is its own line.
"""

from __future__ import annotations

import ast
import linecache
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from typing import Any

from conduit.core import written
from conduit.core.checked_call import CURRENT
from conduit.launch.formatting import shown_by_python
from conduit.launch.tracebacks import program_frame

_NEVER = re.compile(r"coroutine '(?P<name>.+)' was never awaited")
_SOMEWHERE = "{0}{1} was called but never awaited, so it did nothing; write `await {0}`"


@contextmanager
def told(program: str, otherwise: Callable[[str], object] | None = None) -> Iterator[None]:
    """Let ranks warn of such calls, so that those of all ranks are one warning.

    Args:
        program: its file, for coroutines that die in no line of it.
        otherwise: takes the text where no rank runs, as after the job; None: Python tells of it as ever.
    """
    before: Callable[..., Any] = warnings.showwarning
    text_of = lru_cache(maxsize=64)(_text)

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *more: Any) -> None:
        found = _NEVER.match(str(message)) if category is RuntimeWarning else None
        rank = CURRENT.get()
        if found is None or (rank is None and otherwise is None):
            before(message, category, filename, lineno, *more)
            return
        name = found["name"].rpartition(".")[2]
        text = text_of(name, filename, lineno) or text_of(name, program, 0) or _SOMEWHERE.format(f"{name}(...)", "")
        if rank is None:
            assert otherwise is not None
            otherwise(f"warning: {text}")
        elif text not in rank.warnings:
            rank.warn(text)

    added = _let_all_tell()
    warnings.showwarning = show  # type: ignore[assignment]  # which takes what it does not look at together
    try:
        yield
    finally:
        warnings.showwarning = before
        with suppress(ValueError):  # the program has changed them itself
            _filters().remove(added)


def _let_all_tell() -> object:
    """Let each rank tell of a line, of which Python tells once; where the program wants none, or an error, it stays so.

    Returns:
        The filter that has been added.
    """
    filters = _filters()
    warnings.filterwarnings("always", _NEVER.pattern, RuntimeWarning)
    added = filters.pop(0)
    once = (
        place
        for place, (action, _, category, *_) in enumerate(filters)
        if action in ("default", "module", "once") and issubclass(RuntimeWarning, category)
    )
    filters.insert(next(once, len(filters)), added)
    return added


def _filters() -> list[Any]:
    return warnings.filters  # type: ignore[return-value]  # a list that programs change too


def told_in_script() -> AbstractContextManager[None]:
    """Return the same for a script that runs a job; where others than Python show its warnings, they go on to do so."""
    frame, _ = program_frame()
    if frame is None or not shown_by_python():
        return nullcontext()
    return told(frame.f_code.co_filename)


def _text(name: str, file: str, line: int) -> str:
    """Return what is said of a call in a file, at a line or as the only one that is not awaited; "" for none."""
    calls = _unawaited(name, file)
    here = [each for each in calls if each.lineno <= line <= (each.end_lineno or each.lineno)] or calls
    if len({each.lineno for each in here}) != 1:
        return ""
    return _SOMEWHERE.format(_shown(here[0], f"{name}(...)"), f" at {file}:{here[0].lineno}")


def _unawaited(name: str, file: str) -> list[ast.Call]:
    """Return the calls of a function by its name that no `await` in a file is of."""
    try:
        whole = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return []
    awaited = {id(each.value) for each in ast.walk(whole) if isinstance(each, ast.Await)}
    return [
        each
        for each in ast.walk(whole)
        if isinstance(each, ast.Call) and id(each) not in awaited and _name(each.func) == name
    ]


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _shown(call: ast.Call, otherwise: str) -> str:
    text = ast.unparse(call)
    return text if len(text) <= written.SHOWN else otherwise
