"""What of an error's traceback its program's author sees: lines of programs, not those of this package between them."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, ParamSpec, TypeVar

import trio

from conduit.core import checked_call
from conduit.core.arguments import shown
from conduit.core.steps import steps_from, steps_of
from conduit.errors import BadRequest, ConduitError, ConduitWarning
from conduit.launch import entry_points
from conduit.launch.hints.another_loop import NO_TASK, is_elsewhere
from conduit.launch.hints.misused_arguments import STARTED
from conduit.launch.hints.predicates import is_of_predicate
from conduit.launch.hints.timeouts import cancelled
from conduit.launch.program.folders import is_below, is_between, is_library, is_of_project, is_own
from conduit.words import FOREIGN, text_of

P = ParamSpec("P")
T = TypeVar("T")

WHOLE = "CONDUIT_TRACEBACK"
"""The environment variable that says, where it is set to anything, that tracebacks keep all their lines."""

_WHOLE: ContextVar[bool] = ContextVar("conduit.whole_tracebacks", default=False)


@contextmanager
def whole() -> Iterator[None]:
    """Let tracebacks keep all their lines."""
    token = _WHOLE.set(True)
    try:
        yield
    finally:
        _WHOLE.reset(token)


def trim_tracebacks(function: Callable[P, T]) -> Callable[P, T]:
    """Let errors that leave a function come from the line of a program that called it, for what starts jobs.

    The lines of this package, and of the layers and networks above it, are left out of their tracebacks, as out of
    those of `conduit.run`; not where a whole traceback is wanted::

        @conduit.trim_tracebacks
        def run(main, *args, **options):
            return conduit.run(program_of(main), *args, **options)

    Args:
        function: ordinary or async.

    Raises:
        BadRequest: it is no function.
    """
    if not callable(function):
        raise BadRequest(f"trim_tracebacks: {shown(function)} is no function that could be decorated")
    if inspect.iscoroutinefunction(function):
        return _trim_awaited(function)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            trim(error, keep_libraries=False)
            raise

    return call


def _trim_awaited(function: Callable[P, Any]) -> Callable[P, Any]:
    @functools.wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> Any:
        try:
            return await function(*args, **kwargs)
        except BaseException as error:
            trim(error, keep_libraries=False)
            raise

    return call


def trim(error: BaseException, *, keep_libraries: bool = True) -> None:
    """Take the lines of this package out of the traceback of an error, and out of those of what led to it.

    The last ones stay where the error is not one that this package raises on purpose: it may be a fault of its own.
    Where nothing of a program is left of what an error of this package came up in, Python has nothing to say of that.

    Args:
        error: changed.
        keep_libraries: whether those of numpy, say, stay which the program's last line has called; of errors that
            come out of no job they do.
    """
    if _WHOLE.get() or os.environ.get(WHOLE):
        return
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, AttributeError) and is_elsewhere(each):
            each.args = (NO_TASK,)
        each.__traceback__ = programs_part(
            each.__traceback__, keep_end=not _on_purpose(each), keep_libraries=keep_libraries
        )
        if isinstance(each, ConduitError) and each.__context__ is not None and each.__cause__ is None:
            _hide_own_context(each)
        if isinstance(each, trio.TooSlowError) and any(cancelled(each.__context__)):
            each.__suppress_context__ = True  # a note says what was cancelled
        if _is_started(each):
            each.args = (STARTED,)  # without names of this package, and how to write it, which a note says better
        linked = [each.__cause__, each.__context__]
        waiting += [one for one in linked if one is not None]
        if isinstance(each, BaseExceptionGroup):
            waiting += each.exceptions


def programs_part(step: TracebackType | None, *, keep_end: bool, keep_libraries: bool = True) -> TracebackType | None:
    """Return a traceback without the lines of this package.

    Args:
        step: the traceback.
        keep_end: whether those behind the program's last line stay.
        keep_libraries: whether what that line has called of a library stays.
    """
    steps = steps_from(step)
    if not keep_libraries:
        steps = _without_libraries(steps, keep_end=keep_end)
    programs = [number for number, each in enumerate(steps) if not is_between(each.tb_frame.f_code.co_filename)]
    after = programs[-1] + 1 if programs else 0
    shown = [steps[number] for number in programs] + (steps[after:] if keep_end else [])
    rest = None
    for each in reversed(shown):
        rest = TracebackType(rest, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return rest


def plugins_part(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the first line on that is in the package of a plug-in's network.

    None where there is none: for commands, which no line of a program has called.
    """
    packages = entry_points.plugins()
    for step in steps_of(error):
        if str(step.tb_frame.f_globals.get("__name__", "")).partition(".")[0] in packages:
            return step
    return None


