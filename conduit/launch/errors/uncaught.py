"""What a script shows of an error that it does not catch, its own lines and what to do; and how of warnings.

`conduit run` shows errors itself.  Those of a script are shown by Python, which asks `sys.excepthook`.  Ctrl-C may come
before this package is imported whole: so nothing of it is imported here but at an error, save what needs nothing else.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

from conduit.launch.hints.hidden import hiding
from conduit.launch.imported import is_command, shows_python, tell_interrupt

_HEARD_S = 0.5
_STARTER = "mpi4py"
"""The package that starts scripts: `python -m mpi4py SCRIPT.py`."""
_LOOP = "asyncio"
"""The package that runs the program of a script which calls this package from there."""
_OF_PYTHON = ("warnings", "_py_warnings")
_WARNING = "ConduitWarning"
_FORMAT: list[Callable[..., str]] = []
"""What makes the text of a warning."""


def install() -> None:
    """Let errors that nobody catches be shown so, and warnings of this package, unless others than Python show them."""
    if shows_python():
        sys.excepthook = _show
    if warnings.formatwarning.__module__ in _OF_PYTHON:
        _FORMAT.append(warnings.formatwarning)
        warnings.formatwarning = _format


def _show(kind: type[BaseException], error: BaseException, step: TracebackType | None) -> None:
    if not (isinstance(error, KeyboardInterrupt) and tell_interrupt(error, step)):
        if (text := hiding(error)) and text not in getattr(error, "__notes__", ()):
            error.add_note(text)
        with suppress(Exception):  # Python shows then what there is
            if _is_shown_by_another(error):
                time.sleep(_HEARD_S)  # with this process the others may be ended, which have still to say it
                return
            _improve(error)
            if text := _refolded(error):
                sys.stderr.write(text)
                return
    sys.__excepthook__(kind, error, error.__traceback__)


def _format(message: object, category: type[Warning], *where: Any, **more: Any) -> str:
    """Return a warning as Python shows it, one of this package folded at a terminal's width where Python shows it."""
    text = _FORMAT[0](message, category, *where, **more)
    if category.__name__ == _WARNING and sys._getframe(1).f_globals.get("__name__") in _OF_PYTHON:
        with suppress(Exception):
            return _refolded_warning(text)
    return text


def _is_shown_by_another(error: BaseException) -> bool:
    """Say whether all processes refuse the same, before there is a job, and this one is not the first."""
    from conduit.errors import ConduitError
    from conduit.launch.errors.watches import ended_by
    from conduit.launch.printing import output

    of_all = isinstance(error, ConduitError) and not getattr(error, "__notes__", ()) and ended_by() is None
    return of_all and str(error).startswith("run: ") and not output.is_first()


def _improve(error: BaseException) -> None:
    """Leave out lines that say nothing to the script's author, and add what is to be done."""
    from conduit.errors import ConduitError
    from conduit.launch.errors.own_words import chain_in_own_words
    from conduit.launch.errors.tracebacks import plugins_part, trim
    from conduit.launch.hints.of_errors import hint
    from conduit.launch.program.public import is_ours
    from conduit.words import text_of

    notes = getattr(error, "__notes__", ())
    of_job = any(note.startswith("raised by rank ") for note in notes)  # which has said it, with all lines
    text = "" if of_job else hint(error)
    if text and text not in (text_of(error), *notes):
        error.add_note(text)
    if of_job:  # what begins one is `run` in all messages
        chain_in_own_words(error, is_ours)
    trim(error)
    between = {_STARTER, _LOOP} if isinstance(error, ConduitError) else {_STARTER}
    error.__traceback__ = _without(between, error.__traceback__)
    if is_command():
        error.__traceback__ = plugins_part(error) or error.__traceback__


def _refolded(error: BaseException) -> str:
    """Return the error with what it says folded; "" where Python itself is to show it, as it is."""
    from conduit.launch.printing.formatting import refolded

    return refolded(error)


def _refolded_warning(text: str) -> str:
    from conduit.launch.printing.formatting import refolded_warning, shown_by_python

    return refolded_warning(text) if shown_by_python() else text


def _without(packages: set[str], step: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the lines of some packages."""
    if step is None:
        return None
    rest = _without(packages, step.tb_next)
    if step.tb_frame.f_globals.get("__package__") in packages:
        return rest
    return TracebackType(rest, step.tb_frame, step.tb_lasti, step.tb_lineno)
