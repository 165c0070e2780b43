"""An error with its traceback, or a warning, as Python shows it, what it says folded where that is in a terminal.

Lines of programs stay as they are: they are code.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from traceback import TracebackException
from types import FunctionType

from conduit.launch.printing import terminal

_OF_PYTHON = ("warnings", "_py_warnings")
_IN_GROUP = re.compile(r" *\| ")
"""What stands before each line of an error that is in a group."""


def formatted(error: BaseException) -> str:
    """Return an error as Python shows it, each line that is said and no code folded at the terminal's width."""
    plain, folded = _texts(error)
    return folded or plain


def refolded(error: BaseException) -> str:
    """Return the same where it is not what Python itself shows, "" where that has nothing to be folded."""
    plain, folded = _texts(error)
    return "" if folded == plain else folded


def take_guess_away(error: BaseException) -> None:
    """Keep Python from adding a name that may be meant to an error of which a note says so already."""
    if isinstance(error, AttributeError) and error.name:
        no_such = f" has no {error.name}"
        if any(no_such in note for note in getattr(error, "__notes__", ())):
            del error.name  # by which Python looks for others like it
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            take_guess_away(each)


def _texts(error: BaseException) -> tuple[str, str]:
    """Return an error as Python shows it, and folded; the latter is "" where there is no terminal."""
    take_guess_away(error)
    whole = TracebackException.from_exception(error)
    plain, width = "".join(whole.format()), terminal.room()
    return plain, "" if width is None else _folded(plain, set(_said(whole)), width)


def _folded(text: str, said: set[str], width: int) -> str:
    lines = []
    for line in text.split("\n"):
        found = _IN_GROUP.match(line)
        before = found[0] if found and line not in said else ""
        rest = line.removeprefix(before)
        if rest in said:
            rest = terminal.folded(rest, width - len(before))
        lines += [before + each for each in rest.split("\n")]
    return "\n".join(lines)


def _said(error: TracebackException) -> Iterator[str]:
    """Yield the lines of what an error says, and of all that led to it or is in it; of wrong syntax they show code."""
    if not hasattr(error, "offset"):
        yield from "".join(error.format_exception_only()).split("\n")
    for other in (error.__cause__, error.__context__, *(error.exceptions or ())):
        if other is not None:
            yield from _said(other)


def refolded_warning(plain: str) -> str:
    """Return a warning as Python shows it, what it says folded; code that follows stays as it is."""
    width = terminal.room()
    said, end, code = plain.partition("\n")
    return plain if width is None else terminal.folded(said, width) + end + code


def shown_by_python() -> bool:
    """Return whether nobody else than Python itself shows warnings, or records them."""
    context = getattr(warnings, "_get_context", None)  # of Python 3.14
    if context is not None and getattr(context(), "log", None) is not None:
        return False
    shows = warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)
    return all(isinstance(each, FunctionType) and each.__module__ in _OF_PYTHON for each in shows)