def _without_libraries(steps: list[TracebackType], *, keep_end: bool) -> list[TracebackType]:
    """Return steps up to the program's last line where only libraries, and Trio, come behind it.

    All are returned where the program is installed itself: which other packages are its own is not known.  So they are
    where this package, which may be at fault, comes behind that line.
    """
    files = [each.tb_frame.f_code.co_filename for each in steps]
    users = [file for file in files if not is_between(file) and not is_of_project(file)]
    if not users or is_library(users[0]):
        return steps
    last = max(number for number, file in enumerate(files) if not is_between(file) and not is_library(file))
    if keep_end and not all(is_library(file) or is_below(file) for file in files[last + 1 :]):
        return steps
    return steps[: last + 1]


def _is_started(error: BaseException) -> bool:
    return isinstance(error, TypeError) and text_of(error).startswith(STARTED)


def _on_purpose(error: BaseException) -> bool:
    """Say whether an error is a refusal: of this package's own, or as Python has them, of a name or of arguments.

    A group of errors is made in Trio, which is nothing to tell either; nor is where Ctrl-C comes.
    """
    steps = steps_of(error)
    if (
        isinstance(error, trio.TooSlowError | trio.Cancelled)
        or _is_started(error)
        or text_of(error).startswith(FOREIGN)
    ):
        return True
    if is_elsewhere(error):
        return True
    if not steps:
        return isinstance(error, ConduitError | BaseExceptionGroup | KeyboardInterrupt)
    last = steps[-1].tb_frame.f_code
    # `coroutine_or_error` of Trio calls what a nursery is to start, `block_until` a predicate.
    calls = last.co_filename == checked_call.__file__ or last.co_name in ("coroutine_or_error", "block_until")
    stopped = isinstance(error, RuntimeError) and isinstance(
        error.__cause__, StopIteration
    )  # as Python has it of async
    lacks_arguments = isinstance(error, TypeError) and calls
    no_such_name = isinstance(error, AttributeError) and last.co_name == "__getattr__" and is_own(last.co_filename)
    no_room = isinstance(error, OSError) and last.co_name == "write" and is_own(last.co_filename)  # of `print`
    return (
        isinstance(error, ConduitError | ConduitWarning | BaseExceptionGroup | KeyboardInterrupt)
        or stopped
        or lacks_arguments
        or no_such_name
        or no_room
        or is_of_predicate(error)
        or _is_of_c(steps[-1].tb_frame)
    )


def _is_of_c(frame: FrameType) -> bool:
    """Say whether a frame has called a predicate that has no line of its own, as `got.pop`."""
    calls = frame.f_code.co_name in ("block_until", "_enter_block") and is_own(frame.f_code.co_filename)
    return calls and "predicate" in frame.f_locals and "result" not in frame.f_locals


def _hide_own_context(error: BaseException) -> None:
    """Let Python not tell of what this package caught when it raised an error; of a program's own it does."""
    context = error.__context__
    if context is not None and programs_part(context.__traceback__, keep_end=False) is None:
        error.__suppress_context__ = True
