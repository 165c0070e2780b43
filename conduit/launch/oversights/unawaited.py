"""What is said of a program's own `async def` functions that are called and not awaited: once, with line and remedy.

Python warns of each such call where its coroutine dies.  For a call whose result nobody keeps that is its own line.
"""

from __future__ import annotations

import ast
import linecache
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from typing import Any, NamedTuple

from conduit.core import to_await, written
from conduit.core.calls import held_by, never_ran, unawaited_anywhere
from conduit.core.checked_call import CURRENT
from conduit.core.endpoint import LATER
from conduit.core.steps import steps_of
from conduit.launch.printing.formatting import shown_by_python
from conduit.launch.program.folders import is_library, is_own, program_frame
from conduit.words import text_of

_SPEAKS_OF_ONE = re.compile("coroutine|a call without `await`")
_NEVER = re.compile(r"coroutine '(?P<name>.+)' was never awaited")
_SOMEWHERE = "{}{} was called but never awaited, so it did nothing; {}"
_IN_HANDLER = "{}{} was called in a handler, which may not wait, so it did nothing; {}"


@contextmanager
def told(program: str, otherwise: Callable[[str], object] | None = None) -> Iterator[None]:
    """Let ranks warn of such calls, so that those of all ranks are one warning.

    Args:
        program: its file, for coroutines that die in no line of it.
        otherwise: takes the text where no rank runs, as after the job; None: Python tells of it as ever.
    """
    before: Callable[..., Any] = warnings.showwarning
    text_of = lru_cache(maxsize=64)(_found)

    def show(message: Warning | str, category: type[Warning], filename: str, lineno: int, *more: Any) -> None:
        found = _NEVER.match(str(message)) if category is RuntimeWarning else None
        rank = CURRENT.get()
        if found is None or (rank is None and otherwise is None):
            before(message, category, filename, lineno, *more)
            return
        name = found["name"].rpartition(".")[2]
        places = [text_of(name, program, 0)]
        if not is_own(filename):
            places.insert(0, text_of(name, filename, lineno))
        elif not any(places):
            return  # Ctrl-C has come between a call of this project and its `await`: the program has forgotten nothing
        text = _said(places, name, in_handler=rank is not None and rank.in_handler)
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


def held_own(error: BaseException, *, in_handler: bool = False) -> list[str]:
    """Return what to say of the calls of a program's own functions that it held when an error rose and had not awaited.

    Those that it holds in attributes, say, are found where the error speaks of such a one.  The calls are closed, since
    Python would say less of them.

    Args:
        error: it.
        in_handler: whether a handler has raised it.
    """
    steps = [step for step in steps_of(error) if not is_own(step.tb_frame.f_code.co_filename)]
    said = []
    if steps and isinstance(error, AttributeError) and never_ran(error.obj):
        said.append(
            _close(error.obj, [(steps[-1].tb_frame.f_code.co_filename, steps[-1].tb_lineno, "")], in_handler=in_handler)
        )
    for code, variable, value in held_by(error):
        if not is_own(code.co_filename) and never_ran(value):
            said.append(_close(value, [(code.co_filename, 0, variable)], in_handler=in_handler))
    if not said and _SPEAKS_OF_ONE.search(text_of(error)):
        files = dict.fromkeys(step.tb_frame.f_code.co_filename for step in reversed(steps))
        found = [(each, each.cr_code.co_filename) for each in unawaited_anywhere()]
        said += [
            _close(each, [(other, 0, "") for other in (*files, file)])
            for each, file in found
            if file in files or not (is_own(file) or is_library(file))
        ]
    return sorted(set(said), key=said.index)


def _close(coroutine: Any, places: Sequence[tuple[str, int, str]], *, in_handler: bool = False) -> str:
    """Close a call, and return what is said of it.

    Args:
        coroutine: it.
        places: files that may have made it, each with a line, 0 if unknown, and a variable that has it, "" if unknown.
        in_handler: whether a handler has made it.
    """
    coroutine.close()
    name = coroutine.__name__
    return _said((_found(name, *place) for place in places), name, in_handler=in_handler)


class _Found(NamedTuple):
    """A call: as it is shown, where it stands, and what to write."""

    shown: str
    place: str
    instead: str


def _said(found: Iterable[_Found | None], name: str, *, in_handler: bool) -> str:
    """Return what is said of a call, the first that was found, or of a function by its name."""
    first = next(filter(None, found), None) or _Found(f"{name}(...)", "", f"write `await {name}(...)`")
    if in_handler:
        return _IN_HANDLER.format(first.shown, first.place, LATER)
    return _SOMEWHERE.format(*first)


def _found(name: str, file: str, line: int, variable: str = "") -> _Found | None:
    """Return the call of a function in a file, at a line, or as the only one that is not awaited; None for none.

    Args:
        name: of the function.
        file: which.
        line: where it may be.
        variable: what has its result, for where there are several.
    """
    whole = _tree(file)
    calls = _unawaited(name, whole)
    kept = [each for each in calls if variable and _assigned(each, whole) == variable]
    here = [each for each in calls if each.lineno <= line <= (each.end_lineno or each.lineno)] or kept or calls
    if len({each.lineno for each in here}) != 1:
        return None
    call = here[0]
    begin, end = (call.lineno, call.col_offset), (call.end_lineno or call.lineno, call.end_col_offset or 0)
    shown = _shown(call, f"{name}(...)")
    around = written.enclosing(ast.walk(whole), begin, end)
    return _Found(shown, f" at {written.at(file, call.lineno)}", to_await.instead(around, shown))


def _assigned(call: ast.Call, whole: ast.Module) -> str:
    """Return which variable is given what a call returns, "" for none."""
    for each in ast.walk(whole):
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
                return name
    return ""


def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _unawaited(name: str, whole: ast.Module) -> list[ast.Call]:
    """Return the calls of a function by its name that no `await` in a file is of."""
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
